// src/ir/check_ring.cpp — rules of rings and their slots.
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
  if (!fields) return "the ring has no fields; slot() adds one";  // its own rules refuse any others that do not parse
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

std::string check_declaration(const Module& module, const Op& op) {
  const Type& t = module.type(op.results[0]);
  if (t.kind != TypeKind::ring || t.slots < 1 || t.slots > 64)
    return "has 1 to 64 stages, not " + std::to_string(t.slots);
  const auto fields = parse_fields(op.attrs.text("fields"));
  if (op.attrs.text("fields").empty()) return "has no fields; slot() adds one";
  if (!fields) return "fields are written `name 128x64xbf16, …`";
  for (size_t i = 0; i < fields->size(); ++i)
    for (size_t j = 0; j < i; ++j)
      if ((*fields)[i].name == (*fields)[j].name) return "two fields have the name '" + (*fields)[i].name + "'";
  if (has_control(op.attrs.text("fields"))) return "the name of a field has a control character";
  for (const RingField& field : *fields)
    if (!field.view.shape.valid() || field.view.shape.rank < 1)
      return "field '" + field.name + "' is no tile of rank 1 to 5";
    else if (bytes(field.view.elem) == 0)
      return std::string(to_string(field.view.elem)) + " has no whole bytes: keep it in u8, and bitcast";
  for (const char* side : {"fillers", "drainers"})
    if (op.attrs.find(side) && (op.attrs.integer(side) < 1 || op.attrs.integer(side) > 1024))
      return std::string(side) + " are 1 to 1024";
  return {};
}

/// acquire, wait and skip.
std::string check_cursor(const Module& module, const Op& op) {
  if (module.type(op.operands[0]).kind != TypeKind::ring)
    return "works on a ring, not on " + to_string(module.type(op.operands[0]));
  if (op.code != OpCode::skip) return module.type(op.results[0]) == Type::slot() ? "" : "gives a slot";
  if (!is_i32(module.type(op.operands[1]))) return "the number of slots is i32";
  if (op.attrs.text("side") != "fill" && op.attrs.text("side") != "drain") return "side is fill or drain";
  return check_count(module, op.operands[1], "the number of slots");
}

/// publish and release.
std::string check_end(const Module& module, const Op& op) {
  if (!ring_of(module, op.operands[0])) return "works on a slot, not on " + to_string(module.type(op.operands[0]));
  if ((module.def(op.operands[0])->code == OpCode::acquire) != (op.code == OpCode::publish))
    return op.code == OpCode::publish ? "publishes an acquired slot; this one was waited for"
                                      : "releases a slot that was waited for; this one was acquired";
  if (op.attrs.find("implied") && op.attrs.integer("implied") != 1) return "implied is 1";
  return {};
}

std::string check_store(const Module& module, const Op& op, const RingField& field) {
  const Type& tile = module.type(op.operands[1]);
  Type expected = Type::tile(field.view.shape, field.view.elem);
  if (op.operands.size() == 3) {
    if (!is_i32(module.type(op.operands[2]))) return "part is i32";
    if (tile.is_tile() && tile.shape.rank == expected.shape.rank && tile.shape[0] >= 1 &&
        expected.shape[0] % tile.shape[0] == 0)
      expected.shape[0] = tile.shape[0];
  }
  return tile == expected ? "" : "writes " + to_string(tile) + " to a field of " + to_string(field.view);
}

std::string check_load(const Module& module, const Op& op, const RingField& field) {
  const Type& tensor = module.type(op.operands[1]);
  if (tensor.kind != TypeKind::tensor) return "loads from a tensor, not from " + to_string(tensor);
  if (tensor.elem != field.view.elem)
    return "loads " + std::string(to_string(tensor.elem)) + " into a field of " + to_string(field.view.elem) +
           "; a copy does not convert";
  if (tensor.slots != field.view.shape.rank)
    return "a field of rank " + std::to_string(field.view.shape.rank) + " cannot be filled from " + to_string(tensor) +
           "; drop axes with at(axis, index)";
  if (static_cast<int32_t>(op.operands.size()) != tensor.slots + 2)
    return "needs one offset per axis of " + to_string(tensor) + ", not " + std::to_string(op.operands.size() - 2);
  return check_offsets(module, std::span(op.operands).subspan(2));
}

/// field, load and store: one field of a slot.
std::string check_field(const Module& module, const Op& op) {
  RingField field;
  if (std::string what = find_field(module, op, field); !what.empty()) return what;
  const bool acquired = module.def(op.operands[0])->code == OpCode::acquire;
  if (op.code == OpCode::field) {
    if (acquired) return "reads a slot that was waited for; this one was acquired";
    return module.type(op.results[0]) == field.view ? "" : "gives " + to_string(field.view);
  }
  if (!acquired) return "fills an acquired slot; this one was waited for";
  return op.code == OpCode::store_field ? check_store(module, op, field) : check_load(module, op, field);
}

}  // namespace

std::string check_ring(const Module& module, const Op& op) {
  switch (op.code) {
    case OpCode::ring: return check_declaration(module, op);
    case OpCode::acquire:
    case OpCode::wait_slot:
    case OpCode::skip: return check_cursor(module, op);
    case OpCode::publish:
    case OpCode::release: return check_end(module, op);
    case OpCode::field:
    case OpCode::load_field:
    case OpCode::store_field: return check_field(module, op);
    default: return {};
  }
}

TLXJIT_NAMESPACE_END
