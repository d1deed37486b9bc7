// src/codegen/aliases.cpp — which reads of variables and sums may share the storage's registers.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "src/codegen/aliases_p.h"

#include <algorithm>

TLXJIT_NAMESPACE_BEGIN

Aliases::Aliases(const Module& module) : users_(module.value_count()) { survey(module.body, nullptr); }

void Aliases::survey(const Block& block, const Op* around) {
  for (size_t i = 0; i < block.ops.size(); ++i) {
    const Op& op = *block.ops[i];
    places_[&op] = {&block, i, around};
    for (Value v : op.operands) users_[v].push_back(&op);
    if (op.code == OpCode::set || op.code == OpCode::acc_write || op.code == OpCode::dot)
      for (const Op* at = &op; at;) {
        const Place& place = places_.at(at);
        std::vector<size_t>& writes = writes_[place.block][op.operand(0)];
        if (writes.empty() || writes.back() != place.index) writes.push_back(place.index);
        at = place.around;
      }
    for (const Block& region : op.regions) survey(region, &op);
  }
}

/// Which of the block's ops the op is, or has it in a region.
size_t Aliases::index_in(const Block& block, const Op* op) const {
  const Place* place = &places_.at(op);
  while (place->block != &block) place = &places_.at(place->around);
  return place->index;
}

bool Aliases::safe(const Block& block, size_t index) const {
  const Op& read = *block.ops[index];
  if (block.ops.back()->code == OpCode::yield) return false;  // a later region may use it
  const auto in_block = writes_.find(&block);
  if (in_block == writes_.end()) return true;
  const auto found = in_block->second.find(read.operand(0));
  if (found == in_block->second.end()) return true;
  const auto next = std::ranges::upper_bound(found->second, index);
  if (next == found->second.end()) return true;
  // An op reads before it writes, its regions may do both in any order.
  const size_t last = *next - (block.ops[*next]->regions.empty() ? 0 : 1);
  std::vector<Value> names = {read.result()};
  for (size_t i = 0; i < names.size(); ++i)
    for (const Op* user : users_[names[i]]) {
      if (index_in(block, user) > last) return false;
      if (user->code == OpCode::broadcast) names.push_back(user->result());  // shares its operand's registers
    }
  return true;
}

TLXJIT_NAMESPACE_END
