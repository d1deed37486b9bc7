// src/ir/check_local.cpp — rules of buffers in shared memory and of views into them.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "src/ir/check_p.h"

TLXJIT_NAMESPACE_BEGIN

std::string check_shared_offset(const Op& op, int64_t bytes, int64_t alignment) {
  constexpr int64_t limit = int64_t{1} << 31;
  const Attr* attr = op.attrs.find("offset");
  const auto* offset = attr ? std::get_if<int64_t>(attr) : nullptr;
  if (attr && (!offset || *offset < 0 || *offset % alignment))
    return "offset is a multiple of " + std::to_string(alignment) + ", at least 0";
  if (bytes >= limit || (offset && *offset >= limit - bytes)) return "ends beyond 2^31 bytes of shared memory";
  return {};
}

namespace {

/// Whether the view's elements lie in row-major order without gaps: whole slots, and rows cut from such.
bool is_dense(const Module& module, Value v) {
  const Op* def = module.def(v);
  if (!def) return false;
  switch (def->code) {
    case OpCode::view:
    case OpCode::field: return true;
    case OpCode::view_reshape:
    case OpCode::view_reinterpret:
    case OpCode::part: return is_dense(module, def->operands[0]);
    case OpCode::view_slice: {
      const Shape &from = module.type(def->operands[0]).shape, &to = module.type(v).shape;
      for (int i = 1; i < from.rank; ++i)
        if (from[i] != to[i]) return false;
      return is_dense(module, def->operands[0]);
    }
    default: return false;
  }
}

std::string check_buffer(const Module& module, const Op& op) {
  const Type& t = module.type(op.results[0]);
  if (t.kind != TypeKind::buffer || t.slots < 1 || !t.shape.valid() || t.shape.rank < 1)
    return "has at least 1 slot, of rank 1 to 5, each extent 1 to 2^20, at most 2^24 elements, unlike " + to_string(t);
  if (bytes(t.elem) == 0) return std::string(to_string(t.elem)) + " has no whole bytes: keep it in u8, and bitcast";
  if (!op.attrs.find("swizzle") && module.level == Level::lowered) return "attribute 'swizzle' is missing";
  const int64_t swizzle = op.attrs.integer("swizzle", op.attrs.find("swizzle") ? -1 : 0);
  if (swizzle != 0 && swizzle != 32 && swizzle != 64 && swizzle != 128) return "swizzle is 0, 32, 64 or 128 bytes";
  const int64_t size = t.slots * t.shape.elements() * bytes(t.elem);
  if (swizzle != 0 && module.level == Level::portable) {  // one that the lowering chooses, it chooses to fit
    if (t.shape.elements() * bytes(t.elem) % 1024)
      return "a slot of " + to_string(t) + " is no multiple of 1024 bytes; use rows in multiples of 8";
    if (const int64_t at = op.attrs.integer("at", 0); at % 1024)
      return "a swizzled buffer begins on a multiple of 1024 bytes, not on byte " + std::to_string(at) +
             " of what it shares";
  }
  if (op.operands.empty()) {
    if (op.attrs.find("at")) return "at goes with a buffer whose storage is shared";
  } else {
    const Type& other = module.type(op.operands[0]);
    if (other.kind != TypeKind::buffer) return "shares the storage of a buffer, not of " + to_string(other);
    const int64_t at = op.attrs.integer("at", 0), room = other.slots * other.shape.elements() * bytes(other.elem);
    if (at < 0 || at % 16) return "begins on a multiple of 16 bytes of what it shares, not on " + std::to_string(at);
    if (at > room || size > room - at)
      return "needs " + std::to_string(size) + " bytes from byte " + std::to_string(at) + " on; " + to_string(other) +
             ", whose storage it shares, has " + std::to_string(room);
  }
  // A swizzled buffer begins on a whole pattern: 8 rows.
  return check_shared_offset(op, size, swizzle ? 8 * swizzle : 16);
}

std::string check_view_step(const Module& module, const Op& op) {
  const Type& a = module.type(op.operands[0]);
  const Type& r = module.type(op.results[0]);
  if (a.kind != TypeKind::view) return "works on a view, not on " + to_string(a);
  if (r.kind != TypeKind::view || !r.shape.valid() || r.shape.rank < 1 || bytes(r.elem) == 0)
    return "gives a view, not " + to_string(r);
  if (op.code == OpCode::view_slice) {
    const auto& offsets = op.attrs.list("offsets");
    if (r.elem != a.elem || r.shape.rank != a.shape.rank || static_cast<int>(offsets.size()) != a.shape.rank)
      return "keeps rank and element type, with one offset per axis";
    for (int i = 0; i < a.shape.rank; ++i)
      if (const int64_t at = offsets[static_cast<size_t>(i)]; at < 0 || at > a.shape[i] - r.shape[i])
        return to_string(r) + " at " + std::to_string(at) + " of axis " + std::to_string(i) + " is outside " +
               to_string(a);
    return {};
  }
  if (!is_dense(module, op.operands[0])) return "works on a view without gaps: a whole slot, or rows of one";
  if (op.code == OpCode::view_reshape) {
    if (r.elem != a.elem || r.shape.elements() != a.shape.elements())
      return to_string(a) + " has not the elements of " + to_string(r);
    return {};
  }
  const int last = a.shape.rank - 1;
  bool same = r.shape.rank == a.shape.rank && r.shape[last] * bytes(r.elem) == a.shape[last] * bytes(a.elem);
  for (int i = 0; same && i < last; ++i) same = a.shape[i] == r.shape[i];
  return same ? "" : to_string(a) + " has not the bytes of " + to_string(r) + " in each row";
}

/// view.load, view.store, view.gather and view.scatter.
std::string check_view_access(const Module& module, const Op& op) {
  const Type& view = module.type(op.operands[0]);
  if (view.kind != TypeKind::view) return "works on a view, not on " + to_string(view);
  const bool reads = op.code == OpCode::view_load || op.code == OpCode::view_gather;
  const Type& tile = module.type(reads ? op.results[0] : op.operands.back());
  if (op.code == OpCode::view_load)
    return tile == Type::tile(view.shape, view.elem) ? "" : "gives the view's elements, not " + to_string(tile);
  if (op.code == OpCode::view_store)
    return tile == Type::tile(view.shape, view.elem) ? "" : "writes " + to_string(tile) + " to " + to_string(view);
  const Type& index = module.type(op.operands[1]);
  const int64_t axis = op.attrs.integer("axis", -1);
  if (axis < 0 || axis >= view.shape.rank)
    return "axis " + std::to_string(axis) + " of " + to_string(view) + " is out of range";
  if (!index.is_tile() || index.elem != Elem::i32 || index.shape.rank != view.shape.rank)
    return "the indices are a tile of i32 of the view's rank, not " + to_string(index);
  for (int i = 0; i < view.shape.rank; ++i)
    if (i != axis && index.shape[i] > view.shape[i])
      return to_string(index) + " is larger than " + to_string(view) + " along axis " + std::to_string(i);
  if (tile != Type::tile(index.shape, view.elem))
    return (reads ? "gives " : "writes ") + to_string(Type::tile(index.shape, view.elem)) + ", not " + to_string(tile);
  return {};
}

}  // namespace

std::string check_local(const Module& module, const Op& op) {
  switch (op.code) {
    case OpCode::buffer: return check_buffer(module, op);
    case OpCode::view_slice:
    case OpCode::view_reshape:
    case OpCode::view_reinterpret: return check_view_step(module, op);
    case OpCode::view_load:
    case OpCode::view_store:
    case OpCode::view_gather:
    case OpCode::view_scatter: return check_view_access(module, op);
    case OpCode::view: {
      const Type& b = module.type(op.operands[0]);
      if (b.kind != TypeKind::buffer) return "works on a buffer, not on " + to_string(b);
      if (module.type(op.results[0]) != Type::view(b.shape, b.elem)) return "gives the buffer's shape";
      return check_index(module, op.operands[1], b.slots, "slot");
    }
    case OpCode::part: {
      const Type& a = module.type(op.operands[0]);
      const Type& r = module.type(op.results[0]);
      if (a.kind != TypeKind::view || r.kind != TypeKind::view || a.elem != r.elem || a.shape.rank != 2 ||
          r.shape.rank != 2)
        return "cuts a view of rank 2 by rows, not " + to_string(a);
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
    case OpCode::buffer_store:
    case OpCode::buffer_put:
    case OpCode::buffer_get: {
      const Type& b = module.type(op.operands[0]);
      if (b.kind != TypeKind::buffer) return "works on a buffer, not on " + to_string(b);
      if (std::string what = check_index(module, op.operands[1], b.slots, "slot"); !what.empty()) return what;
      if (op.code == OpCode::buffer_store) {
        const Type& t = module.type(op.operands[2]);
        return t == Type::tile(b.shape, b.elem) ? "" : "writes " + to_string(t) + " to " + to_string(b);
      }
      if (b.shape.rank != 1 || !is_i32(module.type(op.operands[2])))
        return "works on elements of a buffer of rank 1, not of " + to_string(b);
      const Type& element = module.type(op.code == OpCode::buffer_put ? op.operands[3] : op.results[0]);
      if (element != Type::scalar(b.elem))
        return "the element is " + std::string(to_string(b.elem)) + ", not " + to_string(element) + "; cast first";
      return check_index(module, op.operands[2], b.shape[0], "element");
    }
    default: return {};
  }
}

TLXJIT_NAMESPACE_END
