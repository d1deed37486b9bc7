// src/runtime/jit_versions.cpp — the versions of a JitFunction, found without a lock.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "src/runtime/jit_versions_p.h"

#include <algorithm>

TLXJIT_NAMESPACE_BEGIN
namespace runtime {

VersionTable::VersionTable() : slots_(slots) {}

// A reader enters, then looks again whether the version still stands in the slot. Who takes it out empties the slot,
// then looks whether a reader is inside. All four are sequentially consistent, so one of the two sees the other. That
// the version may have been reused for another key in between is seen by comparing keys after that.
VersionUse VersionTable::find(const Family* family, const CallClass& c) const {
  for (size_t i = 0; i < window; ++i) {
    const Slot& slot = slots_[(c.hash + i) % slots];
    if (slot.hash.load(std::memory_order_relaxed) != c.hash) continue;
    Version* v = slot.version.load();
    if (!v) continue;
    v->entered.fetch_add(1);
    VersionUse use(v);
    if (slot.version.load() != v || !v->is(family, c)) continue;
    v->last_use.store(now_.load(std::memory_order_relaxed), std::memory_order_relaxed);
    return use;
  }
  return {};
}

VersionTable::Slot* VersionTable::slot_of(const Version* v) {
  for (size_t i = 0; i < window; ++i)
    if (Slot& slot = slots_[(v->hash + i) % slots]; slot.version.load() == v) return &slot;
  return nullptr;
}

void VersionTable::take_out(Version* v, std::vector<Executable>& dropped) {
  dropped.reserve(dropped.size() + retired_.size() + 1);
  retired_.reserve(retired_.size() + 1);
  Slot* slot = slot_of(v);
  slot->version.store(nullptr);
  slot->hash.store(0, std::memory_order_relaxed);
  all_.erase(std::find(all_.begin(), all_.end(), v));
  retired_.push_back(v);
  collect(dropped);
}

void VersionTable::collect(std::vector<Executable>& dropped) {
  // Their order means nothing; stable_partition would ask for memory.
  const auto still_used = std::partition(retired_.begin(), retired_.end(), [](Version* v) { return !v->idle(); });
  for (auto at = still_used; at != retired_.end(); ++at) {
    if ((*at)->executable) dropped.push_back(*std::move((*at)->executable));
    (*at)->executable.reset();
    free_.push_back(*at);
  }
  retired_.erase(still_used, retired_.end());
}

Version* VersionTable::fresh() {
  if (free_.empty()) {
    free_.reserve(storage_.size() + 1);  // so that giving one back needs no memory
    return &storage_.emplace_back();
  }
  Version* v = free_.back();
  free_.pop_back();
  return v;
}

size_t VersionTable::put(Content content, size_t most, std::vector<Executable>& dropped) {
  const auto same = std::find_if(all_.begin(), all_.end(), [&](const Version* v) {
    return v->hash == content.hash && v->family == content.family && v->codes == content.codes;
  });
  if (same != all_.end()) take_out(*same, dropped);
  const auto older = [](const Version* a, const Version* b) { return a->last_use.load() < b->last_use.load(); };
  size_t evicted = 0;
  while (!all_.empty() && all_.size() >= most) {
    take_out(*std::min_element(all_.begin(), all_.end(), older), dropped);
    ++evicted;
  }
  Slot* place = nullptr;
  for (size_t i = 0; i < window && !place; ++i)
    if (Slot& slot = slots_[(content.hash + i) % slots]; !slot.version.load()) place = &slot;
  if (!place) {  // 256 keys in 2048 slots: hardly ever
    place = &slots_[content.hash % slots];
    take_out(place->version.load(), dropped);
    ++evicted;
  }
  all_.reserve(all_.size() + 1);
  Version* v = fresh();
  v->family = content.family;
  v->codes = std::move(content.codes);
  v->hash = content.hash;
  v->executable = std::move(content.executable);
  v->own = content.own;
  v->promises = std::move(content.promises);
  v->last_use.store(now_.fetch_add(1, std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  all_.push_back(v);
  place->hash.store(v->hash, std::memory_order_relaxed);
  place->version.store(v);
  return evicted;
}

}  // namespace runtime
TLXJIT_NAMESPACE_END
