// backends/cpu/emit/shape.cpp — tiles with their elements rearranged: copies between strides.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/cpu/emit/emitter_p.h"

TLXJIT_NAMESPACE_BEGIN
namespace cpu {

/// Elements of a stored tile: where the first lies, and the step along each axis, in elements.
struct Emitter::Strided {
  Node base;
  int64_t first = 0;
  std::array<int64_t, Shape::max_rank> stride{};
};

Emitter::Strided Emitter::strided(Value tile) {
  const Shape& shape = type(tile).shape;
  Strided s{tile_address(tile)};
  int64_t stride = 1;
  for (int i = shape.rank - 1; i >= 0; --i) {
    s.stride[static_cast<size_t>(i)] = stride;
    stride *= shape[i];
  }
  return s;
}

void Emitter::rearrange(const Op& op) {
  const Value a = op.operand(0);
  const Elem elem = type(a).elem;
  const Shape& in = type(a).shape;
  const Shape& out = type(op.result()).shape;
  Strided from = strided(a), to = strided(op.result());
  switch (op.code) {
    case OpCode::reshape: {
      const auto bytes = static_cast<uint64_t>(in.elements() * size(elem));
      b.CreateMemCpy(to.base, llvm::MaybeAlign(64), from.base, llvm::MaybeAlign(64), bytes);
      return;
    }
    case OpCode::transpose: {
      const Strided rows = from;
      const auto& order = op.attrs.list("order");
      for (size_t i = 0; i < order.size(); ++i) from.stride[i] = rows.stride[static_cast<size_t>(order[i])];
      return copy_elements(out, from, to, elem);
    }
    case OpCode::slice: {
      const auto& offsets = op.attrs.list("offsets");
      for (size_t i = 0; i < offsets.size(); ++i) from.first += offsets[i] * from.stride[i];
      return copy_elements(out, from, to, elem);
    }
    case OpCode::concat: {
      const auto axis = static_cast<size_t>(op.attrs.integer("axis"));
      for (Value v : op.operands) {
        copy_elements(type(v).shape, strided(v), to, elem);
        to.first += type(v).shape.dim[axis] * to.stride[axis];
      }
      return;
    }
    case OpCode::join:
      for (Value v : op.operands) {
        copy_elements(in, strided(v), to, elem);
        ++to.first;
      }
      return;
    case OpCode::split:
      for (Value v : op.results) {
        copy_elements(out, from, strided(v), elem);
        ++from.first;
      }
      return;
    default: unsupported(op, "this op on stored tiles");
  }
}

void Emitter::copy_elements(Shape shape, Strided from, Strided to, Elem elem) {
  // Axes that follow one another on both sides are one.
  Shape merged;
  Strided f = from, t = to;
  for (int i = 0; i < shape.rank; ++i) {
    const auto k = static_cast<size_t>(i);
    if (merged.rank > 0) {
      const auto last = static_cast<size_t>(merged.rank - 1);
      if (f.stride[last] == from.stride[k] * shape[i] && t.stride[last] == to.stride[k] * shape[i]) {
        merged.dim[last] *= shape[i];
        f.stride[last] = from.stride[k];
        t.stride[last] = to.stride[k];
        continue;
      }
    }
    merged.dim[merged.rank] = shape[i];
    f.stride[merged.rank] = from.stride[k];
    t.stride[merged.rank] = to.stride[k];
    ++merged.rank;
  }
  const auto inner = static_cast<size_t>(merged.rank - 1);
  const unsigned lanes = f.stride[inner] == 1 && t.stride[inner] == 1 ? lanes_for(merged.dim[inner]) : 1;
  const int64_t bytes = size(elem);
  llvm::Type* raw = wide(b.getIntNTy(static_cast<unsigned>(8 * bytes)), lanes);
  const llvm::Align align(static_cast<uint64_t>(bytes));
  std::function<void(size_t, Node, Node)> axis = [&](size_t k, Node at_from, Node at_to) {
    loop(merged.dim[k], k == inner ? lanes : 1, [&](Node i) {
      Node x = b.CreateAdd(at_from, b.CreateMul(i, i64(f.stride[k])));
      Node y = b.CreateAdd(at_to, b.CreateMul(i, i64(t.stride[k])));
      if (k < inner) return axis(k + 1, x, y);
      Node value = b.CreateAlignedLoad(raw, at(f.base, b.CreateMul(x, i64(bytes))), align);
      b.CreateAlignedStore(value, at(t.base, b.CreateMul(y, i64(bytes))), align);
    });
  };
  axis(0, i64(f.first), i64(t.first));
}

}  // namespace cpu
TLXJIT_NAMESPACE_END
