// src/ir/check_sync.cpp — rules of barriers, buffers and copies.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "src/ir/check_p.h"

TLXJIT_NAMESPACE_BEGIN

namespace {

std::string check_copy(const Module& module, const Op& op) {
  const Type& tensor = module.type(op.operands[0]);
  const Type& buffer = module.type(op.operands[1]);
  if (tensor.kind != TypeKind::tensor) return "operand 0 is a tensor, not " + to_string(tensor);
  if (buffer.kind != TypeKind::buffer) return "operand 1 is a buffer, not " + to_string(buffer);
  if (tensor.elem != buffer.elem) return "tensor and buffer have one element type";
  const auto& box = op.attrs.list("box");
  if (static_cast<int32_t>(box.size()) != tensor.slots) return "box has one extent per axis of the tensor";
  if (box_elements(box) != buffer.shape.elements()) return "box and buffer differ in size";
  const int64_t ragged = op.attrs.integer("ragged", -2);
  if (ragged < -1 || ragged >= tensor.slots - 1) return "ragged is -1 or an axis before the last";
  size_t first = 3;
  if (op.code == OpCode::copy_load) {
    if (module.type(op.operands[3]).kind != TypeKind::barrier) return "operand 3 is a barrier";
    first = 5;
  }
  if (op.operands.size() != first + box.size() + (ragged >= 0))
    return "needs one coordinate per axis, and a bound if ragged";
  for (size_t i = 2; i < op.operands.size(); ++i)
    if (i != 3 || op.code == OpCode::copy_store)
      if (module.type(op.operands[i]) != Type::scalar(Elem::i32)) return "slots and coordinates are i32";
  if (op.code == OpCode::copy_load)
    if (std::string what = check_index(module, op.operands[4], module.type(op.operands[3]).slots, "the barrier's slot");
        !what.empty())
      return what;
  return check_index(module, op.operands[2], buffer.slots, "slot");
}

/// The offset, where there is one: aligned, and all below 2^31.
std::string check_offset(const Op& op, int64_t bytes, int64_t alignment) {
  constexpr int64_t limit = int64_t{1} << 31;
  const Attr* attr = op.attrs.find("offset");
  const auto* offset = attr ? std::get_if<int64_t>(attr) : nullptr;
  if (attr && (!offset || *offset < 0 || *offset % alignment))
    return "offset is a multiple of " + std::to_string(alignment) + ", at least 0";
  if (bytes >= limit || (offset && *offset >= limit - bytes)) return "ends beyond 2^31 bytes of shared memory";
  return {};
}

}  // namespace

std::string check_sync(const Module& module, const Op& op) {
  const auto is_i32 = [&](size_t i) { return module.type(op.operands[i]) == Type::scalar(Elem::i32); };
  switch (op.code) {
    case OpCode::buffer: {
      const Type& t = module.type(op.results[0]);
      if (t.kind != TypeKind::buffer || t.slots < 1 || !t.shape.valid() || t.shape.rank < 1)
        return "has slots and a shape";
      const int64_t swizzle = op.attrs.integer("swizzle", -1);
      if (swizzle != 0 && swizzle != 32 && swizzle != 64 && swizzle != 128) return "swizzle is 0, 32, 64 or 128";
      // A swizzled buffer begins on a whole pattern: 8 rows.
      return check_offset(op, t.slots * t.shape.elements() * bytes(t.elem), swizzle ? 8 * swizzle : 16);
    }
    case OpCode::barrier: {
      const Type& t = module.type(op.results[0]);
      const int64_t count = op.attrs.integer("count");
      if (t.kind != TypeKind::barrier || t.slots < 1 || t.slots > 4096) return "has 1 to 4096 slots";
      if (count < 1 || count >= 1 << 20) return "count is 1 to 2^20 − 1";
      return check_offset(op, 8 * t.slots, 8);
    }
    case OpCode::wait:
    case OpCode::arrive:
    case OpCode::expect:
      if (module.type(op.operands[0]).kind != TypeKind::barrier)
        return "works on a barrier, not on " + to_string(module.type(op.operands[0]));
      for (size_t i = 1; i < op.operands.size(); ++i)
        if (!is_i32(i)) return "slot and phase are i32";
      if (op.code == OpCode::arrive && op.attrs.text("per") != "instance" && op.attrs.text("per") != "warp")
        return "per is instance or warp";
      if (op.code == OpCode::expect && (op.attrs.integer("bytes") < 1 || op.attrs.integer("bytes") >= 1 << 20))
        return "bytes are 1 to 2^20 − 1";
      return check_index(module, op.operands[1], module.type(op.operands[0]).slots, "slot");
    case OpCode::copy_load:
    case OpCode::copy_store: return check_copy(module, op);
    case OpCode::copy_drain: return op.attrs.integer("pending", -1) >= 0 ? "" : "pending is at least 0";
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
