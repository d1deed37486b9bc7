// src/ir/verify_schedule.cpp — who may iterate the tiles of a counter.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <algorithm>

#include "src/ir/schedule_use_p.h"
#include "src/ir/verify_p.h"

TLXJIT_NAMESPACE_BEGIN

ScheduleUse use_of_schedule(const Module& portable) {
  ScheduleUse use;
  bool scheduler_fills = false;
  for (const auto& task : portable.body.ops) {
    if (task->code != OpCode::task) continue;
    bool iterates = false, fills = false;
    walk(task->regions[0], [&](const Op& op) {
      iterates |= op.code == OpCode::each;
      fills |= op.code == OpCode::acquire;
    });
    if (!iterates) continue;
    use.readers.push_back(task.get());
    if (!use.scheduler || (fills && !scheduler_fills)) use.scheduler = task.get();
    scheduler_fills |= fills;
  }
  return use;
}

void verify_schedule(const Module& portable, const Report& report) {
  const auto& ops = portable.body.ops;
  const bool counts = std::ranges::any_of(
      ops, [](const auto& op) { return op->code == OpCode::schedule && op->attrs.text("kind") == "dynamic"; });
  if (!counts) return;
  const ScheduleUse use = use_of_schedule(portable);
  if (use.scheduler)
    if (const int64_t replicas = use.scheduler->attrs.integer("replicas"); replicas != 1)
      report(*use.scheduler,
             "takes the tiles from the counter, as the first task that fills a ring or, without one, the first of all, "
             "so it has 1 replica, not " +
                 std::to_string(replicas));
  for (const Op* task : use.readers) {
    std::vector<const Op*> loops;
    walk(task->regions[0], [&](const Op& op) {
      if (op.code == OpCode::each) loops.push_back(&op);
    });
    // The counter is taken up once, and the hidden ring's cursors live as long as the loop.
    if (loops.size() > 1) report(*loops[1], "tiles of a counter are iterated once in a task");
    if (std::ranges::none_of(task->regions[0].ops, [&](const auto& op) { return op.get() == loops[0]; }))
      report(*loops[0], "tiles of a counter are iterated directly in the task, not in a loop or branch");
  }
}

TLXJIT_NAMESPACE_END
