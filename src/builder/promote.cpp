// src/builder/promote.cpp — variables that need not be variables become plain values.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "src/builder/state_p.h"

TLXJIT_NAMESPACE_BEGIN

namespace {

/// Reads whose variable holds a known value take that value; what loops and branches assign is unknown after
/// them and, for loops, inside them.
class Forwarding {
 public:
  explicit Forwarding(Module& module)
      : replacement_(module.value_count(), no_value), held_(module.value_count(), no_value) {}

  void block(Block& block) {
    for (auto& op : block.ops) this->op(*op);
  }

 private:
  void op(Op& op) {
    for (Value& v : op.operands)
      if (replacement_[v] != no_value) v = replacement_[v];
    if (op.code == OpCode::var) hold(op.results[0], op.operands[0]);
    if (op.code == OpCode::set) hold(op.operands[0], op.operands[1]);
    if (op.code == OpCode::get) replacement_[op.results[0]] = held_[op.operands[0]];
    if (op.regions.empty()) return;

    std::set<Value> assigned;
    for (const Block& region : op.regions)
      walk(region, [&](const Op& inner) {
        if (inner.code == OpCode::set) assigned.insert(inner.operands[0]);
      });
    const bool repeats = op.code != OpCode::if_;
    if (repeats)
      for (Value v : assigned) hold(v, no_value);
    for (Block& region : op.regions) {
      const size_t before = former_.size();
      block(region);
      while (former_.size() > before) {
        held_[former_.back().first] = former_.back().second;
        former_.pop_back();
      }
    }
    for (Value v : assigned) hold(v, no_value);
  }

  void hold(Value variable, Value value) {
    former_.emplace_back(variable, held_[variable]);
    held_[variable] = value;
  }

  std::vector<Value> replacement_;
  std::vector<Value> held_;                      // variable → the value that it holds here, if known
  std::vector<std::pair<Value, Value>> former_;  // what `hold` has changed, to be put back after a region
};

/// Which ops a module needs: those that do more than give a value, what those use, and the assignments to variables
/// that needed ops read.
class Needed {
 public:
  explicit Needed(const Module& module) : module_(module), used_(module.value_count(), false) {
    walk(module.body, [&](const Op& op) {
      if (op.code == OpCode::set) sets_[op.operands[0]].push_back(&op);
    });
    block(module.body);
    while (!open_.empty()) {
      const Value v = open_.back();
      open_.pop_back();
      if (const Op* def = module_.def(v); def && may_go(*def)) need(*def);
      if (const auto found = sets_.find(v); found != sets_.end())
        for (const Op* set : found->second) need(*set);
    }
  }

  bool operator()(const Op& op) const {
    if (op.code == OpCode::set) return used_[op.operands[0]];
    return !may_go(op) || std::ranges::any_of(op.results, [&](Value v) { return used_[v]; });
  }

 private:
  static bool may_go(const Op& op) {
    return op.code == OpCode::set || op.code == OpCode::var ||
           (info(op.code).scope == Scope::pure && !op.results.empty());
  }
  void block(const Block& block) {
    for (const auto& op : block.ops)
      if (!may_go(*op)) need(*op);
  }
  void need(const Op& op) {
    for (Value v : op.operands)
      if (!used_[v]) {
        used_[v] = true;
        open_.push_back(v);
      }
    for (const Block& region : op.regions) block(region);
  }

  const Module& module_;
  std::map<Value, std::vector<const Op*>> sets_;  // by variable
  std::vector<bool> used_;
  std::vector<Value> open_;  // used, and what makes them not looked at
};

/// Removes the ops that are not needed, in all regions.
void sweep(Module& module, Block& block, const Needed& needed) {
  std::erase_if(block.ops, [&](const auto& op) {
    if (needed(*op)) {
      for (Block& region : op->regions) sweep(module, region, needed);
      return false;
    }
    forget(module, *op);
    return true;
  });
}

}  // namespace

void promote_variables(Module& module) {
  Forwarding(module).block(module.body);
  const Needed needed(module);
  sweep(module, module.body, needed);
}

TLXJIT_NAMESPACE_END
