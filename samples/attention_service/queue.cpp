// samples/attention_service/queue.cpp — which calls are of one launch, and when it begins.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "queue.h"

#include <algorithm>

namespace attention_service {

bool Queue::push(PendingPtr call) {
  {
    const std::lock_guard lock(mutex_);
    if (closed_ || waiting_.size() >= limits_.waiting) return false;
    waiting_.push_back(std::move(call));
  }
  changed_.notify_all();
  return true;
}

bool Queue::full() const {
  const std::lock_guard lock(mutex_);
  return closed_ || waiting_.size() >= limits_.waiting;
}

size_t Queue::depth() const {
  const std::lock_guard lock(mutex_);
  return waiting_.size();
}

bool Queue::cancel(const PendingPtr& call) {
  const std::lock_guard lock(mutex_);
  return std::erase(waiting_, call) > 0;
}

void Queue::hurry() {
  const std::lock_guard lock(mutex_);
  hurried_ = true;
  changed_.notify_all();
}

void Queue::close() {
  const std::lock_guard lock(mutex_);
  closed_ = hurried_ = true;
  changed_.notify_all();
}

void Queue::expire() {
  const auto now = Clock::now();
  std::erase_if(waiting_, [now](const PendingPtr& call) {
    if (call->deadline > now) return false;
    call->outcome.set_value(Refusal{504, "the deadline passed while the call waited for a launch"});
    return true;
  });
}

std::vector<PendingPtr> Queue::take_with(const Shape& shape) {
  std::vector<PendingPtr> batch;
  size_t bytes = 0;
  std::erase_if(waiting_, [&](const PendingPtr& call) {
    if (!(call->call.shape == shape) || batch.size() >= limits_.batch) return false;
    if (!batch.empty() && bytes + call->bytes() > limits_.batch_bytes) return false;
    bytes += call->bytes();
    batch.push_back(call);
    return true;
  });
  return batch;
}

std::vector<PendingPtr> Queue::take() {
  std::unique_lock lock(mutex_);
  for (;;) {
    expire();
    if (waiting_.empty()) {
      if (closed_) return {};
      changed_.wait(lock);
      continue;
    }
    const PendingPtr first = waiting_.front();
    const auto start = first->arrived + limits_.linger;
    const auto alike =
        std::ranges::count_if(waiting_, [&](const PendingPtr& call) { return call->call.shape == first->call.shape; });
    if (hurried_ || static_cast<size_t>(alike) >= limits_.batch || Clock::now() >= start)
      return take_with(first->call.shape);
    changed_.wait_until(lock, std::min(start, first->deadline));
  }
}

}  // namespace attention_service
