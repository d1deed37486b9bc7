// src/runtime/loaded_modules.cpp — which loaded kernels have to go.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "src/runtime/loaded_modules_p.h"

#include <algorithm>
#include <map>

#include "src/runtime/executable_p.h"

TLXJIT_NAMESPACE_BEGIN
namespace runtime {

void LoadedModules::OfProcess::inherit(OfProcess& parents) {
  const std::unique_lock lock(parents.mutex, std::try_to_lock);
  if (lock) holders = parents.holders;
}

void LoadedModules::add(std::weak_ptr<ModuleHolder> holder) {
  OfProcess& own = process_.get();
  std::lock_guard lock(own.mutex);
  std::erase_if(own.holders, [](const auto& other) { return other.expired(); });
  own.holders.push_back(std::move(holder));
}

namespace {

/// A state over all holders.
struct Candidate {
  const ExecutableState* state = nullptr;
  long kept = 0, users = 0;
  uint64_t last_use = 0;
  bool stays = false;
};

/// What only holders have, the least recently used first.
std::vector<Candidate> candidates(const std::vector<ModuleHolder::Kept>& all) {
  std::map<const ExecutableState*, Candidate> by_state;
  for (const auto& [state, users, last_use, stays] : all) {
    Candidate& c = by_state[state];
    c = {state, c.kept + 1, std::max(c.users, users), std::max(c.last_use, last_use), stays};
  }
  std::vector<Candidate> only_held;
  for (const auto& [state, c] : by_state)
    if (c.kept == c.users && !c.stays) only_held.push_back(c);
  std::sort(only_held.begin(), only_held.end(),
            [](const Candidate& a, const Candidate& b) { return a.last_use < b.last_use; });
  return only_held;
}

}  // namespace

ModuleHolder::Dropped LoadedModules::trim() {
  ModuleHolder::Dropped dropped;
  if (most_ == 0 || count() <= most_) return dropped;
  std::vector<std::string> names;
  std::vector<std::shared_ptr<ModuleHolder>> holders;  // may be the last of one: to end without the lock
  {
    OfProcess& own = process_.get();
    std::lock_guard lock(own.mutex);
    for (const auto& weak : own.holders)
      if (auto holder = weak.lock()) holders.push_back(std::move(holder));
    std::vector<ModuleHolder::Kept> all;
    for (const auto& holder : holders) holder->list(all, dropped);
    const size_t now = count();
    size_t excess = now > most_ ? now - most_ : 0;
    for (const Candidate& c : candidates(all)) {
      if (excess == 0) break;
      const size_t before = dropped.size();
      for (const auto& holder : holders) holder->let_go(c.state, dropped);
      if (dropped.size() == before) continue;  // it went by itself
      --excess;
      ExecutableState& state = *dropped.back();
      names.push_back(state.module.name);
      // A call that took it a moment ago may have it still; then it counts until it ends.
      if (dropped.back().use_count() == static_cast<long>(dropped.size() - before)) state.loaded.leave();
    }
  }
  for (const std::string& name : names) events_->happened({.kind = EventKind::module_eviction, .kernel = name});
  return dropped;
}

}  // namespace runtime
TLXJIT_NAMESPACE_END
