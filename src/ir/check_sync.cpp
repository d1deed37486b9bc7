// src/ir/check_sync.cpp — rules of barriers and copies.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "src/ir/check_p.h"

TLXJIT_NAMESPACE_BEGIN

namespace {

/// Reductions of copies: sums of numbers, extremes of integers and 16-bit floats, bits of integers of 32 or 64 bits.
std::string check_reduce(const Op& op, Elem elem) {
  const std::string_view kind = op.attrs.text("reduce");
  const bool words = is_int(elem) && bits(elem) >= 32, halves = elem == Elem::f16 || elem == Elem::bf16;
  bool fits = false;
  if (kind == "add")
    fits = words || halves || elem == Elem::f32;
  else if (kind == "min" || kind == "max")
    fits = words || halves;
  else if (kind == "and" || kind == "or" || kind == "xor")
    fits = words;
  else
    return "reduce is add, min, max, and, or or xor";
  return fits ? "" : "cannot reduce " + std::string(to_string(elem)) + " by " + std::string(kind);
}

std::string check_prefetch(const Module& module, const Op& op) {
  const Type& tensor = module.type(op.operands[0]);
  if (tensor.kind != TypeKind::tensor) return "operand 0 is a tensor, not " + to_string(tensor);
  const auto& box = op.attrs.list("box");
  if (static_cast<int32_t>(box.size()) != tensor.slots) return "box has one extent per axis of the tensor";
  if (box_elements(box) == 0) return "each extent of the box is at least 1, their product at most 2^24";
  const int64_t ragged = op.attrs.integer("ragged", -2);
  if (ragged < -1 || ragged >= tensor.slots - 1) return "ragged is -1 or an axis before the last";
  if (op.operands.size() != 1 + box.size() + (ragged >= 0))
    return "needs one coordinate per axis, and a bound if ragged";
  for (size_t i = 1; i < op.operands.size(); ++i)
    if (module.type(op.operands[i]) != Type::scalar(Elem::i32)) return "coordinates are i32";
  return {};
}

std::string check_copy(const Module& module, const Op& op) {
  const Type& tensor = module.type(op.operands[0]);
  const Type& buffer = module.type(op.operands[1]);
  if (tensor.kind != TypeKind::tensor) return "operand 0 is a tensor, not " + to_string(tensor);
  if (buffer.kind != TypeKind::buffer) return "operand 1 is a buffer, not " + to_string(buffer);
  if (tensor.elem != buffer.elem)
    return to_string(tensor) + " and " + to_string(buffer) + " have one element type; a copy does not convert";
  const auto& box = op.attrs.list("box");
  if (static_cast<int32_t>(box.size()) != tensor.slots) return "box has one extent per axis of the tensor";
  if (box_elements(box) != buffer.shape.elements()) return "box and buffer differ in size";
  const int64_t ragged = op.attrs.integer("ragged", -2);
  if (ragged < -1 || ragged >= tensor.slots - 1) return "ragged is -1 or an axis before the last";
  if (op.attrs.find("reduce"))
    if (std::string what = check_reduce(op, tensor.elem); !what.empty()) return what;
  size_t first = 3;
  if (op.code == OpCode::copy_load) {
    if (module.type(op.operands[3]).kind != TypeKind::barrier) return "operand 3 is a barrier";
    first = 5;
  }
  if (op.operands.size() != first + box.size() + (ragged >= 0))
    return "needs one coordinate per axis, and a bound if ragged";
  for (size_t i = 2; i < op.operands.size(); ++i)
    if (i != 3 || op.code != OpCode::copy_load)
      if (module.type(op.operands[i]) != Type::scalar(Elem::i32)) return "slots and coordinates are i32";
  if (op.code == OpCode::copy_load)
    if (std::string what = check_index(module, op.operands[4], module.type(op.operands[3]).slots, "the barrier's slot");
        !what.empty())
      return what;
  return check_index(module, op.operands[2], buffer.slots, "slot");
}

}  // namespace

std::string check_sync(const Module& module, const Op& op) {
  const auto is_i32 = [&](size_t i) { return module.type(op.operands[i]) == Type::scalar(Elem::i32); };
  switch (op.code) {
    case OpCode::barrier: {
      const Type& t = module.type(op.results[0]);
      const int64_t count = op.attrs.integer("count");
      if (t.kind != TypeKind::barrier || t.slots < 1 || t.slots > 4096)
        return "has 1 to 4096 slots, not " + std::to_string(t.slots);
      if (count < 1 || count >= 1 << 20) return "count is 1 to 2^20 − 1, not " + std::to_string(count);
      return check_shared_offset(op, 8 * t.slots, 8);
    }
    case OpCode::wait:
    case OpCode::arrive:
    case OpCode::barrier_sync:
    case OpCode::expect:
      if (module.type(op.operands[0]).kind != TypeKind::barrier)
        return "works on a barrier, not on " + to_string(module.type(op.operands[0]));
      for (size_t i = 1; i < op.operands.size(); ++i)
        if (!is_i32(i)) return "slot and phase are i32";
      if (op.code == OpCode::arrive && op.attrs.text("per") != "instance" && op.attrs.text("per") != "warp")
        return "per is instance or warp";
      if (op.attrs.find("pending") && op.attrs.integer("pending", -1) < 0) return "pending is at least 0";
      if (op.code == OpCode::expect && (op.attrs.integer("bytes") < 1 || op.attrs.integer("bytes") >= 1 << 20))
        return "bytes are 1 to 2^20 − 1";
      return check_index(module, op.operands[1], module.type(op.operands[0]).slots, "slot");
    case OpCode::copy_load:
    case OpCode::copy_store:
    case OpCode::copy_lanes: return check_copy(module, op);
    case OpCode::copy_prefetch: return check_prefetch(module, op);
    case OpCode::fence: {
      const std::string_view scope = op.attrs.text("scope");
      return !op.attrs.find("scope") || scope == "gpu" || scope == "system" ? "" : "scope is gpu or system";
    }
    case OpCode::copy_wait:
    case OpCode::copy_drain: return op.attrs.integer("pending", -1) >= 0 ? "" : "pending is at least 0";
    default: return {};
  }
}

TLXJIT_NAMESPACE_END
