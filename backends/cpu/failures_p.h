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
  /// What all fibers of the launch release and its end acquires. Not the object itself: a mutex lies there, and the
  /// unlock of one makes ThreadSanitizer forget what others released at its address meanwhile.
  const void* joined() const { return &joined_; }

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
  char joined_ = 0;
};

}  // namespace cpu
TLXJIT_NAMESPACE_END
