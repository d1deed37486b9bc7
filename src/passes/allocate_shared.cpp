// src/passes/allocate_shared.cpp — offsets in shared memory.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "src/passes/allocate_shared_p.h"

#include <algorithm>
#include <set>

TLXJIT_NAMESPACE_BEGIN

namespace {

int64_t round_up(int64_t n, int64_t to) { return (n + to - 1) / to * to; }

/// Rows that fill the widest pattern are swizzled where copies and dots want it.
int64_t choose_swizzle(const Type& type, const Target& target) {
  const int64_t row = type.shape[type.shape.rank - 1] * bytes(type.elem);
  return target.tensor_maps && type.shape.rank == 2 && row % 128 == 0 && type.shape[0] % 8 == 0 ? 128 : 0;
}

/// The buffer that owns the storage.
const Op& owner_of(const Module& module, const Op& buffer) {
  const Op* op = &buffer;
  while (!op->operands.empty()) op = module.def(op->operands[0]);
  return *op;
}

}  // namespace

Result<void> allocate_shared(Module& module, const Target& target) {
  std::set<const Op*> coarse;  // owners of storage in which something is swizzled
  for (auto& op : module.body.ops) {
    if (op->code != OpCode::buffer) continue;
    if (!op->attrs.find("swizzle")) op->attrs.set("swizzle", choose_swizzle(module.type(op->result()), target));
    if (op->attrs.integer("swizzle")) coarse.insert(&owner_of(module, *op));
  }
  std::set<const Op*> copied;  // owners of storage that tensor maps reach: on multiples of 128 bytes
  if (target.tensor_maps)
    walk(module.body, [&](const Op& op) {
      if (op.code == OpCode::copy_load || op.code == OpCode::copy_store)
        copied.insert(&owner_of(module, *module.def(op.operands[1])));
    });
  // Swizzled buffers first: they want the coarsest alignment, so nothing is lost between them.
  int64_t offset = 0;
  const Op* largest = nullptr;
  int64_t largest_bytes = 0;
  for (const bool swizzled : {true, false})
    for (auto& op : module.body.ops) {
      if (op->code != OpCode::buffer || !op->operands.empty() || (coarse.count(op.get()) != 0) != swizzled) continue;
      const Type& type = module.type(op->results[0]);
      const int64_t slot = round_up(type.shape.elements() * bytes(type.elem), swizzled ? 1024 : 16);
      offset = round_up(offset, swizzled ? 1024 : copied.count(op.get()) ? 128 : 16);
      op->attrs.set("offset", offset);
      offset += slot * type.slots;
      if (slot * type.slots > largest_bytes) largest = op.get(), largest_bytes = slot * type.slots;
    }
  for (auto& op : module.body.ops) {
    if (op->code != OpCode::buffer || op->operands.empty()) continue;
    const int64_t at = module.def(op->operands[0])->attrs.integer("offset") + op->attrs.integer("at", 0);
    if (op->attrs.integer("swizzle") && at % 1024)
      return lower_error(module, *op,
                         "a swizzled buffer begins on a multiple of 1024 bytes, not on byte " +
                             std::to_string(op->attrs.integer("at", 0)) + " of what it shares");
    op->attrs.set("offset", at);
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
