// backends/cpu/failures_p.h — how a launch failed, told by its threads.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <atomic>
#include <mutex>

#include "backends/cpu/lane_p.h"

TLXJIT_NAMESPACE_BEGIN
namespace cpu {

/// The first kind of failure counts; deadlocks of several programs are listed together. Thread safe.
class Failures {
 public:
  explicit Failures(tlxjit_cpu_failure& failure) : failure_(failure) {}
  bool any() const { return failed_.load(std::memory_order_relaxed); }

  /// Lists the fibers of the lane that wait.
  void deadlock(const Lane& lane);
  /// A fiber of the lane ended early.
  void stopped(const Lane& lane);
  /// A program of the lane ended with a ring that was not filled and drained equally often.
  void uneven(const Lane& lane);
  void memory();

 private:
  std::mutex mutex_;
  std::atomic<bool> failed_ = false;
  tlxjit_cpu_failure& failure_;
};

}  // namespace cpu
TLXJIT_NAMESPACE_END
