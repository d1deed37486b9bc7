// samples/attention_service/budget.h — how many bytes of calls the service holds, and its limit.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <atomic>
#include <cstddef>
#include <utility>

namespace attention_service {

class Budget {
 public:
  explicit Budget(size_t limit) : limit_(limit) {}
  size_t held() const { return held_.load(std::memory_order_relaxed); }
  size_t limit() const { return limit_; }

  /// Bytes that are held as long as this lives. It grows as they arrive, so that nobody holds what was only announced.
  class Claim {
   public:
    explicit Claim(Budget& budget) : budget_(&budget) {}
    Claim(Claim&& other) noexcept : budget_(other.budget_), bytes_(std::exchange(other.bytes_, 0)) {}
    Claim& operator=(Claim&&) = delete;
    ~Claim() { budget_->held_.fetch_sub(bytes_, std::memory_order_relaxed); }

    /// False: they are not to be had, and the claim is as it was.
    bool grow(size_t bytes) {
      if (budget_->held_.fetch_add(bytes, std::memory_order_relaxed) + bytes > budget_->limit_) {
        budget_->held_.fetch_sub(bytes, std::memory_order_relaxed);
        return false;
      }
      bytes_ += bytes;
      return true;
    }

   private:
    Budget* budget_;
    size_t bytes_ = 0;
  };

 private:
  const size_t limit_;
  std::atomic<size_t> held_ = 0;
};

}  // namespace attention_service
