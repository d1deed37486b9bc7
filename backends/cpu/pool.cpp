// backends/cpu/pool.cpp — the worker threads that all kernels of the plug-in share.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/cpu/pool_p.h"

#include <algorithm>
#include <new>
#include <system_error>

#include "backends/cpu/float_mode_p.h"
#include "src/runtime/block_signals_p.h"
#include "src/runtime/per_process_p.h"

TLXJIT_NAMESPACE_BEGIN
namespace cpu {

Pool::~Pool() {
  {
    std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

std::shared_ptr<Pool> Pool::shared() {
  struct Shared {
    std::mutex mutex;
    std::weak_ptr<Pool> pool;
  };
  // Never destroyed: a weak pointer without an owner holds nothing that a process must give back.
  static auto* const per_process = new runtime::PerProcess<Shared>();
  Shared& shared = per_process->get();
  std::lock_guard lock(shared.mutex);
  auto made = shared.pool.lock();
  if (!made) {
    made = std::make_shared<Pool>();
    shared.pool = made;
  }
  return made;
}

void Pool::grow(int threads) {
  if (static_cast<int>(threads_.size()) >= threads) return;
  const runtime::BlockSignals blocked;
  try {
    while (static_cast<int>(threads_.size()) < threads) threads_.emplace_back([this] { work(); });
  } catch (const std::system_error&) {  // fewer threads are slower, not wrong
  } catch (const std::bad_alloc&) {
  }
}

void Pool::work() {
  const FloatMode mode;
  std::unique_lock lock(mutex_);
  for (;;) {
    Entry* entry = nullptr;
    wake_.wait(lock, [&] {
      for (Entry* e : entries_)
        if (e->wanted > 0) {
          entry = e;
          return true;
        }
      return stop_;
    });
    if (!entry) return;
    --entry->wanted;
    ++entry->working;
    lock.unlock();
    entry->job->run();
    lock.lock();
    entry->wanted = 0;  // its work is all taken
    if (--entry->working == 0) finished_.notify_all();
  }
}

void Pool::run(Job& job, int threads) {
  if (threads <= 1) return job.run();
  Entry entry{&job, threads - 1, 0};
  {
    std::lock_guard lock(mutex_);
    grow(threads - 1);
    entries_.push_back(&entry);
  }
  wake_.notify_all();
  job.run();
  std::unique_lock lock(mutex_);
  entry.wanted = 0;
  finished_.wait(lock, [&] { return entry.working == 0; });
  entries_.erase(std::find(entries_.begin(), entries_.end(), &entry));
}

}  // namespace cpu
TLXJIT_NAMESPACE_END
