// src/builder/promote.cpp — variables that are never assigned become plain values.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <numeric>

#include "src/builder/state_p.h"

TLXJIT_NAMESPACE_BEGIN

namespace {

void erase_if(Block& block, const std::function<bool(const Op&)>& dead) {
  for (auto& op : block.ops)
    for (Block& region : op->regions) erase_if(region, dead);
  std::erase_if(block.ops, [&](const auto& op) { return dead(*op); });
}

}  // namespace

void promote_variables(Module& module) {
  std::vector<bool> assigned(module.value_count(), false);
  walk(module.body, [&](Op& op) {
    if (op.code == OpCode::set) assigned[op.operands[0]] = true;
  });

  // In program order a value's replacement is known before its uses.
  std::vector<Value> replacement(module.value_count());
  std::iota(replacement.begin(), replacement.end(), Value{0});
  walk(module.body, [&](Op& op) {
    for (Value& v : op.operands) v = replacement[v];
    if (op.code == OpCode::var && !assigned[op.results[0]]) replacement[op.results[0]] = op.operands[0];
    // `get` of a promoted variable: its operand is the plain value by now
    if (op.code == OpCode::get && !module.type(op.operands[0]).variable) replacement[op.results[0]] = op.operands[0];
  });

  // Uses are counted once; removing an op frees its operands, so repeat from the end until nothing changes.
  bool changed = true;
  while (changed) {
    changed = false;
    std::vector<bool> used(module.value_count(), false);
    walk(module.body, [&](Op& op) {
      for (Value v : op.operands) used[v] = true;
    });
    erase_if(module.body, [&](const Op& op) {
      const bool removable = info(op.code).scope == Scope::pure || op.code == OpCode::var;
      if (!removable || op.results.empty() || used[op.results[0]]) return false;
      module.set_def(op.results[0], nullptr);
      return changed = true;
    });
  }
}

TLXJIT_NAMESPACE_END
