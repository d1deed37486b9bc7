// src/runtime/jit_versions.cpp — the versions of a JitFunction, found without a lock.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "src/runtime/jit_versions_p.h"

#include <algorithm>

TLXJIT_NAMESPACE_BEGIN
namespace runtime {

namespace {

/// How much a version knows of its calls: what is chosen of several that are valid.
int weight(const Promises& p) {
  int sum = 0;
  for (const auto* numbers : {&p.dims, &p.scalars})
    for (const NumberPromise& n : *numbers)
      sum += n.least == n.most ? 4 : (n.least != INT64_MIN || n.most != INT64_MAX) + 2 * (n.multiple != 1);
  for (const MemoryPromise& m : p.tensors) {
    sum += (m.align > 1) + m.narrow;
    for (int64_t stride : m.strides) sum += stride >= 0;
  }
  return sum;
}

}  // namespace

VersionTable::VersionTable() : slots_(slots) {}

// A reader enters, then looks again whether the version still stands in the slot. Who takes it out empties the slot,
// then looks whether a reader is inside. All four are sequentially consistent, so one of the two sees the other. That
// the version may have been reused for another key in between is seen by comparing keys after that. The same at the
// other end: a reader leaves, then looks whether the version was retired; who retires it looks after that whether a
// reader is inside.
VersionUse VersionTable::find(const Family* family, const CallClass& c) const {
  for (size_t i = 0; i < window; ++i) {
    const Slot& slot = slots_[(c.hash + i) % slots];
    if (slot.hash.load(std::memory_order_relaxed) != c.hash) continue;
    Version* v = slot.version.load();
    if (!v) continue;
    v->entered.fetch_add(1);
    VersionUse use(v);
    if (slot.version.load() != v || !v->is(family, c)) continue;
    v->last_use.store(clock_->now(), std::memory_order_relaxed);
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
  dropped.reserve(dropped.size() + retired_.size() + 1);  // whatever needs memory comes first
  retired_.reserve(retired_.size() + 1);
  Slot* slot = slot_of(v);
  slot->version.store(nullptr);
  slot->hash.store(0, std::memory_order_relaxed);
  v->retired.store(true);
  all_.erase(std::find(all_.begin(), all_.end(), v));
  retired_.push_back(v);
  collect(dropped);
}

void VersionTable::take_out(const ExecutableState* state, std::vector<Executable>& dropped) {
  const auto runs = [&](const Version* v) { return ExecutableState::of(*v->executable).get() == state; };
  for (auto found = std::find_if(all_.begin(), all_.end(), runs); found != all_.end();
       found = std::find_if(all_.begin(), all_.end(), runs))
    take_out(*found, dropped);
}

void VersionTable::collect(std::vector<Executable>& dropped) {
  dropped.reserve(dropped.size() + retired_.size());
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

Version* VersionTable::at(const Family* family, const CallClass& c) const {
  for (Version* v : all_)
    if (v->hash == c.hash && v->is(family, c)) return v;
  return nullptr;
}

Version* VersionTable::most_special(const Family& family, std::span<const Argument> arguments) const {
  Version* best = nullptr;
  for (Version* v : all_)
    if (v->own() && v->family == &family && family.keeps(arguments, v->promises) &&
        (!best || weight(v->promises) > weight(best->promises)))
      best = v;
  return best;
}

size_t VersionTable::own_count() const {
  return static_cast<size_t>(std::count_if(all_.begin(), all_.end(), [](const Version* v) { return v->own(); }));
}

/// What goes first, or null.
Version* VersionTable::victim(Room room) const {
  Version* oldest = nullptr;
  for (Version* v : all_)
    if ((room == Room::any || !v->own()) && (!oldest || v->last_use.load() < oldest->last_use.load())) oldest = v;
  return oldest;
}

VersionTable::Put VersionTable::put(Content content, size_t most, Room room, std::vector<Executable>& dropped) {
  Put done;
  const auto same = std::find_if(all_.begin(), all_.end(), [&](const Version* v) {
    return v->hash == content.hash && v->family == content.family && v->codes == content.codes;
  });
  if (same != all_.end()) {
    // Also for another of the key's own: a launch that looks while one is out finds none, and may be refused.
    if ((*same)->own()) return done;
    take_out(*same, dropped);
  }
  while (all_.size() >= most) {
    Version* v = victim(room);
    if (!v) return done;
    take_out(v, dropped);
    ++done.evicted;
  }
  Slot* place = nullptr;
  for (size_t i = 0; i < window && !place; ++i)
    if (Slot& slot = slots_[(content.hash + i) % slots]; !slot.version.load()) place = &slot;
  if (!place) {  // 256 keys in 2048 slots: hardly ever
    place = &slots_[content.hash % slots];
    Version* v = place->version.load();
    if (room == Room::stand_ins && v->own()) return done;
    take_out(v, dropped);
    ++done.evicted;
  }
  all_.reserve(all_.size() + 1);
  Version* v = fresh();
  v->family = content.family;
  v->codes = std::move(content.codes);
  v->hash = content.hash;
  v->executable = std::move(content.executable);
  v->promises = std::move(content.promises);
  v->failures = 0;
  v->standing.store(content.standing);
  v->again.store(0);
  v->retired.store(false);
  v->last_use.store(clock_->tick(), std::memory_order_relaxed);
  all_.push_back(v);
  place->hash.store(v->hash, std::memory_order_relaxed);
  place->version.store(v);
  done.in = true;
  return done;
}

}  // namespace runtime
TLXJIT_NAMESPACE_END
