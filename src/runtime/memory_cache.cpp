// src/runtime/memory_cache.cpp — compiled kernels of an engine: one compile a key, the least recently used dropped.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "src/runtime/memory_cache_p.h"

#include "src/runtime/executable_p.h"
#include "src/runtime/guard_p.h"

TLXJIT_NAMESPACE_BEGIN
namespace runtime {

MemoryCache::MemoryCache(size_t capacity, Hash hash) : capacity_(capacity), index_(0, hash) {}

MemoryCache::State MemoryCache::make_uncached(const std::function<State()>& make) {
  {
    std::lock_guard lock(mutex_);
    ++counters_.compiles;
  }
  return make();
}

MemoryCache::State MemoryCache::get(const std::string& key, const std::function<State()>& make) {
  if (capacity_ == 0) return make_uncached(make);
  std::unique_lock lock(mutex_);
  if (const auto found = index_.find(key); found != index_.end()) {
    recent_.splice(recent_.begin(), recent_, found->second);
    const std::shared_ptr<Entry> entry = recent_.front();
    made_.wait(lock, [&] { return entry->state || entry->failed; });
    if (entry->state) {
      ++counters_.memory_hits;
      return entry->state;
    }
    lock.unlock();
    return make_uncached(make);
  }
  const auto entry = std::make_shared<Entry>(key);
  recent_.push_front(entry);
  const auto place = recent_.begin();
  try {
    index_.emplace(entry->key, place);
  } catch (...) {
    recent_.erase(place);
    throw;
  }
  ++counters_.compiles;
  lock.unlock();
  State state = guarded(Stage::compile, make);  // whatever happens, those who wait are told
  lock.lock();
  Recent dropped;
  if (state) {
    entry->state = *state;
    dropped = evict();
  } else {
    entry->failed = true;
    index_.erase(entry->key);
    recent_.erase(place);
  }
  lock.unlock();
  made_.notify_all();
  return state;  // what was dropped ends here, outside the lock
}

/// Takes out what is above the bound. What is being made stays: threads wait for it.
MemoryCache::Recent MemoryCache::evict() {
  Recent dropped;
  for (auto at = recent_.end(); recent_.size() > capacity_ && at != recent_.begin();) {
    const auto entry = std::prev(at);
    if (!(*entry)->state) {
      at = entry;
      continue;
    }
    index_.erase((*entry)->key);
    dropped.splice(dropped.begin(), recent_, entry);
    ++counters_.memory_evictions;
  }
  return dropped;
}

EngineCounters MemoryCache::counters() const {
  std::lock_guard lock(mutex_);
  return counters_;
}

}  // namespace runtime
TLXJIT_NAMESPACE_END
