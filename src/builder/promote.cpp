// src/builder/promote.cpp — variables that need not be variables become plain values.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <algorithm>
#include <map>
#include <set>

#include "src/builder/state_p.h"

TLXJIT_NAMESPACE_BEGIN

namespace {

using Known = std::map<Value, Value>;  // variable → the value it holds here

/// Reads whose variable holds a known value take that value; what loops and branches assign is unknown after
/// them and, for loops, inside them.
class Forwarding {
 public:
  explicit Forwarding(Module& module) : replacement_(module.value_count(), no_value) {}

  void block(Block& block, Known& known) {
    for (auto& op : block.ops) this->op(*op, known);
  }

 private:
  void op(Op& op, Known& known) {
    for (Value& v : op.operands)
      if (replacement_[v] != no_value) v = replacement_[v];
    if (op.code == OpCode::var) known[op.results[0]] = op.operands[0];
    if (op.code == OpCode::set) known[op.operands[0]] = op.operands[1];
    if (op.code == OpCode::get)
      if (auto found = known.find(op.operands[0]); found != known.end()) replacement_[op.results[0]] = found->second;
    if (op.regions.empty()) return;

    std::set<Value> assigned;
    for (const Block& region : op.regions)
      walk(region, [&](const Op& inner) {
        if (inner.code == OpCode::set) assigned.insert(inner.operands[0]);
      });
    const bool repeats = op.code != OpCode::if_;
    if (repeats)
      for (Value v : assigned) known.erase(v);
    for (Block& region : op.regions) {
      Known inside = known;
      block(region, inside);
    }
    for (Value v : assigned) known.erase(v);
  }

  std::vector<Value> replacement_;
};

/// Removes the ops for which `dead` holds, in all regions.
void erase_if(Block& block, const std::function<bool(const Op&)>& dead) {
  for (auto& op : block.ops)
    for (Block& region : op->regions) erase_if(region, dead);
  std::erase_if(block.ops, [&](const auto& op) { return dead(*op); });
}

}  // namespace

void promote_variables(Module& module) {
  Known known;
  Forwarding(module).block(module.body, known);

  // An assignment to a variable that no one reads is no use of anything. Removing an op may leave its
  // operands unused, so repeat until nothing changes.
  bool changed = true;
  while (changed) {
    changed = false;
    std::vector<bool> read(module.value_count(), false), used(module.value_count(), false);
    walk(module.body, [&](Op& op) {
      if (op.code == OpCode::get) read[op.operands[0]] = true;
    });
    walk(module.body, [&](Op& op) {
      if (op.code == OpCode::set && !read[op.operands[0]]) return;
      for (Value v : op.operands) used[v] = true;
    });
    erase_if(module.body, [&](const Op& op) {
      const bool idle_set = op.code == OpCode::set && !read[op.operands[0]];
      const bool removable = info(op.code).scope == Scope::pure || op.code == OpCode::var;
      const bool idle =
          removable && !op.results.empty() && std::ranges::none_of(op.results, [&](Value v) { return used[v]; });
      if (!idle_set && !idle) return false;
      forget(module, op);
      return changed = true;
    });
  }
}

TLXJIT_NAMESPACE_END
