// src/ir/check_ring.cpp — rules of rings, views, accumulators and dots.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "src/ir/check_p.h"

TLXJIT_NAMESPACE_BEGIN

namespace {

/// The ring that a slot value comes from, or null.
const Op* ring_of(const Module& module, Value slot) {
  const Op* def = module.def(slot);
  if (!def || (def->code != OpCode::acquire && def->code != OpCode::wait_slot)) return nullptr;
  const Op* ring = module.def(def->operands[0]);
  return ring && ring->code == OpCode::ring ? ring : nullptr;
}

std::string find_field(const Module& module, const Op& op, RingField& out) {
  const Op* ring = ring_of(module, op.operands[0]);
  if (!ring) return "works on a slot, not on " + to_string(module.type(op.operands[0]));
  auto fields = parse_fields(ring->attrs.text("fields"));
  if (!fields) return "the ring's fields are malformed";
  std::string names;
  for (const RingField& field : *fields) {
    if (field.name == op.attrs.text("field")) {
      out = field;
      return {};
    }
    names += " '" + field.name + "'";
  }
  return "the ring has no field '" + std::string(op.attrs.text("field")) + "'; it has" + names;
}

}  // namespace

std::string check_ring(const Module& module, const Op& op) {
  switch (op.code) {
    case OpCode::ring: {
      const Type& t = module.type(op.results[0]);
      if (t.kind != TypeKind::ring || t.slots < 1 || t.slots > 64) return "has 1 to 64 stages";
      auto fields = parse_fields(op.attrs.text("fields"));
      if (!fields) return "fields are malformed, absent, or one name stands twice";
      for (const RingField& field : *fields)
        if (!field.view.shape.valid() || field.view.shape.rank != 2)
          return "field '" + field.name + "' is no tile of rank 2";
      return {};
    }
    case OpCode::acquire:
    case OpCode::wait_slot:
      if (module.type(op.operands[0]).kind != TypeKind::ring)
        return "works on a ring, not on " + to_string(module.type(op.operands[0]));
      return module.type(op.results[0]) == Type::slot() ? "" : "gives a slot";
    case OpCode::publish:
    case OpCode::release:
      if (!ring_of(module, op.operands[0])) return "works on a slot, not on " + to_string(module.type(op.operands[0]));
      if ((module.def(op.operands[0])->code == OpCode::acquire) != (op.code == OpCode::publish))
        return op.code == OpCode::publish ? "publishes an acquired slot; this one was waited for"
                                          : "releases a slot that was waited for; this one was acquired";
      return {};
    case OpCode::load_field: {
      RingField field;
      if (std::string what = find_field(module, op, field); !what.empty()) return what;
      if (module.def(op.operands[0])->code != OpCode::acquire) return "fills an acquired slot; this one was waited for";
      const Type& tensor = module.type(op.operands[1]);
      if (tensor.kind != TypeKind::tensor) return "loads from a tensor, not from " + to_string(tensor);
      if (tensor.elem != field.view.elem)
        return "loads " + std::string(to_string(tensor.elem)) + " into a field of " + to_string(field.view.elem);
      if (tensor.slots != field.view.shape.rank)
        return "a field of rank " + std::to_string(field.view.shape.rank) + " cannot be filled from " +
               to_string(tensor) + "; drop axes with at(axis, index)";
      if (static_cast<int32_t>(op.operands.size()) != tensor.slots + 2) return "needs one offset per axis";
      for (size_t i = 2; i < op.operands.size(); ++i)
        if (module.type(op.operands[i]) != Type::scalar(Elem::i32)) return "offsets are i32";
      return {};
    }
    case OpCode::field: {
      RingField field;
      if (std::string what = find_field(module, op, field); !what.empty()) return what;
      if (module.def(op.operands[0])->code != OpCode::wait_slot)
        return "reads a slot that was waited for; this one was acquired";
      return module.type(op.results[0]) == field.view ? "" : "gives " + to_string(field.view);
    }
    case OpCode::view: {
      const Type& b = module.type(op.operands[0]);
      if (b.kind != TypeKind::buffer) return "works on a buffer, not on " + to_string(b);
      if (module.type(op.operands[1]) != Type::scalar(Elem::i32)) return "the slot is i32";
      if (module.type(op.results[0]) != Type::view(b.shape, b.elem)) return "gives the buffer's shape";
      return check_index(module, op.operands[1], b.slots, "slot");
    }
    case OpCode::part: {
      const Type& a = module.type(op.operands[0]);
      const Type& r = module.type(op.results[0]);
      if (a.kind != TypeKind::view || r.kind != TypeKind::view || a.elem != r.elem || a.shape.rank != 2 ||
          r.shape.rank != 2)
        return "cuts a view of rank 2 by rows";
      if (module.type(op.operands[1]) != Type::scalar(Elem::i32)) return "the index is i32";
      const Op* def = module.def(op.operands[0]);
      if (def && def->code == OpCode::trans) return "take the part before t()";
      if (a.shape[1] != r.shape[1] || r.shape[0] < 1 || a.shape[0] % r.shape[0])
        return to_string(a) + " does not divide into " + to_string(r);
      return check_index(module, op.operands[1], a.shape[0] / r.shape[0], "part");
    }
    case OpCode::trans: {
      const Type& a = module.type(op.operands[0]);
      if (a.kind != TypeKind::view || a.shape.rank != 2)
        return "exchanges the axes of a view of rank 2, not of " + to_string(a);
      return module.type(op.results[0]) == Type::view({a.shape[1], a.shape[0]}, a.elem) ? "" : "exchanges the extents";
    }
    default: return {};
  }
}

std::string check_dot(const Module& module, const Op& op) {
  if (op.code == OpCode::accumulator) {
    const Type& t = module.type(op.results[0]);
    if (t.kind != TypeKind::accumulator || t.shape.rank != 2 || !t.shape.valid()) return "has rank 2";
    return t.elem == Elem::f32 ? "" : "sums in f32, not in " + std::string(to_string(t.elem));
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
        return "gives columns of " + to_string(acc);
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
      if (a.elem != b.elem) return "a and b have one element type: " + to_string(a) + " and " + to_string(b);
      if (a.elem != Elem::bf16 && a.elem != Elem::f16 && a.elem != Elem::f32)
        return "multiplies bf16, f16 or f32, not " + std::string(to_string(a.elem));
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
