// backends/cpu/executor.cpp — runs the programs of a launch: each on one thread, its instances as fibers.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/cpu/executor_p.h"

#include <atomic>
#include <cstdio>
#include <cstring>
#include <new>

TLXJIT_NAMESPACE_BEGIN
namespace cpu {
namespace {

class Launch final : public Job {
 public:
  Launch(tlxjit_cpu_kernel& kernel, tlxjit_cpu_kernel::Shared& shared, const tlxjit_cpu_launch& launch,
         tlxjit_cpu_failure& failure)
      : kernel_(kernel), shared_(shared), launch_(launch), failure_(failure) {}

  void run() noexcept override {
    std::unique_ptr<Lane> lane;
    try {
      for (;;) {
        if (failed_.load(std::memory_order_relaxed)) break;
        const int32_t program = next_.fetch_add(1, std::memory_order_relaxed);
        if (program >= launch_.grid || program < 0) break;
        if (!lane) {
          lane = kernel_.take_lane(shared_);
          bind(*lane);
        }
        run_program(*lane, program);
      }
      if (lane) kernel_.give_lane(shared_, std::move(lane));
    } catch (const std::bad_alloc&) {
      std::lock_guard lock(mutex_);
      failed_ = true;
      fail(failure_, TLXJIT_CPU_MEMORY, "no memory for a program's shared memory, tiles or stacks");
    }
  }

  bool failed() const { return failed_; }

 private:
  void bind(Lane& lane) {
    for (Context& context : lane.contexts) {
      context.dims = launch_.dims;
      context.tensors = launch_.tensors;
      context.scalars = launch_.scalars;
      context.workspace = launch_.workspace;
      context.programs = launch_.grid;
    }
  }

  void run_program(Lane& lane, int32_t program) {
#ifndef NDEBUG
    // What a program before this one left in shared memory must not help it: all ones are NaN.
    if (lane.shared.bytes() != 0) std::memset(lane.shared.data(), 0xff, lane.shared.bytes());
#endif
    const std::vector<int32_t>& counts = kernel_.program.barrier_counts;
    for (size_t i = 0; i < counts.size(); ++i) lane.barriers[i] = {counts[i], counts[i], 0, 0, 0};
    for (Context& context : lane.contexts) {
      context.program = program;
      start(context);
    }
    size_t left = lane.contexts.size();
    while (left > 0) {
      bool went_on = false;
      for (Context& context : lane.contexts) {
        if (context.done) continue;
        Waiting& waiting = context.waiting;
        if (waiting.barrier) {
          if (waiting.barrier->phase == waiting.parity) continue;
          waiting.barrier = nullptr;
        }
        resume(context);
        if (context.outside.set) return outside(context);
        went_on = true;
        left -= context.done;
      }
      if (!went_on) return deadlock(lane, program);
    }
  }

  void outside(const Context& context) {
    std::lock_guard lock(mutex_);
    if (failed_) return;
    failed_ = true;
    char text[96];
    std::snprintf(text, sizeof text, "index %lld is outside the %lld that there are",
                  static_cast<long long>(context.outside.index), static_cast<long long>(context.outside.count));
    fail(failure_, TLXJIT_CPU_OUTSIDE, text, context.outside.op);
  }

  void deadlock(const Lane& lane, int32_t program) {
    std::lock_guard lock(mutex_);
    if (failed_ && failure_.status != TLXJIT_CPU_DEADLOCK) return;
    if (!failed_) fail(failure_, TLXJIT_CPU_DEADLOCK, "every task of a program waits");
    failed_ = true;
    for (const Context& context : lane.contexts) {
      if (context.done) continue;
      const uint32_t n = failure_.blocked_count++;
      if (n >= std::size(failure_.blocked)) continue;
      const Waiting& w = context.waiting;
      failure_.blocked[n] = {program, context.task_op, context.replica,    w.wait_op,       w.barrier_op,
                             w.slot,  w.parity,        w.barrier->missing, w.barrier->bytes};
    }
  }

  tlxjit_cpu_kernel& kernel_;
  tlxjit_cpu_kernel::Shared& shared_;
  const tlxjit_cpu_launch& launch_;
  tlxjit_cpu_failure& failure_;
  std::atomic<int32_t> next_ = 0;
  std::atomic<bool> failed_ = false;
  std::mutex mutex_;
};

}  // namespace

tlxjit_cpu_status fail(tlxjit_cpu_failure& failure, tlxjit_cpu_status status, const char* message, uint32_t op) {
  failure.status = status;
  failure.op = op;
  std::strncpy(failure.message, message, sizeof failure.message - 1);
  failure.message[sizeof failure.message - 1] = '\0';
  return status;
}

tlxjit_cpu_status launch(tlxjit_cpu_kernel& kernel, const tlxjit_cpu_launch& launch, tlxjit_cpu_failure& failure) {
  failure.status = TLXJIT_CPU_OK;
  failure.op = UINT32_MAX;
  failure.message[0] = '\0';
  failure.blocked_count = 0;
  if (launch.grid <= 0) return TLXJIT_CPU_OK;
  tlxjit_cpu_kernel::Shared& shared = kernel.shared.get();
  const int threads = launch.threads < launch.grid ? launch.threads : launch.grid;
  // Now, so that which launches allocate does not hang on which threads come to take part.
  kernel.reserve(shared, static_cast<size_t>(threads));
  Launch job(kernel, shared, launch, failure);
  shared.pool->run(job, threads);
  if (!job.failed()) return TLXJIT_CPU_OK;
  if (launch.workspace) std::memset(launch.workspace, 0, sizeof(int32_t) * static_cast<size_t>(kernel.program.words));
  return failure.status;
}

}  // namespace cpu
TLXJIT_NAMESPACE_END
