// samples/attention_service/batcher.h — the thread that takes batches from the queue, runs them and answers them.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <functional>
#include <span>
#include <thread>

#include "metrics.h"
#include "queue.h"

namespace attention_service {

/// Runs calls of one shape and gives each call's rows of the result; throws Refusal where there is none.
using Runner = std::function<std::vector<std::string>(std::span<const PendingPtr>)>;

class Batcher {
 public:
  Batcher(Queue& queue, Metrics& metrics, Runner runner);
  /// Closes the queue and runs what is in it.
  ~Batcher();

 private:
  void work();
  void answer(std::span<const PendingPtr> batch);

  Queue& queue_;
  Metrics& metrics_;
  const Runner runner_;
  std::thread thread_;
};

}  // namespace attention_service
