// src/runtime/publisher_p.h — puts compiled kernels into the disk cache when their callers have gone on.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

#include "src/runtime/disk_cache_p.h"
#include "src/runtime/per_process_p.h"

TLXJIT_NAMESPACE_BEGIN
namespace runtime {

/// One thread, which begins with the first entry. Thread safe.
class Publisher {
 public:
  static constexpr size_t most_waiting = 64;

  /// `cache` outlives it.
  explicit Publisher(DiskCache& cache) : cache_(cache) {}
  ~Publisher() { wait(); }

  /// The flight ends when the entry is published. Where most_waiting wait, or there is no thread to be had, that is
  /// before the call returns.
  void publish(Entry entry, DiskCache::Flight flight);
  /// Until all that was given is published.
  void wait();

 private:
  struct Work {
    Entry entry;
    DiskCache::Flight flight;
  };
  struct OfProcess {
    ~OfProcess();
    std::mutex mutex;
    std::condition_variable changed;
    std::deque<Work> waiting;
    bool working = false;
    bool stop = false;
    std::thread thread;
  };
  void run(OfProcess& process) const;

  DiskCache& cache_;
  PerProcess<OfProcess> process_;
};

}  // namespace runtime
TLXJIT_NAMESPACE_END
