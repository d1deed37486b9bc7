// src/builder/fit.cpp — operands brought to one shape: expansions, scalars that repeat, literals.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <bit>

#include "src/builder/state_p.h"

TLXJIT_NAMESPACE_BEGIN

namespace {

bool has(uint8_t axes, int axis) { return axes >> axis & 1; }

/// Enters the extents of `shape`, whose axes are all but those of `expanded`, into those known so far (0: unknown).
bool unify(Shape& known, const Shape& shape, uint8_t expanded) {
  const int rank = shape.rank + std::popcount(expanded);
  if (known.rank == 0) known.rank = static_cast<uint8_t>(rank);
  if (known.rank != rank) return false;
  for (int i = 0, j = 0; i < rank; ++i) {
    if (has(expanded, i)) continue;
    if (known[i] != 0 && known[i] != shape[j]) return false;
    known[i] = shape[j++];
  }
  return true;
}

/// `axes` of a shape, as axes of that shape without `gone`.
uint8_t renumbered(uint8_t axes, uint8_t gone) {
  uint8_t out = 0;
  for (int i = 0, j = 0; i < Shape::max_rank; ++i)
    if (!has(gone, i)) out = static_cast<uint8_t>(out | has(axes, i) << j++);
  return out;
}

std::string named(uint8_t axes) {
  std::string text;
  for (int i = 0; i < Shape::max_rank; ++i)
    if (has(axes, i)) text += (text.empty() ? "" : " and ") + std::to_string(i);
  return text;
}

}  // namespace

Value BuilderState::broadcast(Value value, uint8_t expanded, const Shape& shape, const Location& at) {
  for (int axis = 0; axis < shape.rank && value != no_value; ++axis) {
    if (!has(expanded, axis)) continue;
    // The axes before this one are there; those that are still to come stand behind it.
    const Type type = module.type(value);
    Shape wider = type.shape;
    ++wider.rank;
    for (int i = wider.rank - 1; i > axis; --i) wider[i] = wider[i - 1];
    wider[axis] = shape[axis];
    Attrs attrs;
    attrs.set("axis", int64_t{axis});
    value = emit(OpCode::broadcast, {value}, {Type::tile(wider, type.elem)}, std::move(attrs), at);
  }
  return value;
}

std::optional<Fitted> BuilderState::fit(const std::vector<const Operand*>& operands, const FitOptions& how,
                                        const Location& at) {
  Fitted fitted;
  fitted.shape = how.shape;
  Elem literals = how.literals;
  bool expands = false;
  for (size_t i = 0; i < operands.size(); ++i) {
    const Operand& operand = *operands[i];
    fitted.values.push_back(operand.is_tile ? read_unexpanded(operand.tile, operand.at) : no_value);
    if (!operand.is_tile) continue;
    if (fitted.values.back() == no_value) return std::nullopt;
    if (literals == Elem::none && i >= how.repeat_from) literals = module.type(fitted.values.back()).elem;
    expands |= operand.tile.expanded != 0;
  }
  // Tiles of different shapes are for the op's rules to refuse, unless one of them has no shape of its own.
  for (size_t i = 0; i < operands.size(); ++i) {
    if (fitted.values[i] == no_value || !module.type(fitted.values[i]).is_tile()) continue;
    const Type type = module.type(fitted.values[i]);
    const uint8_t expanded = operands[i]->tile.expanded;
    if (!expands) {
      if (fitted.shape.rank == 0) fitted.shape = type.shape;
    } else if (!unify(fitted.shape, type.shape, expanded)) {
      fault("the tiles do not fit one shape: " + to_string(type) +
                (expanded ? ", expanded along axis " + named(expanded) + "," : "") + " differs from those before",
            operands[i]->at);
      return std::nullopt;
    }
  }
  for (int i = fitted.shape.rank - 1; expands && i >= 0; --i) {
    if (fitted.shape[i] != 0) continue;
    if (!how.may_expand) {
      fault("the extent of axis " + std::to_string(i) + " does not follow from the tiles, which all repeat along it",
            at);
      return std::nullopt;
    }
    fitted.expanded = static_cast<uint8_t>(fitted.expanded | 1u << i);
    for (int j = i; j + 1 < fitted.shape.rank; ++j) fitted.shape[j] = fitted.shape[j + 1];
    fitted.shape[--fitted.shape.rank] = 0;
  }
  for (size_t i = 0; i < operands.size(); ++i) {
    Value& v = fitted.values[i];
    const bool repeats = i >= how.repeat_from;
    if (!operands[i]->is_tile) v = literal(*operands[i], repeats || how.literals != Elem::none ? literals : Elem::b1);
    if (v == no_value) return std::nullopt;
    const Type type = module.type(v);
    if (type.is_tile())
      v = broadcast(v, renumbered(operands[i]->tile.expanded, fitted.expanded), fitted.shape, at);
    else if (repeats && fitted.shape.rank > 0)
      v = emit(OpCode::splat, {v}, {Type::tile(fitted.shape, type.elem)}, {}, at);
    if (v == no_value) return std::nullopt;
  }
  return fitted;
}

TLXJIT_NAMESPACE_END
