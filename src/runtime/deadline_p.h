// src/runtime/deadline_p.h — until when a call may wait, and whether it still wants to.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <stop_token>
#include <string>

#include "tlxjit/core/export.h"

TLXJIT_NAMESPACE_BEGIN
namespace runtime {

/// A limit that begins now; 0, and what the clock cannot count to, is none. And a token that ends all waits.
class Deadline {
 public:
  using Clock = std::chrono::steady_clock;

  Deadline() = default;
  explicit Deadline(std::chrono::milliseconds limit, std::stop_token stop = {})
      : limit_(limit), stop_(std::move(stop)) {
    const Clock::time_point now = Clock::now();
    const auto left = std::chrono::floor<std::chrono::milliseconds>(Clock::time_point::max() - now);
    if (limit.count() > 0 && limit < left) end_ = now + limit;
  }

  /// Whether a wait may end without what it waits for.
  bool limited() const { return end_ != Clock::time_point::max() || stop_.stop_possible(); }
  bool passed() const { return Clock::now() >= end_ || cancelled(); }
  bool cancelled() const { return stop_.stop_requested(); }
  /// `20 ms`.
  std::string text() const { return std::to_string(limit_.count()) + " ms"; }

  /// False where the deadline, or the token's end, comes before the condition.
  template <class Condition>
  bool wait(std::condition_variable& changed, std::unique_lock<std::mutex>& lock, Condition condition) const {
    // A token's callback would have to take the lock that its registration is under; so it is asked now and then.
    constexpr std::chrono::milliseconds slice{10};
    while (stop_.stop_possible()) {
      const Clock::time_point now = Clock::now();
      if (condition()) return true;
      if (cancelled() || now >= end_) return false;
      changed.wait_until(lock, std::min(end_, now + slice));
    }
    if (limited()) return changed.wait_until(lock, end_, condition);
    changed.wait(lock, condition);
    return true;
  }

 private:
  std::chrono::milliseconds limit_{0};
  Clock::time_point end_ = Clock::time_point::max();
  std::stop_token stop_;
};

}  // namespace runtime
TLXJIT_NAMESPACE_END
