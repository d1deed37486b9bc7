// src/builder/shape.cpp — tiles with their elements rearranged.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tlxjit/builder/shape.h"

#include "src/builder/state_p.h"
#include "src/ir/check_p.h"

TLXJIT_NAMESPACE_BEGIN

namespace {

/// One op on tiles: `type` makes the results' types of the first operand's, and what is refused is the op's to say. A
/// call that failed gives one poison.
template <class TypeOf>
std::vector<Tile> rearrange(OpCode code, std::initializer_list<Operand> xs, Attrs attrs, TypeOf&& type) {
  const std::vector<const Operand*> operands = pointers(xs);
  BuilderState* s = kernel_of(operands);
  if (!s)
    return {
        of_no_kernel(operands, "works on tiles, not on numbers", xs.size() ? xs.begin()->at : std::source_location())};
  std::vector<Value> values;
  for (const Operand& x : xs) {
    if (!x.is_tile) {
      s->fault(std::string(info(code).text) + ": works on tiles, not on a number", x.at);
      return {s->poison()};
    }
    values.push_back(s->read(x.tile, x.at));
    if (values.back() == no_value) return {s->poison()};
  }
  const Location at = xs.begin()->at;
  const std::vector<Type> types = type(*s, values);
  std::vector<Tile> tiles;
  for (Value v : s->emit_all(code, std::move(values), types, std::move(attrs), at)) tiles.push_back(s->handle(v, at));
  if (tiles.empty()) tiles.push_back(s->poison());
  return tiles;
}

Attrs with(const char* name, Attr value) {
  Attrs attrs;
  attrs.set(name, std::move(value));
  return attrs;
}

auto shaped(Shape shape) {
  return [shape](BuilderState& s, const std::vector<Value>& in) {
    return std::vector<Type>{Type::tile(shape, s.module.type(in[0]).elem)};
  };
}

}  // namespace

Tile reshape(Operand x, Shape shape) { return first(rearrange(OpCode::reshape, {x}, {}, shaped(shape))); }

Tile transpose(Operand x, std::initializer_list<int64_t> order) {
  return first(rearrange(OpCode::transpose, {x}, with("order", std::vector<int64_t>(order)),
                         [&](BuilderState& s, const std::vector<Value>& in) {
                           Type type = s.module.type(in[0]);
                           const Shape from = type.shape;
                           int axis = 0;
                           for (int64_t i : order)
                             if (axis < from.rank && i >= 0 && i < from.rank)
                               type.shape[axis++] = from[static_cast<int>(i)];
                           return std::vector<Type>{type};
                         }));
}
Tile transpose(Operand x) { return transpose(x, {1, 0}); }

Tile slice(Operand x, std::initializer_list<int64_t> offsets, Shape shape) {
  return first(rearrange(OpCode::slice, {x}, with("offsets", std::vector<int64_t>(offsets)), shaped(shape)));
}

Tile concat(std::initializer_list<Operand> xs, int axis) {
  return first(
      rearrange(OpCode::concat, xs, with("axis", int64_t{axis}), [&](BuilderState& s, const std::vector<Value>& in) {
        Type type = s.module.type(in[0]);
        if (axis < 0 || axis >= type.shape.rank) return std::vector<Type>{type};
        for (size_t i = 1; i < in.size(); ++i)
          type.shape[axis] += s.module.type(in[i]).shape.dim[static_cast<size_t>(axis)];
        return std::vector<Type>{type};
      }));
}

Tile join(Operand a, Operand b) {
  return first(rearrange(OpCode::join, {a, b}, {}, [](BuilderState& s, const std::vector<Value>& in) {
    return std::vector<Type>{with_pairs(s.module.type(in[0]))};
  }));
}

std::pair<Tile, Tile> split(Operand x) {
  std::vector<Tile> tiles = rearrange(OpCode::split, {x}, {}, [](BuilderState& s, const std::vector<Value>& in) {
    Type type = s.module.type(in[0]);
    if (type.shape.rank > 0) type.shape[--type.shape.rank] = 0;
    return std::vector<Type>{type, type};
  });
  if (tiles.size() == 1) return {tiles[0], tiles[0]};  // poison
  return {std::move(tiles[0]), std::move(tiles[1])};
}

TLXJIT_NAMESPACE_END
