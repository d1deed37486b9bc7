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
      place.bound = add(b, def->operands[1], def->operands[2]);
    }
    view = def->operands[0];
  }
  place.tensor = view;
  // Offsets and extents may come from data: what lies past the tensor itself does not exist either.
  if (place.ragged >= 0)
    place.bound = b.binary(OpCode::min, place.bound, module.def(view)->operands[static_cast<size_t>(place.ragged)]);
  return place;
}

TLXJIT_NAMESPACE_END
