// src/runtime/publisher.cpp — puts compiled kernels into the disk cache when their callers have gone on.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "src/runtime/publisher_p.h"

#include <system_error>

#include "src/runtime/block_signals_p.h"
#include "src/runtime/guard_p.h"

TLXJIT_NAMESPACE_BEGIN
namespace runtime {
namespace {

/// A cache that there is no memory for does without the entry.
void publish_now(DiskCache& cache, const Entry& entry) {
  static_cast<void>(guarded(Stage::cache, [&]() -> Result<void> {
    cache.publish(entry);
    return {};
  }));
}

}  // namespace

Publisher::OfProcess::~OfProcess() {
  {
    std::lock_guard lock(mutex);
    stop = true;
  }
  changed.notify_all();
  if (thread.joinable()) thread.join();
}

void Publisher::publish(Entry entry, DiskCache::Flight flight) {
  OfProcess& process = process_.get();
  Work work{std::move(entry), std::move(flight)};
  {
    std::lock_guard lock(process.mutex);
    if (!process.thread.joinable()) {
      const BlockSignals blocked;
      try {
        process.thread = std::thread([this, &process] { run(process); });
      } catch (const std::system_error&) {  // then it is done here
      }
    }
    if (process.thread.joinable() && process.waiting.size() < most_waiting) {
      process.waiting.push_back(std::move(work));
      process.changed.notify_all();
      return;
    }
  }
  publish_now(cache_, work.entry);
}

void Publisher::wait() {
  OfProcess& process = process_.get();
  std::unique_lock lock(process.mutex);
  process.changed.wait(lock, [&] { return process.waiting.empty() && !process.working; });
}

void Publisher::run(OfProcess& process) const {
  std::unique_lock lock(process.mutex);
  for (;;) {
    process.changed.wait(lock, [&] { return process.stop || !process.waiting.empty(); });
    if (process.waiting.empty()) return;
    {
      const Work work = std::move(process.waiting.front());
      process.waiting.pop_front();
      process.working = true;
      lock.unlock();
      publish_now(cache_, work.entry);
    }
    lock.lock();
    process.working = false;
    process.changed.notify_all();
  }
}

}  // namespace runtime
TLXJIT_NAMESPACE_END
