// src/ir/verify_cluster.cpp — every replica comes to a barrier of the cluster equally often.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <set>

#include "src/ir/verify_p.h"

TLXJIT_NAMESPACE_BEGIN

namespace {

/// Follows what differs between the replicas of a task: values and variables that come from `replica`, and variables
/// that are set where only some replicas come.
class Replicas {
 public:
  Replicas(const Op& task, const Report& report) : task_(task), report_(report) {}

  void run() {
    for (size_t before = 1; before != differs_.size();) {  // loops pass variables on
      before = differs_.size();
      block(task_.regions[0], false);
      if (differs_.empty()) return;
    }
    settled_ = true;
    block(task_.regions[0], false);
  }

 private:
  void block(const Block& block, bool some) {
    for (const auto& op : block.ops) this->op(*op, some);
  }

  /// `some`: only some replicas come here, or not equally often.
  void op(const Op& op, bool some) {
    bool differs = op.code == OpCode::replica;
    for (Value v : op.operands) differs |= differs_.count(v) > 0;
    if (differs) differs_.insert(op.results.begin(), op.results.end());
    switch (op.code) {
      case OpCode::set:
        if (some || differs) differs_.insert(op.operands[0]);
        return;
      case OpCode::cluster_sync:
        if (some && settled_)
          report_(op,
                  "it waits for every instance of the cluster, and a condition or trip count around it depends on "
                  "the replica, so that not every one of '" +
                      std::string(task_.attrs.text("name")) + "' comes to it; put it outside");
        return;
      case OpCode::while_: differs = differs_.count(op.regions[0].ops.back()->operands[0]) > 0; break;
      case OpCode::each: differs = op.attrs.integer("split", 0) == 1; break;
      case OpCode::if_:
      case OpCode::for_: break;
      default: differs = false;
    }
    for (const Block& region : op.regions) {
      if (differs) differs_.insert(region.args.begin(), region.args.end());
      block(region, some || differs);
    }
  }

  const Op& task_;
  const Report& report_;
  std::set<Value> differs_;
  bool settled_ = false;
};

}  // namespace

void verify_cluster(const Module& portable, const Report& report) {
  bool syncs = false;
  walk(portable.body, [&](const Op& op) { syncs |= op.code == OpCode::cluster_sync; });
  if (!syncs) return;
  for (const auto& task : portable.body.ops)
    if (task->code == OpCode::task && task->attrs.integer("replicas") > 1) Replicas(*task, report).run();
}

TLXJIT_NAMESPACE_END
