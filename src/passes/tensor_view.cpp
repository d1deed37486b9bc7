// src/passes/tensor_view.cpp — resolves chains of select_axis and window.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "src/passes/tensor_view_p.h"

TLXJIT_NAMESPACE_BEGIN

namespace {

bool is_zero(const Module& module, Value v) {
  const Op* def = module.def(v);
  return def && def->code == OpCode::constant && def->attrs.integer("value", -1) == 0;
}

Value add(OpBuilder& b, Value x, Value y) {
  if (is_zero(b.module, x)) return y;
  return is_zero(b.module, y) ? x : b.binary(OpCode::add, x, y);
}

/// Where a window ends, at 0 or more and not past the tensor: its numbers may come from data, and what lies past the
/// tensor does not exist either.
Value end_of(OpBuilder& b, Value offset, Value extent, Value dim) {
  const Value rows = b.binary(OpCode::max, extent, b.i32(0));
  if (is_zero(b.module, offset)) return b.binary(OpCode::min, rows, dim);
  // Not min(offset + rows, dim), which wraps where "to the end" is said by a large extent.
  const Value left = b.binary(OpCode::sub, dim, offset);
  return b.binary(OpCode::max, b.binary(OpCode::add, offset, b.binary(OpCode::min, rows, left)), b.i32(0));
}

}  // namespace

std::vector<Value> TensorPlace::operands() const {
  std::vector<Value> all = coordinates;
  if (ragged >= 0) all.push_back(bound);
  return all;
}

Attrs TensorPlace::attrs() const {
  Attrs attrs;
  attrs.set("box", box);
  attrs.set("ragged", int64_t{ragged});
  return attrs;
}

TensorPlace resolve(const Module& module, Value view, const Shape& shape, const std::vector<Value>& offsets,
                    OpBuilder& b) {
  TensorPlace place;
  place.coordinates = offsets;
  for (int i = 0; i < shape.rank; ++i) place.box.push_back(shape[i]);
  const Op* window = nullptr;
  // From the view inwards to the parameter; axis numbers are those of the view at hand.
  for (const Op* def = module.def(view); def && def->code != OpCode::tensor; def = module.def(view)) {
    const auto axis = static_cast<size_t>(def->attrs.integer("axis"));
    const auto at = static_cast<long>(axis);
    if (def->code == OpCode::select_axis) {
      place.coordinates.insert(place.coordinates.begin() + at, def->operands[1]);
      place.box.insert(place.box.begin() + at, 1);
      if (place.ragged >= static_cast<int>(axis)) ++place.ragged;
    } else {
      place.coordinates[axis] = add(b, def->operands[1], place.coordinates[axis]);
      place.ragged = static_cast<int>(axis);
      window = def;
    }
    view = def->operands[0];
  }
  place.tensor = view;
  if (window) {
    const Value dim = module.def(view)->operands[static_cast<size_t>(place.ragged)];
    place.bound = end_of(b, window->operands[1], window->operands[2], dim);
  }
  return place;
}

TLXJIT_NAMESPACE_END
