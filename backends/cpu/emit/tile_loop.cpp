// backends/cpu/emit/tile_loop.cpp — one group of tile ops as a loop over rows and vectors of columns.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cmath>
#include <limits>

#include "backends/cpu/emit/emitter_p.h"

TLXJIT_NAMESPACE_BEGIN
namespace cpu {

/// Where the loops stand. Rows are all axes but the last, flattened.
struct Emitter::Position {
  const Group& group;
  int64_t rows, columns;
  unsigned lanes;
  Node row = nullptr;
  Node column = nullptr;
  std::unordered_map<Value, Node> held = {};        // by value, at this position
  std::unordered_map<Value, Node> row_values = {};  // of row tiles that are broadcast along the last axis
  std::unordered_map<const Op*, Node> slots = {};   // of stores to buffers: addresses
  std::unordered_map<const Op*, View> views = {};   // of accesses to views
  std::unordered_map<Value, Node> sums = {};        // of reductions along the last axis: stack slots
  std::unordered_map<Value, int64_t> wide = {};     // of others: arena offsets of f32 for sums that are rounded later
};

namespace {

/// The number of rows that pass while the index along `axis` stays: the product of the row axes after it.
int64_t rows_below(const Shape& s, int axis) {
  int64_t n = 1;
  for (int i = axis + 1; i < s.rank - 1; ++i) n *= s[i];
  return n;
}

ReductionKind kind_of(const Op& op) { return word_of<ReductionKind>(op, "kind"); }

/// Whether a result is rounded once, at the end, from sums in f32.
bool rounds_late(const Op& op, Elem elem) {
  return (elem == Elem::f16 || elem == Elem::bf16) &&
         (kind_of(op) == ReductionKind::sum || kind_of(op) == ReductionKind::prod);
}

bool last_axis(const Op& op, const Shape& s) { return op.attrs.integer("axis") == s.rank - 1; }

}  // namespace

/// The flat index, without `axis` (not the last one), of the position.
Node Emitter::without_axis(const Position& p, int axis) {
  const Shape& s = p.group.domain;
  const int64_t below = rows_below(s, axis);
  Node row = below == 1 ? i64(0) : b.CreateURem(p.row, i64(below));
  if (axis > 0) row = b.CreateAdd(b.CreateMul(b.CreateUDiv(p.row, i64(below * s[axis])), i64(below)), row);
  return b.CreateAdd(b.CreateMul(row, i64(p.columns)), p.column);
}

void Emitter::emit_group(const Group& group) {
  const Shape& s = group.domain;
  Position p{group, 1, s[s.rank - 1], 1};
  for (int i = 0; i + 1 < s.rank; ++i) p.rows *= s[i];
  p.lanes = lanes_for(p.columns);
  for (const Op* op : group.ops)
    if (op->code == OpCode::reduce) {
      if (last_axis(*op, s))
        p.sums[op->result()] = entry_alloca(reg(type(op->result()).elem, p.lanes));
      else
        begin_reduce(*op, p);
    }
  for (const Op* op : group.ops) switch (op->code) {
      case OpCode::buffer_store: p.slots[op] = slot_address(op->operand(0), op->operand(1), *op); break;
      case OpCode::view_load:
      case OpCode::view_store:
      case OpCode::view_gather:
      case OpCode::view_scatter: p.views[op] = view(op->operand(0)); break;
      default: break;
    }
  loop(p.rows, 1, [&](Node row) {
    p.row = row;
    p.row_values.clear();
    for (const Op* op : group.ops) {
      if (op->code == OpCode::broadcast && last_axis(*op, s)) {
        const Elem elem = type(op->operand(0)).elem;
        Node value = load(at(tile_address(op->operand(0)), b.CreateMul(row, i64(size(elem)))), elem, 1);
        p.row_values[op->result()] = splat(value, p.lanes);
      }
      if (op->code == OpCode::reduce && last_axis(*op, s))
        b.CreateStore(identity(kind_of(*op), type(op->result()).elem, p.lanes), p.sums.at(op->result()));
    }
    loop(p.columns, p.lanes, [&](Node column) {
      p.column = column;
      p.held.clear();
      for (const Op* op : group.ops) emit_element(*op, p);
    });
    for (const Op* op : group.ops)
      if (op->code == OpCode::reduce && last_axis(*op, s)) finish_row(*op, p);
  });
  for (const Op* op : group.ops)
    if (op->code == OpCode::reduce) end_reduce(*op, p);
}

/// A reduction along another axis than the last adds up in memory.
void Emitter::begin_reduce(const Op& op, Position& p) {
  const Type& t = type(op.result());
  const bool late = rounds_late(op, t.elem);
  const Elem elem = late ? Elem::f32 : t.elem;
  if (late) p.wide[op.result()] = arena_.take(t.shape.elements() * size(elem));
  const unsigned lanes = lanes_for(t.shape[t.shape.rank - 1]);
  Node start = identity(kind_of(op), elem, lanes);
  Node base = late ? arena_address(p.wide.at(op.result())) : tile_address(op.result());
  loop(t.shape.elements(), lanes, [&](Node i) { store(start, at(base, b.CreateMul(i, i64(size(elem)))), elem); });
}

void Emitter::end_reduce(const Op& op, Position& p) {
  const auto found = p.wide.find(op.result());
  if (found == p.wide.end()) return;
  const Type& t = type(op.result());
  const unsigned lanes = lanes_for(t.shape[t.shape.rank - 1]);
  loop(t.shape.elements(), lanes, [&](Node i) {
    Node sums = load(at(arena_address(found->second), b.CreateMul(i, i64(size(Elem::f32)))), Elem::f32, lanes);
    store(round(sums, t.elem), element_address(op.result(), i), t.elem);
  });
  arena_.give(found->second);
}

void Emitter::finish_row(const Op& op, Position& p) {
  const Type& t = type(op.result());
  Node x = b.CreateLoad(reg(t.elem, p.lanes), p.sums.at(op.result()));
  // Halves onto each other: a fixed order, and short.
  for (unsigned n = p.lanes; n > 1; n /= 2) {
    std::vector<int> low(n / 2), high(n / 2);
    for (unsigned i = 0; i < n / 2; ++i) low[i] = static_cast<int>(i), high[i] = static_cast<int>(i + n / 2);
    x = join(kind_of(op), b.CreateShuffleVector(x, low), b.CreateShuffleVector(x, high), t.elem);
  }
  if (p.lanes > 1) x = b.CreateExtractElement(x, uint64_t{0});
  x = round(x, t.elem);
  if (t.is_scalar())
    scalars_[op.result()] = x;  // rank 1: no loop over rows is around it
  else
    store(x, element_address(op.result(), p.row), t.elem);
}

Node Emitter::lane(Value v, Position& p) {
  if (auto found = p.held.find(v); found != p.held.end()) return found->second;
  if (type(v).is_scalar()) return p.held[v] = splat(scalar(v), p.lanes);
  const Elem elem = type(v).elem;
  Node index = b.CreateAdd(b.CreateMul(p.row, i64(p.columns)), p.column);
  return p.held[v] = load(at(tile_address(v), b.CreateMul(index, i64(size(elem)))), elem, p.lanes);
}

/// The elements of a view at the position, or, where `index` is given, at it along `axis`: in elements from the view's
/// base, one number where they lie next to each other, else one per lane.
Node Emitter::view_offset(const View& view, Position& p, int axis, Node index) {
  const Shape& s = p.group.domain;
  const int last = s.rank - 1;
  Node offset = i64(0);
  for (int i = 0; i < last; ++i) {
    if (i == axis) continue;
    const int64_t below = rows_below(s, i);
    Node at = below == 1 ? p.row : b.CreateUDiv(p.row, i64(below));
    if (i > 0) at = b.CreateURem(at, i64(s[i]));
    offset = b.CreateAdd(offset, b.CreateMul(at, i64(view.stride[static_cast<size_t>(i)])));
  }
  Node stride = i64(view.stride[static_cast<size_t>(last)]);
  if (axis != last) offset = b.CreateAdd(offset, b.CreateMul(p.column, stride));
  if (p.lanes == 1 || (!index && view.stride[static_cast<size_t>(last)] == 1)) {
    if (index)
      offset = b.CreateAdd(
          offset, b.CreateMul(b.CreateZExt(index, b.getInt64Ty()), i64(view.stride[static_cast<size_t>(axis)])));
    return offset;
  }
  auto* type = llvm::FixedVectorType::get(b.getInt64Ty(), p.lanes);
  offset = splat(offset, p.lanes);
  if (axis != last) offset = b.CreateAdd(offset, b.CreateMul(b.CreateStepVector(type), splat(stride, p.lanes)));
  if (index)
    offset = b.CreateAdd(
        offset, b.CreateMul(b.CreateZExt(index, type), splat(i64(view.stride[static_cast<size_t>(axis)]), p.lanes)));
  return offset;
}

/// The indices of a gather or scatter, after code that ends the launch where one is not of the view.
Node Emitter::view_index(const Op& op, const View& view, Position& p) {
  Node index = lane(op.operand(1), p);
  Node largest = p.lanes == 1 ? index : b.CreateIntMaxReduce(index, false);
  bounded(b.CreateSExt(largest, b.getInt64Ty()), i64(view.shape[static_cast<int>(op.attrs.integer("axis"))]), op);
  return index;
}

Node Emitter::load_view(const Op& op, Position& p) {
  const View& view = p.views.at(&op);
  const bool gathers = op.code == OpCode::view_gather;
  Node offset = gathers ? view_offset(view, p, static_cast<int>(op.attrs.integer("axis")), view_index(op, view, p))
                        : view_offset(view, p, -1, nullptr);
  const auto at_offset = [&](Node i) { return at(view.base, b.CreateMul(i, i64(size(view.elem)))); };
  if (!offset->getType()->isVectorTy()) return load(at_offset(offset), view.elem, p.lanes);
  Node all = llvm::PoisonValue::get(reg(view.elem, p.lanes));
  for (uint64_t i = 0; i < p.lanes; ++i)
    all = b.CreateInsertElement(all, load(at_offset(b.CreateExtractElement(offset, i)), view.elem, 1), i);
  return all;
}

void Emitter::store_view(const Op& op, Position& p) {
  const View& view = p.views.at(&op);
  const bool scatters = op.code == OpCode::view_scatter;
  Node offset = scatters ? view_offset(view, p, static_cast<int>(op.attrs.integer("axis")), view_index(op, view, p))
                         : view_offset(view, p, -1, nullptr);
  Node x = lane(op.operands.back(), p);
  const auto at_offset = [&](Node i) { return at(view.base, b.CreateMul(i, i64(size(view.elem)))); };
  if (!offset->getType()->isVectorTy()) return store(x, at_offset(offset), view.elem);
  for (uint64_t i = 0; i < p.lanes; ++i)
    store(b.CreateExtractElement(x, i), at_offset(b.CreateExtractElement(offset, i)), view.elem);
}

/// Writes one element of an op's value to where it is kept; false: the op keeps none.
bool Emitter::sink_element(const Op& op, Position& p, Node flat) {
  auto sink = [&](Value v, Node base) {
    store(lane(v, p), at(base, b.CreateMul(flat, i64(size(type(v).elem)))), type(v).elem);
    return true;
  };
  switch (op.code) {
    case OpCode::set: return sink(op.operand(1), tile_address(op.operand(0)));
    case OpCode::var: return sink(op.operand(0), tile_address(op.result()));
    case OpCode::acc_write: return sink(op.operand(1), tile_address(op.operand(0)));
    case OpCode::buffer_store:
      if (type(op.operand(0)).elem != type(op.operand(2)).elem ||
          type(op.operand(0)).shape.elements() != type(op.operand(2)).shape.elements())
        unsupported(op, "a tile that is not of the slot's type");
      return sink(op.operand(2), p.slots.at(&op));
    case OpCode::view_store:
    case OpCode::view_scatter: store_view(op, p); return true;
    case OpCode::reduce: reduce_element(op, p); return true;
    default: return false;
  }
}

void Emitter::reduce_element(const Op& op, Position& p) {
  const Shape& s = p.group.domain;
  const int axis = static_cast<int>(op.attrs.integer("axis"));
  Elem elem = type(op.result()).elem;
  Node x = lane(op.operand(0), p);
  if (axis == s.rank - 1) {
    Node slot = p.sums.at(op.result());
    b.CreateStore(join(kind_of(op), b.CreateLoad(reg(elem, p.lanes), slot), x, elem), slot);
    return;
  }
  const auto wide = p.wide.find(op.result());
  Node base = wide == p.wide.end() ? tile_address(op.result()) : arena_address(wide->second);
  if (wide != p.wide.end()) elem = Elem::f32;
  Node slot = at(base, b.CreateMul(without_axis(p, axis), i64(size(elem))));
  store(join(kind_of(op), load(slot, elem, p.lanes), x, elem), slot, elem);
}

/// The number of the element along an axis.
Node Emitter::iota_element(int axis, Position& p) {
  const Shape& s = p.group.domain;
  llvm::Type* i32 = b.getInt32Ty();
  if (axis == s.rank - 1) {
    Node first = splat(b.CreateTrunc(p.column, i32), p.lanes);
    return p.lanes == 1 ? first : b.CreateAdd(first, b.CreateStepVector(llvm::FixedVectorType::get(i32, p.lanes)));
  }
  Node i = b.CreateUDiv(p.row, i64(rows_below(s, axis)));
  return splat(b.CreateTrunc(axis == 0 ? i : b.CreateURem(i, i64(s[axis])), i32), p.lanes);
}

/// One element of what an op gives.
Node Emitter::value_element(const Op& op, Position& p, Node flat) {
  const Shape& s = p.group.domain;
  const Elem elem = type(op.result()).elem;
  const int axis = static_cast<int>(op.attrs.integer("axis"));
  auto stored = [&](Value v, Node index) {
    return load(at(tile_address(v), b.CreateMul(index, i64(size(elem)))), elem, p.lanes);
  };
  switch (op.code) {
    case OpCode::view_load:
    case OpCode::view_gather: return load_view(op, p);
    case OpCode::get: return stored(op.operand(0), flat);
    case OpCode::acc_read: {
      const int64_t width = type(op.operand(0)).shape[1];
      return stored(op.operand(0),
                    b.CreateAdd(b.CreateMul(p.row, i64(width)), b.CreateAdd(p.column, i64(op.attrs.integer("col")))));
    }
    case OpCode::constant: return constant(op, elem, p.lanes);
    case OpCode::splat:
    case OpCode::finish: return lane(op.operand(0), p);
    case OpCode::iota: return iota_element(axis, p);
    case OpCode::broadcast:
      return axis == s.rank - 1 ? p.row_values.at(op.result()) : stored(op.operand(0), without_axis(p, axis));
    default: break;
  }
  if (!is_elementwise(op.code)) unsupported(op, "this op on tiles");
  llvm::SmallVector<Node, 3> in;
  for (Value v : op.operands) {
    // A scalar condition chooses whole tiles.
    const bool whole = op.code == OpCode::select && in.empty() && type(v).is_scalar();
    in.push_back(whole ? scalar(v) : lane(v, p));
  }
  return apply(op, in, type(op.operand(0)).elem, elem);
}

void Emitter::emit_element(const Op& op, Position& p) {
  const int64_t axis = op.attrs.integer("axis");
  if (axis < 0 || axis >= p.group.domain.rank) unsupported(op, "an axis that the tile lacks");
  Node flat = b.CreateAdd(b.CreateMul(p.row, i64(p.columns)), p.column);
  if (sink_element(op, p, flat)) return;
  const Value v = op.result();
  p.held[v] = value_element(op, p, flat);
  if (stored(v, p.group))
    store(lane(v, p), at(tile_address(v), b.CreateMul(flat, i64(size(type(v).elem)))), type(v).elem);
}

}  // namespace cpu
TLXJIT_NAMESPACE_END
