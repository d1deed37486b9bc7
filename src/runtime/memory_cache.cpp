// src/runtime/memory_cache.cpp — compiled kernels of an engine: one compile a key, the least recently used dropped.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "src/runtime/memory_cache_p.h"

#include "src/runtime/executable_p.h"
#include "src/runtime/guard_p.h"

TLXJIT_NAMESPACE_BEGIN
namespace runtime {

/// In a forked child: what the parent had, unless a thread was at it just then. What was being made is made by nobody.
void MemoryCache::Kept::inherit(Kept& parents) {
  index = Index(0, parents.index.hash_function());
  const std::unique_lock lock(parents.mutex, std::try_to_lock);
  if (!lock) return;
  counts = parents.counts;
  for (const std::shared_ptr<Entry>& entry : parents.recent) {
    if (!entry->result) continue;
    recent.push_back(entry);
    index.emplace(entry->key, std::prev(recent.end()));
  }
}

MemoryCache::MemoryCache(size_t capacity, Hash hash) : capacity_(capacity) { kept_.get().index = Index(0, hash); }

MemoryCache::State MemoryCache::get(const std::string& key, const Deadline& deadline,
                                    const std::function<State()>& make) {
  Kept& kept = kept_.get();
  std::unique_lock lock(kept.mutex);
  if (capacity_ == 0) {
    ++kept.counts.made;
    lock.unlock();
    return make();
  }
  for (auto found = kept.index.find(key); found != kept.index.end(); found = kept.index.find(key)) {
    kept.recent.splice(kept.recent.begin(), kept.recent, found->second);
    const std::shared_ptr<Entry> entry = kept.recent.front();
    if (!deadline.wait(kept.made, lock, [&] { return entry->result.has_value(); }))
      return deadline.cancelled()
                 ? error_of(ErrorKind::user, Stage::compile, ErrorCode::cancelled,
                            "the wait for another thread, which compiles an equal kernel, was cancelled")
                 : error_of(ErrorKind::environment, Stage::compile, ErrorCode::timed_out,
                            "another thread compiles an equal kernel, and has not ended within this call's limit of " +
                                deadline.text());
    const State& result = *entry->result;
    if (result) ++kept.counts.hits;
    // A time limit or a token is that of one call: this one may have another.
    if (result || (result.error().code != ErrorCode::timed_out && result.error().code != ErrorCode::cancelled))
      return result;
  }
  const auto entry = std::make_shared<Entry>(key);
  kept.recent.push_front(entry);
  const auto place = kept.recent.begin();
  try {
    kept.index.emplace(entry->key, place);
  } catch (...) {
    kept.recent.erase(place);
    throw;
  }
  ++kept.counts.made;
  lock.unlock();
  State state = guarded(Stage::compile, make);  // whatever happens, those who wait are told
  lock.lock();
  entry->result.emplace(std::move(state));
  Recent dropped;
  if (*entry->result) {
    dropped = evict(kept);
  } else {
    kept.index.erase(entry->key);
    kept.recent.erase(place);
  }
  lock.unlock();
  kept.made.notify_all();
  return *entry->result;  // what was dropped ends here, outside the lock
}

/// Takes out what is above the bound. What is being made stays: threads wait for it.
MemoryCache::Recent MemoryCache::evict(Kept& kept) const {
  Recent dropped;
  for (auto at = kept.recent.end(); kept.recent.size() > capacity_ && at != kept.recent.begin();) {
    const auto entry = std::prev(at);
    if (!(*entry)->result) {
      at = entry;
      continue;
    }
    kept.index.erase((*entry)->key);
    dropped.splice(dropped.begin(), kept.recent, entry);
    ++kept.counts.evictions;
  }
  return dropped;
}

MemoryCache::Counts MemoryCache::counts() const {
  Kept& kept = kept_.get();
  std::lock_guard lock(kept.mutex);
  return kept.counts;
}

}  // namespace runtime
TLXJIT_NAMESPACE_END
