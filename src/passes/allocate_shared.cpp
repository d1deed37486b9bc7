// src/passes/allocate_shared.cpp — offsets in shared memory; the register budget.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "src/passes/allocate_shared_p.h"

#include <algorithm>

TLXJIT_NAMESPACE_BEGIN

namespace {

int64_t round_up(int64_t n, int64_t to) { return (n + to - 1) / to * to; }

bool has_dots(const Op& task) {
  bool found = false;
  walk(task.regions[0], [&](const Op& op) { found |= op.code == OpCode::dot; });
  return found;
}

}  // namespace

Result<void> allocate_shared(Module& module, const Target& target) {
  // Swizzled buffers first: they want the coarsest alignment, so nothing is lost between them.
  int64_t offset = 0;
  const Op* largest = nullptr;
  int64_t largest_bytes = 0;
  for (const bool swizzled : {true, false})
    for (auto& op : module.body.ops) {
      if (op->code != OpCode::buffer || (op->attrs.integer("swizzle") != 0) != swizzled) continue;
      const Type& type = module.type(op->results[0]);
      const int64_t slot = round_up(type.shape.elements() * bytes(type.elem), swizzled ? 1024 : 16);
      if (swizzled && slot != type.shape.elements() * bytes(type.elem))
        return lower_error(
            module, *op, "a slot of " + to_string(type) + " is no multiple of 1024 bytes; use rows in multiples of 8");
      offset = round_up(offset, swizzled ? 1024 : 16);
      op->attrs.set("offset", offset);
      offset += slot * type.slots;
      if (slot * type.slots > largest_bytes) largest = op.get(), largest_bytes = slot * type.slots;
    }
  offset = round_up(offset, 8);
  for (auto& op : module.body.ops)
    if (op->code == OpCode::barrier) {
      op->attrs.set("offset", offset);
      offset += 8 * module.type(op->results[0]).slots;
    }
  if (offset > target.shared_limit && largest)
    return lower_error(module, *largest,
                       "the kernel needs " + std::to_string(offset) + " bytes of shared memory, " + target.name +
                           " has " + std::to_string(target.shared_limit) + "; the largest part (" +
                           std::to_string(largest_bytes) + " bytes) is made here: use fewer stages or smaller tiles",
                       ErrorCode::out_of_resources);
  module.attrs.set("shared_bytes", offset);

  // Warp groups: an instance with dots, or of four or more warps, starts one; smaller instances share.
  int64_t warps = 0, registers = 0, group_registers = 0;
  for (const auto& op : module.body.ops) {
    if (op->code != OpCode::task) continue;
    const int64_t width = op->attrs.integer("warps"), replicas = op->attrs.integer("replicas");
    const bool whole = width >= 4 || has_dots(*op);
    if (target.async_dots && has_dots(*op) && width != 4)
      return lower_error(module, *op,
                         "a task with dots has 4 warps on " + target.name + ", not " + std::to_string(width));
    for (int64_t i = 0; i < replicas; ++i) {
      if (whole || warps % 4 == 0 || warps % 4 + width > 4) {
        warps = round_up(warps, 4);
        registers += group_registers;
        group_registers = 0;
      }
      warps += whole ? round_up(width, 4) : width;
      group_registers =
          std::max(group_registers, op->attrs.integer("registers") * 128 * (whole ? round_up(width, 4) / 4 : 1));
    }
  }
  registers += group_registers;
  const int64_t threads = round_up(warps, 4) * 32;
  if (target.register_budget) {
    if (threads > 1024)
      return lower_error(module, *module.body.ops.back(),
                         "the tasks have " + std::to_string(threads) + " threads, a program at most 1024",
                         ErrorCode::out_of_resources);
    if (registers > target.register_budget)
      return lower_error(module, *module.body.ops.back(),
                         "the tasks ask for " + std::to_string(registers) + " registers, " + target.name + " has " +
                             std::to_string(target.register_budget) + "; lower registers()",
                         ErrorCode::out_of_resources);
  }
  module.attrs.set("threads", threads);
  return {};
}

TLXJIT_NAMESPACE_END
