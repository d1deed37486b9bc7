// src/ir/check_reduce.cpp — rules of reductions and scans.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "src/ir/check_p.h"
#include "src/ir/words_p.h"

TLXJIT_NAMESPACE_BEGIN

namespace {

std::string check_kind(std::string_view text, const Type& a) {
  const auto kind = from_word<ReductionKind>(text);
  if (!kind) return "kind is " + all_words<ReductionKind>();
  const bool bitwise =
      kind == ReductionKind::bit_and || kind == ReductionKind::bit_or || kind == ReductionKind::bit_xor;
  if (bitwise ? is_int(a.elem) || a.elem == Elem::b1 : is_int(a.elem) || computes(a.elem)) return {};
  return std::string(text) + " works on " + (bitwise ? "integers or b1" : "numbers") + ", not on " + to_string(a) +
         (a.elem == Elem::b1 || !is_float(a.elem) ? "" : "; cast first");
}

std::string check_switch(const Op& op, const char* name) {
  const int64_t flag = op.attrs.integer(name, -1);
  return flag == 0 || flag == 1 ? "" : std::string(name) + " is 0 or 1";
}

/// The region joins elements: pure scalar ops that end with a yield of one value per operand.
std::string check_joining(const Module& module, const Op& op) {
  const Block& region = op.regions[0];
  const size_t n = op.operands.size();
  bool fits = region.args.size() == 2 * n;
  for (size_t i = 0; fits && i < 2 * n; ++i)
    fits = module.type(region.args[i]) == Type::scalar(module.type(op.operands[i % n]).elem);
  if (!fits) return "the region has two elements of each operand as arguments";
  for (const auto& inner : region.ops) {
    if (inner->code == OpCode::yield) continue;
    bool scalar = info(inner->code).scope == Scope::pure && inner->regions.empty();
    for (const auto* list : {&inner->operands, &inner->results})
      for (Value v : *list) scalar &= module.type(v).kind == TypeKind::scalar;
    if (!scalar)
      return "the region joins elements with pure ops on scalars; '" + std::string(info(inner->code).text) +
             "' is none";
  }
  fits = !region.ops.empty() && region.ops.back()->code == OpCode::yield && region.ops.back()->operands.size() == n;
  for (size_t i = 0; fits && i < n; ++i)
    fits = module.type(region.ops.back()->operands[i]) == module.type(region.args[i]);
  return fits ? "" : "the region yields one element of each operand";
}

}  // namespace

Type without_axis(Type a, int axis) {
  if (axis < 0 || axis >= a.shape.rank) return a;
  for (int i = axis; i + 1 < a.shape.rank; ++i) a.shape[i] = a.shape[i + 1];
  a.shape[--a.shape.rank] = 0;
  if (a.shape.rank == 0) a.kind = TypeKind::scalar;
  return a;
}

std::string check_reduce(const Module& module, const Op& op) {
  const Type& a = module.type(op.operands[0]);
  if (std::string what = check_tile_type(a); !what.empty()) return "works on tiles: " + what;
  const Type& result = module.type(op.results[0]);
  const std::string_view kind = op.attrs.text("kind");
  const auto known = from_word<ReductionKind>(kind);
  const bool sum_or_max = known == ReductionKind::sum || known == ReductionKind::max;
  const bool finds = known == ReductionKind::argmax || known == ReductionKind::argmin;
  if (op.code == OpCode::finish) {
    if (a != result) return "keeps the type";
    if (!sum_or_max) return "kind is sum or max";
    return a.elem == Elem::f32 ? "" : "works on f32, not on " + to_string(a) + "; cast first";
  }

  const int64_t axis = op.attrs.integer("axis", -1);
  if (axis < 0 || axis >= a.shape.rank)
    return "axis " + std::to_string(axis) + " of " + to_string(a) + " is out of range";
  const bool custom = op.code == OpCode::reduce_custom || op.code == OpCode::scan_custom;
  const bool reduces = op.code == OpCode::reduce || op.code == OpCode::reduce_custom;
  if (op.results.size() != op.operands.size()) return "gives a result for each operand";
  for (size_t i = 0; i < op.operands.size(); ++i) {
    const Type& in = module.type(op.operands[i]);
    if (!in.is_tile() || in.shape != a.shape)
      return "the operands have one shape: " + to_string(a) + " and " + to_string(in);
    Type expected = reduces ? without_axis(in, static_cast<int>(axis)) : in;
    if (finds) expected.elem = Elem::i32;
    if (module.type(op.results[i]) != expected)
      return "gives " + to_string(expected) + ", not " + to_string(module.type(op.results[i]));
  }
  if (!reduces)
    if (std::string what = check_switch(op, "reverse"); !what.empty()) return what;
  if (custom) return check_joining(module, op);

  if (std::string what = check_kind(kind, a); !what.empty()) return what;
  if (op.code == OpCode::scan)
    return finds ? "kind " + std::string(kind) + " is for reduce" : check_switch(op, "exclusive");
  if (std::string what = check_switch(op, "partial"); !what.empty()) return what;
  if (op.attrs.integer("partial") == 1 && (!sum_or_max || a.elem != Elem::f32 || a.shape.rank < 2))
    return "partial reductions are sums and maxima of f32, of rank 2 and more";
  return {};
}

TLXJIT_NAMESPACE_END
