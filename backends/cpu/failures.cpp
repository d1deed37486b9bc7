// backends/cpu/failures.cpp — how a launch failed, told by its threads.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/cpu/failures_p.h"

#include <cstdio>
#include <iterator>

#include "backends/cpu/executor_p.h"

TLXJIT_NAMESPACE_BEGIN
namespace cpu {

TLXJIT_UNSEEN_BY_TSAN void Failures::deadlock(const Lane& lane) {
  std::lock_guard lock(mutex_);
  if (failed_ && failure_.status != TLXJIT_CPU_DEADLOCK) return;
  if (!failed_) fail(failure_, TLXJIT_CPU_DEADLOCK, "every task that is left waits");
  failed_ = true;
  for (const Context& context : lane.contexts) {
    if (context.done) continue;
    const uint32_t n = failure_.blocked_count++;
    if (n >= std::size(failure_.blocked)) continue;
    const Waiting& w = context.waiting;
    tlxjit_cpu_blocked& blocked = failure_.blocked[n];
    blocked = {};
    blocked.program = context.program;
    blocked.task_op = context.task_op;
    blocked.replica = context.replica;
    blocked.wait_op = w.wait_op;
    blocked.object_op = w.object_op;
    if (w.barrier) {
      blocked.slot = w.slot;
      blocked.phase = w.parity;
      blocked.arrivals = w.barrier->missing;
      blocked.bytes = w.barrier->bytes;
    } else {
      blocked.element = w.element;
      blocked.value = w.value;
      blocked.present = w.test.load(w.flag);
    }
  }
}

TLXJIT_UNSEEN_BY_TSAN void Failures::stopped(const Lane& lane) {
  const Context* at = nullptr;
  for (const Context& context : lane.contexts)
    if (context.stopped.status != TLXJIT_CPU_OK) at = &context;
  std::lock_guard lock(mutex_);
  if (failed_) return;
  failed_ = true;
  const Stopped& why = at->stopped;
  char text[96] = "";
  if (why.status == TLXJIT_CPU_OUTSIDE)
    std::snprintf(text, sizeof text, "index %lld is outside the %lld that there are", static_cast<long long>(why.index),
                  static_cast<long long>(why.count));
  if (why.status == TLXJIT_CPU_STEP)
    std::snprintf(text, sizeof text, "the step is %lld in this call; it is at least 1",
                  static_cast<long long>(why.index));
  fail(failure_, why.status, text, why.op);
  failure_.at = {at->program, at->task_op, at->replica, why.index};
}

TLXJIT_UNSEEN_BY_TSAN void Failures::uneven(const Lane& lane) {
  const Lane::Uneven found = lane.uneven();
  std::lock_guard lock(mutex_);
  if (failed_) return;
  failed_ = true;
  const bool whole = found.undrained > 0;
  const uint32_t n = whole ? found.undrained : found.partial;
  char text[96];
  std::snprintf(text, sizeof text, "%u %s%s not %s", n, whole ? "fill" : "slot", n == 1 ? " was" : "s were",
                whole ? "drained" : "filled or drained by all that should");
  fail(failure_, TLXJIT_CPU_UNEVEN, text, found.ring->op);
  failure_.at = {found.program, UINT32_MAX, 0, -1};
}

void Failures::memory() {
  std::lock_guard lock(mutex_);
  if (failed_) return;
  failed_ = true;
  fail(failure_, TLXJIT_CPU_MEMORY, "no memory for a program's shared memory, tiles or stacks");
}

}  // namespace cpu
TLXJIT_NAMESPACE_END
