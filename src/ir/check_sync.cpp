// src/ir/check_sync.cpp — rules of barriers and copies.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "src/ir/check_p.h"
#include "src/ir/words_p.h"

TLXJIT_NAMESPACE_BEGIN

namespace {

/// Reductions of copies: sums of numbers, extremes of integers and 16-bit floats, bits of integers of 32 or 64 bits.
std::string check_copy_reduction(const Op& op, Elem elem) {
  const std::string_view text = op.attrs.text("reduce");
  const auto kind = from_word<CopyReduction>(text);
  if (!kind) return "reduce is " + all_words<CopyReduction>();
  const bool extreme = kind == CopyReduction::min || kind == CopyReduction::max, sum = kind == CopyReduction::add;
  const bool fits = is_wide_int(elem) || ((sum || extreme) && (elem == Elem::f16 || elem == Elem::bf16)) ||
                    (sum && elem == Elem::f32);
  return fits ? "" : "cannot reduce " + std::string(to_string(elem)) + " by " + std::string(text);
}

std::string check_prefetch(const Module& module, const Op& op) {
  const Type& tensor = module.type(op.operands[0]);
  if (tensor.kind != TypeKind::tensor) return "operand 0 is a tensor, not " + to_string(tensor);
  if (std::string what = check_box(op, tensor, nullptr, 0); !what.empty()) return what;
  return check_coordinates(module, op, 1);
}

std::string check_copy(const Module& module, const Op& op) {
  const Type& tensor = module.type(op.operands[0]);
  const Type& buffer = module.type(op.operands[1]);
  if (tensor.kind != TypeKind::tensor) return "operand 0 is a tensor, not " + to_string(tensor);
  if (buffer.kind != TypeKind::buffer) return "operand 1 is a buffer, not " + to_string(buffer);
  if (tensor.elem != buffer.elem)
    return to_string(tensor) + " and " + to_string(buffer) + " have one element type; a copy does not convert";
  if (std::string what = check_box(op, tensor, "buffer", buffer.shape.elements()); !what.empty()) return what;
  if (op.attrs.find("reduce"))
    if (std::string what = check_copy_reduction(op, tensor.elem); !what.empty()) return what;
  if (std::string what = check_index(module, op.operands[2], buffer.slots, "slot"); !what.empty()) return what;
  if (op.code != OpCode::copy_load) return check_coordinates(module, op, 3);
  const Type& barrier = module.type(op.operands[3]);
  if (barrier.kind != TypeKind::barrier) return "operand 3 is a barrier";
  if (std::string what = check_index(module, op.operands[4], barrier.slots, "the barrier's slot"); !what.empty())
    return what;
  return check_coordinates(module, op, 5);
}

}  // namespace

std::string check_sync(const Module& module, const Op& op) {
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
      if (op.code == OpCode::arrive && op.attrs.text("per") != "instance" && op.attrs.text("per") != "warp")
        return "per is instance or warp";
      if (op.attrs.find("pending") && op.attrs.integer("pending", -1) < 0) return "pending is at least 0";
      if (op.code == OpCode::expect && (op.attrs.integer("bytes") < 1 || op.attrs.integer("bytes") > INT32_MAX))
        return "bytes are 1 to 2^31 − 1";
      if (op.code == OpCode::wait)
        if (std::string what = check_index(module, op.operands[2], 2, "phase"); !what.empty()) return what;
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
