// src/passes/allocate_shared.cpp — offsets in shared memory.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "src/passes/allocate_shared_p.h"

#include <algorithm>

TLXJIT_NAMESPACE_BEGIN

namespace {

int64_t round_up(int64_t n, int64_t to) { return (n + to - 1) / to * to; }

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

  return {};
}

TLXJIT_NAMESPACE_END
