// samples/attention_service/batcher.cpp — runs batches one after the other.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "batcher.h"

namespace attention_service {

namespace {

double seconds(Clock::duration time) { return std::chrono::duration<double>(time).count(); }

}  // namespace

Batcher::Batcher(Queue& queue, Metrics& metrics, Runner runner)
    : queue_(queue), metrics_(metrics), runner_(std::move(runner)), thread_([this] { work(); }) {}

Batcher::~Batcher() {
  queue_.close();
  thread_.join();
}

void Batcher::work() {
  for (;;) {
    const std::vector<PendingPtr> batch = queue_.take();
    if (batch.empty()) return;
    try {
      answer(batch);
    } catch (const Refusal& refusal) {
      for (const PendingPtr& pending : batch) pending->outcome.set_value(refusal);
    } catch (const std::bad_alloc&) {
      for (const PendingPtr& pending : batch) pending->outcome.set_value(Refusal{503, "too little memory"});
    }
  }
}

void Batcher::answer(std::span<const PendingPtr> batch) {
  const auto begin = Clock::now();
  std::vector<std::string> results = runner_(batch);
  const auto end = Clock::now();
  int64_t tokens = 0;
  for (const PendingPtr& pending : batch) {
    tokens += pending->call.tokens;
    metrics_.waited.add(seconds(begin - pending->arrived));
  }
  metrics_.ran.add(seconds(end - begin));
  metrics_.batch_calls.add(static_cast<double>(batch.size()));
  metrics_.batch_tokens.add(static_cast<double>(tokens));
  for (size_t i = 0; i < batch.size(); ++i) {
    Answer answer{std::move(results[i]), static_cast<uint32_t>(batch.size()), begin - batch[i]->arrived, end - begin};
    batch[i]->outcome.set_value(std::move(answer));
  }
}

}  // namespace attention_service
