// src/builder/fit.cpp — tiles and expansions brought to one shape.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "src/builder/state_p.h"

TLXJIT_NAMESPACE_BEGIN

namespace {

/// Enters the extents of `shape`, whose axes are all but `expanded` (−1: all), into those known so far (0: unknown).
bool unify(Shape& known, const Shape& shape, int expanded) {
  const int rank = shape.rank + (expanded >= 0);
  if (known.rank == 0) known.rank = static_cast<uint8_t>(rank);
  if (known.rank != rank || rank > Shape::max_rank || expanded >= rank) return false;
  for (int i = 0, j = 0; i < rank; ++i) {
    if (i == expanded) continue;
    if (known[i] != 0 && known[i] != shape[j]) return false;
    known[i] = shape[j++];
  }
  return true;
}

}  // namespace

std::optional<std::vector<Value>> BuilderState::fit(const std::vector<const Operand*>& operands, Elem literals,
                                                    const Location& at) {
  std::vector<Value> values;
  Shape shape;
  for (const Operand* operand : operands) {
    values.push_back(operand->tile ? read(*operand->tile, operand->at) : literal(*operand, literals));
    if (values.back() == no_value) return std::nullopt;
    const Type type = module.type(values.back());
    if (!type.is_tile()) continue;
    const int axis = Access::expand_axis(*operand->tile);
    if (!unify(shape, type.shape, axis)) {
      fault("the tiles do not fit one shape: " + to_string(type) +
                (axis < 0 ? "" : ", expanded along axis " + std::to_string(axis) + ",") + " differs from those before",
            operand->at);
      return std::nullopt;
    }
  }
  for (int i = 0; i < shape.rank; ++i)
    if (shape[i] == 0) {
      fault("the extent of axis " + std::to_string(i) + " does not follow from the tiles, which all repeat along it",
            at);
      return std::nullopt;
    }
  for (size_t i = 0; i < values.size(); ++i) {
    const int axis = operands[i]->tile ? Access::expand_axis(*operands[i]->tile) : -1;
    if (axis < 0 || !module.type(values[i]).is_tile()) continue;
    Attrs attrs;
    attrs.set("axis", int64_t{axis});
    values[i] = emit(OpCode::broadcast, {values[i]}, {Type::tile(shape, module.type(values[i]).elem)}, std::move(attrs),
                     operands[i]->at);
  }
  return values;
}

TLXJIT_NAMESPACE_END
