// src/ir/check_launch.cpp — rules of flags, clusters and what a launch says once.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "src/ir/check_p.h"
#include "src/ir/words_p.h"

TLXJIT_NAMESPACE_BEGIN

namespace {

std::string check_flag(const Module& module, const Op& op) {
  const Type& tensor = module.type(op.operands[0]);
  const Op* def = module.def(op.operands[0]);
  if (tensor.kind != TypeKind::tensor) return "works on a tensor, not on " + to_string(tensor);
  if (!def || def->code != OpCode::tensor) return "works on a whole tensor, not on a view of one";
  const Elem e = tensor.elem;
  if (!is_wide_int(e)) return "flags are i32, u32, i64 or u64, not " + std::string(to_string(e));
  const auto indices = static_cast<size_t>(tensor.slots);
  if (op.operands.size() != indices + 2) return "takes one index per axis of " + to_string(tensor) + ", and a value";
  for (size_t i = 1; i <= indices; ++i)
    if (const Type& t = module.type(op.operands[i]); !is_i32(t))
      return "indices are i32, not " + to_string(t) + "; cast first";
  if (const Type& t = module.type(op.operands.back()); t != Type::scalar(e))
    return "the value is " + std::string(to_string(e)) + ", not " + to_string(t) + "; cast first";
  if (op.code != OpCode::flag_wait) return {};
  return from_word<Predicate>(op.attrs.text("pred")) ? "" : "pred is " + all_words<Predicate>();
}

std::string check_remote(const Module& module, const Op& op) {
  const bool store = op.code == OpCode::buffer_store_remote;
  const Value barrier = op.operands[store ? 4 : 0], slot = op.operands[store ? 5 : 1];
  if (module.type(barrier).kind != TypeKind::barrier)
    return "works on a barrier, not on " + to_string(module.type(barrier));
  if (!is_i32(module.type(op.operands[store ? 3 : 2]))) return "rank is i32";
  if (std::string what = check_index(module, slot, module.type(barrier).slots, "the barrier's slot"); !what.empty())
    return what;
  if (!store) {
    if (op.attrs.text("per") != "instance" && op.attrs.text("per") != "warp") return "per is instance or warp";
    return op.attrs.find("pending") && op.attrs.integer("pending", -1) < 0 ? "pending is at least 0" : "";
  }
  const Type& buffer = module.type(op.operands[0]);
  if (buffer.kind != TypeKind::buffer) return "works on a buffer, not on " + to_string(buffer);
  const Type& tile = module.type(op.operands[2]);
  if (tile != Type::tile(buffer.shape, buffer.elem)) return "writes " + to_string(tile) + " to " + to_string(buffer);
  return check_index(module, op.operands[1], buffer.slots, "slot");
}

}  // namespace

std::string check_launch(const Module& module, const Op& op) {
  switch (op.code) {
    case OpCode::cluster: {
      const int64_t size = op.attrs.integer("size");
      return size >= 1 && size <= 16 ? "" : "has 1 to 16 programs, not " + std::to_string(size);
    }
    case OpCode::math: {
      const std::string_view mode = op.attrs.text("mode");
      return mode == "fast" || mode == "precise" ? "" : "mode is fast or precise, not " + std::string(mode);
    }
    case OpCode::cluster_rank: return is_i32(module.type(op.results[0])) ? "" : "gives i32";
    case OpCode::flag_wait:
    case OpCode::flag_set:
    case OpCode::flag_add: return check_flag(module, op);
    case OpCode::arrive_remote:
    case OpCode::buffer_store_remote: return check_remote(module, op);
    default: return {};
  }
}

TLXJIT_NAMESPACE_END
