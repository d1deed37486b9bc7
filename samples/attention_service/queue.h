// samples/attention_service/queue.h — calls that wait for a launch: never more than a limit, taken in batches.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <condition_variable>
#include <deque>
#include <future>
#include <memory>
#include <mutex>
#include <variant>
#include <vector>

#include "budget.h"
#include "call.h"

namespace attention_service {

using Clock = std::chrono::steady_clock;

struct Answer {
  std::string out;
  uint32_t batch = 0;  ///< calls of the launch
  Clock::duration waited{}, ran{};
};
using Outcome = std::variant<Answer, Refusal>;

/// A call on its way, shared by the connection that waits for it and the launch that answers it: either may be the
/// last to need its tensors.
struct Pending {
  Pending(Call asked, Budget::Claim held, Clock::time_point until)
      : call(std::move(asked)), claim(std::move(held)), deadline(until) {}
  size_t bytes() const { return call.query_bytes() + 2 * call.key_bytes(); }

  const Call call;
  const Budget::Claim claim;
  const Clock::time_point arrived = Clock::now();
  const Clock::time_point deadline;
  std::promise<Outcome> outcome;
};
using PendingPtr = std::shared_ptr<Pending>;

class Queue {
 public:
  struct Limits {
    size_t waiting = 64;                  ///< calls in the queue
    size_t batch = 64;                    ///< calls of a launch
    size_t batch_bytes = 256 << 20;       ///< of their tensors, unless one alone has more
    std::chrono::milliseconds linger{0};  ///< how long a call may wait for company while nothing runs
  };
  explicit Queue(const Limits& limits) : limits_(limits) {}

  /// False: the queue is full, or closed.
  bool push(PendingPtr call);
  bool full() const;
  size_t depth() const;

  /// Waits for a call, and takes the oldest with those that fit into its launch. Calls whose deadline has passed get a
  /// refusal instead. Nothing: the queue is closed and empty.
  std::vector<PendingPtr> take();

  /// The call is not to be run. False: it was taken already.
  bool cancel(const PendingPtr& call);

  /// No more lingering: what waits is run as soon as may be.
  void hurry();
  /// Refuses what comes, keeps what is there.
  void close();

 private:
  void expire();
  std::vector<PendingPtr> take_with(const Shape& shape);

  const Limits limits_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<PendingPtr> waiting_;
  bool hurried_ = false, closed_ = false;
};

}  // namespace attention_service
