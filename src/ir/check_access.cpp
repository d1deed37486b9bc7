// src/ir/check_access.cpp — rules of loads, stores and atomics on elements of tensors.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "src/ir/access_p.h"
#include "src/ir/check_p.h"
#include "src/ir/words_p.h"

TLXJIT_NAMESPACE_BEGIN

namespace {

bool is_index(Elem e) { return e == Elem::i32 || e == Elem::i64; }

std::string check_mask(const Module& module, const ElementAccess& access, const Shape& shape) {
  if (access.mask != no_value && module.type(access.mask) != Type::tile(shape, Elem::b1))
    return "the mask is " + to_string(Type::tile(shape, Elem::b1)) + ", not " + to_string(module.type(access.mask));
  return {};
}

std::string check_box_access(const Module& module, const Op& op, const ElementAccess& access) {
  const bool reads = access.values.empty();
  const Type& tile = module.type(reads ? op.results[0] : access.values[0]);
  if (std::string what = check_boxed_tile(op, module.type(access.tensor), tile, reads); !what.empty()) return what;
  const size_t offsets = access.indices.size() + (access.bound != no_value);
  if (std::string what = check_offsets(module, std::span(op.operands).subspan(1 + access.values.size(), offsets));
      !what.empty())
    return what;
  if (!reads && access.mask == no_value) return "needs a mask";
  return check_mask(module, access, tile.shape);
}

std::string check_atomic(const Op& op, Elem elem) {
  const bool real = elem == Elem::f32 || elem == Elem::f64;
  if (!real && !is_wide_int(elem))
    return "works on i32, u32, i64, u64, f32 and f64, not on " + std::string(to_string(elem));
  const auto kind = from_word<AtomicKind>(op.attrs.text("kind"));
  if (!kind) return "kind is " + all_words<AtomicKind>();
  const bool any =
      kind == AtomicKind::add || kind == AtomicKind::min || kind == AtomicKind::max || kind == AtomicKind::exchange;
  if (real && !any) return "kind " + word<AtomicKind>(*kind) + " works on integers, not on " + to_string(elem);
  return from_word<MemoryOrder>(op.attrs.text("order")) ? "" : "order is " + all_words<MemoryOrder>();
}

}  // namespace

std::string check_access(const Module& module, const Op& op) {
  const Type& tensor = module.type(op.operands[0]);
  if (tensor.kind != TypeKind::tensor) return "works on a tensor, not on " + to_string(tensor);
  const auto access = access_of(module, op);
  if (!access)
    return is_box_access(op.code) ? "needs one offset per axis, then at most a mask and a fill"
                                  : "needs one index per axis, then at most a mask and a fill";
  if (access->other != no_value && module.type(access->other) != Type::scalar(tensor.elem))
    return "the fill is a scalar of " + std::string(to_string(tensor.elem)) + ", not " +
           to_string(module.type(access->other));
  if (is_box_access(op.code)) return check_box_access(module, op, *access);

  if (op.code == OpCode::atomic || op.code == OpCode::atomic_tile)
    if (std::string what = check_atomic(op, tensor.elem); !what.empty()) return what;
  // The shape is that of the tiles among indices and values.
  Shape shape;
  for (const auto* list : {&access->indices, &access->values})
    for (Value v : *list)
      if (const Type& t = module.type(v); t.is_tile() && shape.rank == 0) shape = t.shape;
  const bool wants_tile = op.code != OpCode::atomic;
  if (wants_tile != (shape.rank > 0))
    return wants_tile ? "needs an index or a value that is a tile" : "works on scalars; atomic.tile works on tiles";
  for (Value v : access->indices) {
    const Type& t = module.type(v);
    if (!is_value(t) || !is_index(t.elem)) return "indices are i32 or i64, not " + to_string(t);
    if (t.is_tile() && t.shape != shape)
      return "indices and values have one shape: " + to_string(Type::tile(shape, t.elem)) + " and " + to_string(t);
  }
  for (Value v : access->values) {
    const Type& t = module.type(v);
    const bool fits = t.is_tile() ? t.shape == shape : t.is_scalar() && op.code != OpCode::store_at;
    if (!fits)
      return "indices and values have one shape: " + to_string(Type::tile(shape, tensor.elem)) + " and " + to_string(t);
    if (t.elem != tensor.elem)
      return "writes " + std::string(to_string(t.elem)) + " to a tensor of " + to_string(tensor.elem) + "; cast first";
  }
  if (!op.results.empty()) {
    const Type expected = wants_tile ? Type::tile(shape, tensor.elem) : Type::scalar(tensor.elem);
    if (module.type(op.results[0]) != expected)
      return "gives " + to_string(expected) + ", not " + to_string(module.type(op.results[0]));
  }
  return check_mask(module, *access, shape);
}

TLXJIT_NAMESPACE_END
