// src/runtime/jit_tiers.cpp — what a call of a JitFunction runs that found no version.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "src/runtime/backend_p.h"
#include "src/runtime/guard_p.h"
#include "src/runtime/jit_state_p.h"
#include "src/runtime/registry_p.h"

TLXJIT_NAMESPACE_BEGIN
namespace runtime {

bool JitState::serves(const Version& version) const {
  if (version.own()) return true;
  const Tier tier = tier_.load(std::memory_order_relaxed);
  if (tier == Tier::sealed) return false;
  switch (version.standing.load()) {
    case Standing::own: return true;
    case Standing::queued: return tier != Tier::wait;
    case Standing::failed:
      return tier == Tier::warn || Version::Clock::now().time_since_epoch().count() < version.again.load();
    case Standing::told: return tier == Tier::warn;
    case Standing::stable: return true;
  }
  return false;
}

Result<JitState::Served> JitState::miss(OfProcess& own, const Family& family, const CallClass& c,
                                        std::span<const Argument> arguments, const Stream& stream) {
  const Tier tier = tier_.load(std::memory_order_relaxed);
  happened(own, EventKind::version_miss, family, c.view());
  collect(own);
  if (tier == Tier::sealed)
    return refused(
        own, family, c, ErrorCode::not_compiled,
        "the function is sealed, and has no version for this key: add it to the manifest that the function is "
        "warmed from");
  if (device_.backend_->capturing(stream.handle())) {
    auto found = nearest(own, family, c, arguments);
    if (!found)
      return refused(own, family, c, ErrorCode::capturing,
                     "the stream is captured, and nothing is loaded that is valid for the call: prepare it, or call it "
                     "once before the capture");
    return *std::move(found);
  }
  if (tier == Tier::warn) {
    bool tell = false;
    {
      std::lock_guard lock(own.mutex);
      if (own.warned.size() >= 4096) own.warned.clear();
      tell = own.warned.insert(c.hash).second;
    }
    if (tell) log("no version for the key " + key_json(*this, family, c.view()) + "; a less special one runs");
  }
  if (tier == Tier::wait && !is_settled(own, family)) {
    if (!admit(own, family, c)) return valid(own, family, c, arguments);
    happened(own, EventKind::call_waited, family, c.view());
    auto version = special(own, family, c, room());
    // One that is stable may have become settled meanwhile.
    if (version && !options_.stable) return Served{*std::move(version)};
    auto served = valid(own, family, c, arguments, true);
    if (served && !version) {
      stand_in(own, family, c, *served, options_.stable ? Standing::stable : Standing::failed);
      failed(own, family, c, version.error());
    }
    return served;
  }
  auto served = valid(own, family, c, arguments);
  if (served) served->stands_in = true;
  return served;
}

Result<JitState::Served> JitState::valid(OfProcess& own, const Family& family, const CallClass& c,
                                         std::span<const Argument> arguments, bool waited) {
  if (auto found = nearest(own, family, c, arguments)) return *std::move(found);
  if (!waited) happened(own, EventKind::call_waited, family, c.view());
  auto made = generic(own, family);
  if (!made) return made.error();
  return nearest(own, family, c, arguments).value_or(Served{*std::move(made)});
}

std::optional<JitState::Served> JitState::nearest(OfProcess& own, const Family& family, const CallClass& c,
                                                  std::span<const Argument> arguments) const {
  const uint64_t now = engine_.registry_->modules().clock()->now();
  std::lock_guard lock(own.mutex);
  Version* v = own.table.at(&family, c);
  if (!v || !v->own()) v = options_.stable ? nullptr : own.table.most_special(family, arguments);
  if (v) {
    v->last_use.store(now, std::memory_order_relaxed);
    return Served{*v->executable, v->promises};
  }
  const auto found = own.generic.find(&family);
  if (found == own.generic.end()) return std::nullopt;
  if (options_.stable) own.settled.insert(&family);
  found->second.last_use = now;
  return Served{found->second.executable};
}

bool JitState::is_settled(OfProcess& own, const Family& family) const {
  if (!options_.stable) return false;
  std::lock_guard lock(own.mutex);
  return own.settled.contains(&family);
}

/// There is room in the function and in the engine, or the key has been held back twice.
bool JitState::admit(OfProcess& own, const Family& family, const CallClass& c) {
  const LoadedModules& modules = engine_.registry_->modules();
  Admission::Answer answer;
  bool full = false;
  {
    std::lock_guard lock(own.mutex);
    full = own.table.all().size() >= options_.max_versions;
    if (own.table.at(&family, c) || (!full && !modules.full())) return true;
    answer = own.admission.ask(c.hash);
    if (answer == Admission::Answer::yes && own.table.has_room(options_.max_versions, room())) return true;
  }
  happened(own, EventKind::held_back, family, c.view());
  if (answer == Admission::Answer::first_no) {
    happened(own, EventKind::storm, family, c.view());
    log((full ? "more than " + std::to_string(options_.max_versions) + " versions are wanted"
              : "the engine has all " + std::to_string(modules.most()) + " kernels loaded that it may have") +
        ": keys that are called seldom run less special ones from now on");
  }
  return false;
}

void JitState::want_own(OfProcess& own, const Family& family, const CallClass& c, Served served) {
  if (!admit(own, family, c)) return;
  if (options_.stable)
    stand_in(own, family, c, std::move(served), Standing::stable);
  else if (tier_.load(std::memory_order_relaxed) == Tier::warn)
    stand_in(own, family, c, std::move(served), Standing::told);
  else
    enqueue(own, family, c, std::move(served));
}

void JitState::stand_in(OfProcess& own, const Family& family, const CallClass& c, Served served, Standing standing) {
  const bool generic = served.promises.say_nothing();
  {
    Removed removed{*this, own};
    std::lock_guard lock(own.mutex);
    if (own.table.at(&family, c)) return;
    if (!removed.put({&family,
                      {c.view().begin(), c.view().end()},
                      c.hash,
                      std::move(served.executable),
                      standing,
                      std::move(served.promises)},
                     room()))
      return;
  }
  happened(own, EventKind::stand_in, family, c.view(), generic ? "generic" : "special");
}

Error JitState::refused(OfProcess& own, const Family& family, const CallClass& c, ErrorCode code,
                        const std::string& why) const {
  happened(own, EventKind::call_refused, family, c.view());
  Error error =
      error_of(ErrorKind::user, Stage::launch, code, "`" + name_ + "` for " + family.text(c.view()) + ": " + why);
  error.key = key_json(*this, family, c.view());
  return error;
}

}  // namespace runtime
TLXJIT_NAMESPACE_END
