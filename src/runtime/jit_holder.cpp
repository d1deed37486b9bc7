// src/runtime/jit_holder.cpp — what a JitFunction can do without when its engine has too many kernels loaded.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "src/runtime/jit_state_p.h"
#include "src/runtime/registry_p.h"

TLXJIT_NAMESPACE_BEGIN
namespace runtime {

namespace {

void move_to(ModuleHolder::Dropped& dropped, std::vector<Executable>& executables) {
  for (Executable& executable : executables) dropped.push_back(ExecutableState::taken(std::move(executable)));
}

}  // namespace

void JitState::begin() { engine_.registry_->modules().add(weak_from_this()); }

void JitState::set_tier(Tier tier) {
  std::lock_guard lock(own_.get().mutex);
  tier_.store(tier, std::memory_order_relaxed);
}

/// Whether the function would not compile again what it lets go of.
bool JitState::holds_on() const {
  const Tier tier = tier_.load(std::memory_order_relaxed);
  return tier == Tier::sealed || tier == Tier::warn || options_.stable;
}

void JitState::list(std::vector<Kept>& kept, Dropped& dropped) {
  OfProcess& own = own_.get();
  std::vector<Executable> unused;
  {
    std::lock_guard lock(own.mutex);
    if (holds_on()) return;
    own.table.collect(unused);
    for (const Version* v : own.table.all())
      kept.push_back(kept_of(ExecutableState::of(*v->executable), v->last_use.load(std::memory_order_relaxed)));
    for (const auto& [family, generic] : own.generic)
      kept.push_back(kept_of(ExecutableState::of(generic.executable), generic.last_use));
  }
  move_to(dropped, unused);
}

void JitState::let_go(const ExecutableState* state, Dropped& dropped) {
  OfProcess& own = own_.get();
  std::vector<Executable> taken;
  {
    std::lock_guard lock(own.mutex);
    if (holds_on()) return;
    own.table.take_out(state, taken);
    for (auto at = own.generic.begin(); at != own.generic.end();) {
      if (ExecutableState::of(at->second.executable).get() == state) {
        taken.push_back(std::move(at->second.executable));
        at = own.generic.erase(at);
      } else {
        ++at;
      }
    }
  }
  move_to(dropped, taken);
}

}  // namespace runtime
TLXJIT_NAMESPACE_END
