// src/ir/check_dot.cpp — rules of accumulators and dots.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "src/ir/check_p.h"

TLXJIT_NAMESPACE_BEGIN

namespace {

bool is_f8(Elem e) { return e == Elem::f8e4m3 || e == Elem::f8e5m2; }

std::string check_elements(const Type& a_type, const Type& b_type, Elem sums) {
  const Elem a = a_type.elem, b = b_type.elem;
  if (a != b && !(is_f8(a) && is_f8(b)))
    return "a and b have one element type, or each one of f8: " + to_string(a_type) + " and " + to_string(b_type);
  const bool integers = a == Elem::i8 || a == Elem::u8;
  if (!integers && !is_f8(a) && a != Elem::f16 && a != Elem::bf16 && a != Elem::f32)
    return std::string("multiplies i8, u8, f8e4m3, f8e5m2, f16, bf16 or f32, not ") + to_string(a);
  const Elem wanted = integers ? Elem::i32 : Elem::f32;
  return sums == wanted
             ? ""
             : std::string("sums of ") + to_string(a) + " are " + to_string(wanted) + ", not " + to_string(sums);
}

std::string check_precision(const Op& op, Elem elem) {
  if (!op.attrs.find("precision")) return {};
  const std::string_view precision = op.attrs.text("precision");
  if (elem == Elem::f32 && (precision == "ieee" || precision == "tf32x3" || precision == "tf32")) return {};
  if (is_f8(elem) && (precision == "full" || precision == "fast")) return {};
  const std::string of = std::string("of ") + to_string(elem);
  if (elem == Elem::f32) return "precision " + of + " is ieee, tf32x3 or tf32, not " + std::string(precision);
  if (is_f8(elem)) return "precision " + of + " is full or fast, not " + std::string(precision);
  return "a product " + of + " has one precision: leave it out";
}

}  // namespace

std::string check_dot(const Module& module, const Op& op) {
  if (op.code == OpCode::accumulator) {
    const Type& t = module.type(op.results[0]);
    if (t.kind != TypeKind::accumulator || t.shape.rank != 2 || !t.shape.valid())
      return "has rank 2, each extent 1 to 2^20, at most 2^24 elements, unlike " + to_string(t);
    return t.elem == Elem::f32 || t.elem == Elem::i32 ? ""
                                                      : "sums in f32 or i32, not in " + std::string(to_string(t.elem));
  }
  if (op.code == OpCode::dot_wait) return op.attrs.integer("pending", -1) >= 0 ? "" : "pending is at least 0";
  if (op.code == OpCode::dot_fence || op.code == OpCode::dot_commit) return {};

  const Type& acc = module.type(op.operands[0]);
  if (acc.kind != TypeKind::accumulator) return "works on an accumulator, not on " + to_string(acc);
  switch (op.code) {
    case OpCode::acc_read: {
      const Type& r = module.type(op.results[0]);
      const int64_t col = op.attrs.integer("col", -1);
      if (!r.is_tile() || r.elem != acc.elem || r.shape.rank != 2 || r.shape[0] != acc.shape[0])
        return "gives columns of " + to_string(acc) + ", not " + to_string(r);
      const int64_t width = r.shape[1];
      return width >= 1 && width <= acc.shape[1] && col >= 0 && col <= acc.shape[1] - width
                 ? ""
                 : "the columns are outside " + to_string(acc);
    }
    case OpCode::acc_write: {
      const Type& t = module.type(op.operands[1]);
      return t == Type::tile(acc.shape, acc.elem) ? "" : "writes " + to_string(t) + " to " + to_string(acc);
    }
    case OpCode::dot: {
      const Type& a = module.type(op.operands[1]);
      const Type& b = module.type(op.operands[2]);
      if ((a.kind != TypeKind::view && !a.is_tile()) || a.shape.rank != 2)
        return "a is a view or a tile of rank 2, not " + to_string(a);
      if (b.kind != TypeKind::view || b.shape.rank != 2) return "b is a view of rank 2, not " + to_string(b);
      if (std::string what = check_elements(a, b, acc.elem); !what.empty()) return what;
      if (std::string what = check_precision(op, a.elem); !what.empty()) return what;
      if (a.shape[0] != acc.shape[0] || b.shape[1] != acc.shape[1] || a.shape[1] != b.shape[0])
        return to_string(a) + " · " + to_string(b) + " does not give " + to_string(acc);
      const std::string_view overwrite = op.attrs.text("overwrite");
      if (overwrite != "never" && overwrite != "always" && overwrite != "unless")
        return "overwrite is never, always or unless";
      if ((overwrite == "unless") != (op.operands.size() == 4)) return "operand 3 goes with overwrite = unless";
      if (op.operands.size() == 4 && module.type(op.operands[3]) != Type::scalar(Elem::b1))
        return "operand 3 is a b1 scalar";
      return {};
    }
    default: return {};
  }
}

TLXJIT_NAMESPACE_END
