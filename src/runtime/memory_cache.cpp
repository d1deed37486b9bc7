// src/runtime/memory_cache.cpp — compiled kernels of an engine: one compile a key, the least recently used dropped.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "src/runtime/memory_cache_p.h"

#include "src/runtime/executable_p.h"
#include "src/runtime/guard_p.h"
#include "src/runtime/key_p.h"

TLXJIT_NAMESPACE_BEGIN
namespace runtime {

/// In a forked child: what the parent had, unless a thread was at it just then. What was being made is made by nobody.
void MemoryCache::Store::inherit(Store& parents) {
  index = Index(0, parents.index.hash_function());
  const std::unique_lock lock(parents.mutex, std::try_to_lock);
  if (!lock) return;
  for (const std::shared_ptr<Entry>& entry : parents.recent) {
    if (!entry->result) continue;
    recent.push_back(entry);
    index.emplace(entry->key, std::prev(recent.end()));
  }
}

MemoryCache::MemoryCache(size_t capacity, std::shared_ptr<Events> events, Hash hash, std::shared_ptr<UseClock> clock)
    : capacity_(capacity), events_(std::move(events)), clock_(std::move(clock)) {
  kept_.get().index = Index(0, hash);
}

void MemoryCache::happened(EventKind kind, const std::string& key, std::string_view kernel) const noexcept {
  events_->happened({kind, kernel}, [&] { return key_text(key); });
}

MemoryCache::State MemoryCache::get(const std::string& key, const Deadline& deadline,
                                    const std::function<State()>& make) {
  Store& kept = kept_.get();
  std::unique_lock lock(kept.mutex);
  if (capacity_ == 0) {
    lock.unlock();
    happened(EventKind::memory_miss, key);
    return make();
  }
  for (auto found = kept.index.find(key); found != kept.index.end(); found = kept.index.find(key)) {
    kept.recent.splice(kept.recent.begin(), kept.recent, found->second);
    const std::shared_ptr<Entry> entry = kept.recent.front();
    entry->last_use = clock_->tick();
    if (!deadline.wait(kept.made, lock, [&] { return entry->result.has_value(); })) {
      lock.unlock();
      happened(EventKind::wait_ended, key);
      return deadline.cancelled()
                 ? error_of(ErrorKind::user, Stage::compile, ErrorCode::cancelled,
                            "the wait for another thread, which compiles an equal kernel, was cancelled")
                 : error_of(ErrorKind::environment, Stage::compile, ErrorCode::timed_out,
                            "another thread compiles an equal kernel, and has not ended within this call's limit of " +
                                deadline.text());
    }
    const State& result = *entry->result;  // never changes
    // A time limit or a token is that of one call: this one may have another.
    if (!result && (result.error().code == ErrorCode::timed_out || result.error().code == ErrorCode::cancelled))
      continue;
    lock.unlock();
    if (result) happened(EventKind::memory_hit, key, (*result)->module.name);
    return result;
  }
  const auto entry = std::make_shared<Entry>(key);
  entry->last_use = clock_->tick();
  kept.recent.push_front(entry);
  const auto place = kept.recent.begin();
  try {
    kept.index.emplace(entry->key, place);
  } catch (...) {
    kept.recent.erase(place);
    throw;
  }
  lock.unlock();
  happened(EventKind::memory_miss, key);
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
  for (const std::shared_ptr<Entry>& gone : dropped)
    happened(EventKind::memory_eviction, gone->key, (**gone->result)->module.name);
  return *entry->result;  // what was dropped ends here, outside the lock
}

/// Takes out what is above the bound. What is being made stays: threads wait for it.
MemoryCache::Recent MemoryCache::evict(Store& kept) const {
  Recent dropped;
  for (auto at = kept.recent.end(); kept.recent.size() > capacity_ && at != kept.recent.begin();) {
    const auto entry = std::prev(at);
    if (!(*entry)->result) {
      at = entry;
      continue;
    }
    kept.index.erase((*entry)->key);
    dropped.splice(dropped.begin(), kept.recent, entry);
  }
  return dropped;
}

void MemoryCache::list(std::vector<Kept>& kept, Dropped&) {
  Store& own = kept_.get();
  std::lock_guard lock(own.mutex);
  for (const std::shared_ptr<Entry>& entry : own.recent)
    if (entry->result && *entry->result) kept.push_back(kept_of(**entry->result, entry->last_use));
}

void MemoryCache::let_go(const ExecutableState* state, Dropped& dropped) {
  Store& own = kept_.get();
  std::lock_guard lock(own.mutex);
  for (auto at = own.recent.begin(); at != own.recent.end(); ++at) {
    const Entry& entry = **at;
    if (!entry.result || !*entry.result || (**entry.result).get() != state) continue;
    dropped.push_back(**entry.result);
    own.index.erase(entry.key);
    own.recent.erase(at);
    return;
  }
}

}  // namespace runtime
TLXJIT_NAMESPACE_END
