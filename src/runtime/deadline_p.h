// src/runtime/deadline_p.h — until when a call may wait.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>

#include "tlxjit/core/export.h"

TLXJIT_NAMESPACE_BEGIN
namespace runtime {

/// A limit that begins now; 0, and what the clock cannot count to, is none.
class Deadline {
 public:
  using Clock = std::chrono::steady_clock;

  Deadline() = default;
  explicit Deadline(std::chrono::milliseconds limit) : limit_(limit) {
    const Clock::time_point now = Clock::now();
    const auto left = std::chrono::floor<std::chrono::milliseconds>(Clock::time_point::max() - now);
    if (limit.count() > 0 && limit < left) end_ = now + limit;
  }

  bool limited() const { return end_ != Clock::time_point::max(); }
  bool passed() const { return limited() && Clock::now() >= end_; }
  /// `20 ms`.
  std::string text() const { return std::to_string(limit_.count()) + " ms"; }

  /// False where the deadline comes before the condition.
  template <class Condition>
  bool wait(std::condition_variable& changed, std::unique_lock<std::mutex>& lock, Condition condition) const {
    if (limited()) return changed.wait_until(lock, end_, condition);
    changed.wait(lock, condition);
    return true;
  }

 private:
  std::chrono::milliseconds limit_{0};
  Clock::time_point end_ = Clock::time_point::max();
};

}  // namespace runtime
TLXJIT_NAMESPACE_END
