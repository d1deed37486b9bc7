// backends/cpu/executor.cpp — runs the programs of a launch: each on one thread, its instances as fibers.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/cpu/executor_p.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <new>
#include <string>

#include "backends/cpu/failures_p.h"
#include "backends/cpu/float_mode_p.h"
#include "backends/cpu/residents_p.h"

TLXJIT_NAMESPACE_BEGIN
namespace cpu {
namespace {

/// Each thread takes the next cluster that has not begun and runs it to its end.
class Batches final : public Job {
 public:
  Batches(tlxjit_cpu_kernel& kernel, tlxjit_cpu_kernel::Shared& shared, const tlxjit_cpu_launch& launch,
          Failures& failures)
      : kernel_(kernel), shared_(shared), launch_(launch), failures_(failures) {}

  void run() noexcept override {
    std::unique_ptr<Lane> lane;
    try {
      while (!failures_.any()) {
        const int64_t first = next_.fetch_add(kernel_.program.cluster, std::memory_order_relaxed);
        if (first >= launch_.grid) break;
        if (!lane) lane = kernel_.take_lane(shared_);
        lane->begin(launch_, failures_.joined(), static_cast<int32_t>(first));
        bool moved = false;
        switch (lane->advance(moved)) {
          case Lane::State::done: break;
          case Lane::State::blocked: failures_.deadlock(*lane); break;
          case Lane::State::stopped: failures_.stopped(*lane); break;
          case Lane::State::uneven: failures_.uneven(*lane); break;
        }
      }
      if (lane) kernel_.give_lane(shared_, std::move(lane));
    } catch (const std::bad_alloc&) {
      failures_.memory();
    }
  }

 private:
  tlxjit_cpu_kernel& kernel_;
  tlxjit_cpu_kernel::Shared& shared_;
  const tlxjit_cpu_launch& launch_;
  Failures& failures_;
  std::atomic<int64_t> next_ = 0;
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
  const FloatMode mode;
  const Program& program = kernel.program;
  const int clusters = launch.grid / program.cluster;
  const size_t most = most_fibers / program.instances();
  if (program.resident && static_cast<size_t>(clusters) > most) {
    const std::string text = std::to_string(launch.grid) + " resident programs of " +
                             std::to_string(program.instances() / static_cast<size_t>(program.cluster)) +
                             " instances are more than the " + std::to_string(most_fibers) +
                             " instances that are live at once";
    return fail(failure, TLXJIT_CPU_TOO_MANY, text.c_str());
  }
  tlxjit_cpu_kernel::Shared& shared = kernel.shared.get();
  int threads = std::min(launch.threads, clusters);
  if (tsan) threads = std::min(threads, std::max(static_cast<int>(most), 1));
  // Now, so that which launches allocate does not hang on which threads come to take part.
  kernel.reserve(shared, static_cast<size_t>(program.resident ? clusters : threads));
  Failures failures(failure);
  if (program.resident) {
    Residents job(kernel, shared, launch, failures);
    shared.pool->run(job, threads);
  } else {
    Batches job(kernel, shared, launch, failures);
    shared.pool->run(job, threads);
  }
  acquired(failures.joined());
  if (!failures.any()) return TLXJIT_CPU_OK;
  if (launch.workspace) std::memset(launch.workspace, 0, sizeof(int32_t) * static_cast<size_t>(program.words));
  return failure.status;
}

}  // namespace cpu
TLXJIT_NAMESPACE_END
