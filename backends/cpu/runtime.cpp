// backends/cpu/runtime.cpp — what compiled code calls when it waits, arrives or goes outside.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/cpu/context_p.h"
#include "src/ir/words_p.h"

TLXJIT_NAMESPACE_BEGIN
namespace cpu {

namespace {

TLXJIT_UNSEEN_BY_TSAN void stand(Context& context, const Waiting& waiting) {
  context.waiting = waiting;
  released(context.launch);
  context.fiber.stand();
}

[[noreturn]] TLXJIT_UNSEEN_BY_TSAN void stop(Context& context, const Stopped& stopped) {
  context.stopped = stopped;
  released(context.launch);
  context.fiber.end();
}

}  // namespace

TLXJIT_UNSEEN_BY_TSAN int64_t FlagTest::load(const void* flag) const {
  if (bits & wide) return __atomic_load_n(static_cast<const int64_t*>(flag), __ATOMIC_ACQUIRE);
  const int32_t x = __atomic_load_n(static_cast<const int32_t*>(flag), __ATOMIC_ACQUIRE);
  return bits & is_signed ? int64_t{x} : int64_t{static_cast<uint32_t>(x)};
}

bool FlagTest::holds(int64_t present, int64_t value) const {
  const auto how = static_cast<Predicate>(bits & predicate);
  return bits & is_signed ? tlxjit::holds(how, present, value)
                          : tlxjit::holds(how, static_cast<uint64_t>(present), static_cast<uint64_t>(value));
}

extern "C" {

TLXJIT_UNSEEN_BY_TSAN void tlxjit_cpu_wait(Context* context, const Barrier* barrier, int32_t parity, int32_t slot,
                                           uint32_t wait_op, uint32_t barrier_op) {
  if (barrier->phase == parity) {
    Waiting waiting;
    waiting.barrier = barrier;
    waiting.parity = parity;
    waiting.slot = slot;
    waiting.wait_op = wait_op;
    waiting.object_op = barrier_op;
    stand(*context, waiting);
  }
  acquired(barrier);
}

/// Compiled code comes here where its own look at the flag found the test not to hold, and looks again after it.
TLXJIT_UNSEEN_BY_TSAN void tlxjit_cpu_flag_wait(Context* context, const void* flag, int64_t element, int64_t value,
                                                uint32_t test, uint32_t wait_op, uint32_t tensor_op) {
  Waiting waiting;
  waiting.flag = flag;
  waiting.test.bits = test;
  waiting.element = element;
  waiting.value = value;
  waiting.wait_op = wait_op;
  waiting.object_op = tensor_op;
  stand(*context, waiting);
}

TLXJIT_UNSEEN_BY_TSAN void tlxjit_cpu_meet(Context* context, Barrier* barrier, int32_t slot, uint32_t op,
                                           uint32_t barrier_op) {
  const int32_t phase = barrier->phase;  // the next one cannot end before this instance is back
  tlxjit_cpu_settle(barrier, 1, 0);
  tlxjit_cpu_wait(context, barrier, phase, slot, op, barrier_op);
}

TLXJIT_UNSEEN_BY_TSAN void tlxjit_cpu_cluster_sync(Context* context, uint32_t op) {
  tlxjit_cpu_meet(context, context->together, 0, op, UINT32_MAX);
}

TLXJIT_UNSEEN_BY_TSAN void tlxjit_cpu_settle(Barrier* barrier, int32_t arrivals, int64_t bytes) {
  released(barrier);
  barrier->settle(arrivals, bytes);
}

TLXJIT_UNSEEN_BY_TSAN void tlxjit_cpu_outside(Context* context, int64_t index, int64_t count, uint32_t op) {
  stop(*context, {TLXJIT_CPU_OUTSIDE, index, count, op});
}

TLXJIT_UNSEEN_BY_TSAN void tlxjit_cpu_step(Context* context, int64_t step, uint32_t op) {
  stop(*context, {TLXJIT_CPU_STEP, step, 0, op});
}

TLXJIT_UNSEEN_BY_TSAN void tlxjit_cpu_assert(Context* context, int64_t element, uint32_t op) {
  stop(*context, {TLXJIT_CPU_ASSERT, element, 0, op});
}

// Printed by the scheduler: what the embedder does with a line may want more stack than a fiber has.
TLXJIT_UNSEEN_BY_TSAN void tlxjit_cpu_print(Context* context, const void* const* values, uint32_t op) {
  context->printing = {values, op};
  released(&context->printing);
  context->fiber.stand();
  acquired(&context->printing);
}
}

}  // namespace cpu
TLXJIT_NAMESPACE_END
