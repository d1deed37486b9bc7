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

std::string check_local(const Module& module, const Op& op) {
  const auto is_i32 = [&](size_t i) { return module.type(op.operands[i]) == Type::scalar(Elem::i32); };
  switch (op.code) {
    case OpCode::buffer: {
      const Type& t = module.type(op.results[0]);
      if (t.kind != TypeKind::buffer || t.slots < 1 || !t.shape.valid() || t.shape.rank < 1)
        return "has slots and a shape";
      if (bytes(t.elem) == 0) return std::string(to_string(t.elem)) + " has no whole bytes: keep it in u8, and bitcast";
      const int64_t swizzle = op.attrs.integer("swizzle", -1);
      if (swizzle != 0 && swizzle != 32 && swizzle != 64 && swizzle != 128) return "swizzle is 0, 32, 64 or 128";
      // A swizzled buffer begins on a whole pattern: 8 rows.
      return check_shared_offset(op, t.slots * t.shape.elements() * bytes(t.elem), swizzle ? 8 * swizzle : 16);
    }
    case OpCode::view: {
      const Type& b = module.type(op.operands[0]);
      if (b.kind != TypeKind::buffer) return "works on a buffer, not on " + to_string(b);
      if (module.type(op.operands[1]) != Type::scalar(Elem::i32)) return "the slot is i32";
      if (module.type(op.results[0]) != Type::view(b.shape, b.elem)) return "gives the buffer's shape";
      return check_index(module, op.operands[1], b.slots, "slot");
    }
    case OpCode::part: {
      const Type& a = module.type(op.operands[0]);
      const Type& r = module.type(op.results[0]);
      if (a.kind != TypeKind::view || r.kind != TypeKind::view || a.elem != r.elem || a.shape.rank != 2 ||
          r.shape.rank != 2)
        return "cuts a view of rank 2 by rows";
      if (module.type(op.operands[1]) != Type::scalar(Elem::i32)) return "the index is i32";
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
      if (!is_i32(1)) return "the slot is i32";
      if (std::string what = check_index(module, op.operands[1], b.slots, "slot"); !what.empty()) return what;
      if (op.code == OpCode::buffer_store) {
        const Type& t = module.type(op.operands[2]);
        return t == Type::tile(b.shape, b.elem) ? "" : "writes " + to_string(t) + " to " + to_string(b);
      }
      if (b.shape.rank != 1 || !is_i32(2)) return "works on elements of a buffer of rank 1";
      const Type& element = module.type(op.code == OpCode::buffer_put ? op.operands[3] : op.results[0]);
      if (element != Type::scalar(b.elem)) return "the element is " + std::string(to_string(b.elem));
      return check_index(module, op.operands[2], b.shape[0], "element");
    }
    default: return {};
  }
}

TLXJIT_NAMESPACE_END
