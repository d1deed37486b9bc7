// src/runtime/jit_state.cpp — which version a call runs, and who compiles it when.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "src/runtime/jit_state_p.h"

#include <algorithm>

#include "src/passes/specialize_p.h"
#include "src/runtime/backend_p.h"
#include "src/runtime/background_p.h"
#include "src/runtime/guard_p.h"
#include "src/runtime/registry_p.h"

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

constexpr size_t max_signatures = 256;

bool says_nothing(const Promises& p) {
  return std::all_of(p.dims.begin(), p.dims.end(), [](const auto& n) { return n == NumberPromise(); }) &&
         std::all_of(p.scalars.begin(), p.scalars.end(), [](const auto& n) { return n == NumberPromise(); }) &&
         std::all_of(p.tensors.begin(), p.tensors.end(), [](const auto& m) { return m == MemoryPromise(); });
}

Error bad_options(const std::string& what) {
  return error_of(ErrorKind::user, Stage::build, ErrorCode::bad_argument, "JitOptions: " + what);
}

}  // namespace

JitState::JitState(Engine engine, Device device, std::string name, Generator generator, JitOptions options)
    : engine_(std::move(engine)),
      device_(std::move(device)),
      name_(std::move(name)),
      generator_(std::move(generator)),
      options_(std::move(options)),
      tier_(options_.tier) {}

Result<void> JitState::check_options() const {
  for (const auto& [name, policy] : options_.numbers)
    if (const std::string what = policy.fault(); !what.empty()) return bad_options("`" + name + "`: " + what);
  for (const Policy* policy : {&options_.other_dims, &options_.other_integers})
    if (const std::string what = policy->fault(); !what.empty()) return bad_options(what);
  if (options_.max_versions < 1 || options_.max_versions > VersionTable::max_versions_kept)
    return bad_options("max_versions is 1 to " + std::to_string(VersionTable::max_versions_kept) + ", not " +
                       std::to_string(options_.max_versions));
  return {};
}

const Family* JitState::find_family(const OfProcess& own, std::span<const Argument> arguments) {
  const Family* family = own.first.load(std::memory_order_acquire);
  while (family && !family->matches(arguments)) family = family->next;
  return family;
}

Result<const Family*> JitState::family_of(OfProcess& own, std::span<const Argument> arguments) {
  if (const Family* family = find_family(own, arguments)) return family;
  auto signature = signature_of(arguments, target());
  if (!signature) return signature.error();
  return add_family(own, std::move(*signature));
}

Result<const Family*> JitState::family(const Signature& signature) { return add_family(own_.get(), signature); }

Result<const Family*> JitState::add_family(OfProcess& own, Signature signature) {
  const auto existing = [&]() -> const Family* {
    for (const auto& family : own.families)
      if (family->signature().arguments == signature.arguments) return family.get();
    return nullptr;
  };
  {
    std::lock_guard lock(own.mutex);
    if (const Family* family = existing()) return family;
  }
  TLXJIT_TRY(check_options());
  auto module = generator_(signature, options_.config);  // the user's: without the lock
  if (!module) return module.error();
  std::lock_guard lock(own.mutex);
  if (const Family* family = existing()) return family;  // another thread was quicker
  if (own.families.size() == max_signatures)
    return error_of(ErrorKind::user, Stage::build, ErrorCode::out_of_resources,
                    "`" + name_ + "` has kernels for " + std::to_string(max_signatures) +
                        " signatures already: calls differ in their numbers, not in their types");
  auto made = Family::make(std::move(signature), std::move(*module), options_, own.families.size() + 1);
  if (!made) return made.error();
  Family* family = made->get();
  family->next = own.first.load(std::memory_order_relaxed);
  own.families.push_back(std::move(*made));
  own.first.store(family, std::memory_order_release);
  ++own.counters.signatures;
  return family;
}

Result<void> JitState::launch(const Stream& stream, std::span<const Argument> arguments, std::source_location at) {
  OfProcess& own = own_.get();
  auto family = family_of(own, arguments);
  if (!family) return family.error();
  CallClass c;
  (*family)->classify(arguments, c);
  if (const VersionUse use = own.table.find(*family, c); use && (use->own || may_stand_in())) {
    if (device_.backend_->capturing(stream.handle())) pin(own, *use->executable);
    return use->executable->launch(stream, arguments, at);
  }
  auto found = miss(own, **family, c, arguments, stream);
  if (!found) return found.error();
  return found->launch(stream, arguments, at);
}

Result<Executable> JitState::miss(OfProcess& own, const Family& family, const CallClass& c,
                                  std::span<const Argument> arguments, const Stream& stream) {
  const Tier tier = tier_.load(std::memory_order_relaxed);
  const bool capturing = device_.backend_->capturing(stream.handle());
  {
    std::unique_lock lock(own.mutex);
    ++own.counters.misses;
    if (capturing || tier == Tier::Sealed) {
      Promises promises;
      auto found = capturing ? nearest(own, family, arguments, promises) : std::optional<Executable>();
      if (found) {
        own.pinned.push_back(*found);
        return *std::move(found);
      }
      ++own.counters.refused;
      lock.unlock();
      return capturing ? sealed(family, c, ErrorCode::capturing,
                                "the stream is captured, and nothing is loaded that is valid for the call: prepare it, "
                                "or call it once before the capture")
                       : sealed(family, c, ErrorCode::not_compiled,
                                "the function is sealed, and this key has no version: add it to the manifest that the "
                                "function is warmed from");
    }
  }
  if (tier == Tier::Wait) {
    const bool admitted = admit(own, c);
    {
      std::lock_guard lock(own.mutex);
      Promises promises;
      if (!admitted)
        if (auto found = nearest(own, family, arguments, promises)) return *std::move(found);
      ++own.counters.waits;
    }
    if (!admitted) return generic(own, family);
    bool present = false;
    auto version = own_version(family, c, present);
    return version ? version : generic(own, family);
  }
  if (tier == Tier::Warn) {
    bool tell = false;
    {
      std::lock_guard lock(own.mutex);
      if (own.warned.size() >= 4096) own.warned.clear();
      tell = own.warned.insert(c.hash).second;
    }
    if (tell) log("no version for the key " + key_json(*this, family, c.view()) + "; a less special one runs");
  }
  return miss_background(own, family, c, arguments);
}

Result<Executable> JitState::miss_background(OfProcess& own, const Family& family, const CallClass& c,
                                             std::span<const Argument> arguments) {
  Promises promises;
  std::optional<Executable> runs;
  bool waits = false;
  {
    std::lock_guard lock(own.mutex);
    runs = nearest(own, family, arguments, promises);
    waits = !runs;
    own.counters.waits += waits;
  }
  if (!runs) {
    auto made = generic(own, family);
    if (!made) return made;
    runs = *std::move(made);
    promises = {};
  }
  const bool warn = tier_.load(std::memory_order_relaxed) == Tier::Warn;
  bool queued = warn || options_.stable;
  if (!admit(own, c)) return *std::move(runs);
  // A stand-in that nothing will replace would hide the key for ever, so only what was queued gets one.
  if (!queued) queued = enqueue(own, family, c);
  if (!queued) return *std::move(runs);
  {
    std::unique_lock lock(own.mutex);
    const bool there = static_cast<bool>(own.table.find(&family, c));
    if (!there) ++own.counters.stand_ins;
    lock.unlock();
    if (!there) put(own, {&family, {c.view().begin(), c.view().end()}, c.hash, *runs, false, promises});
  }
  return *std::move(runs);
}

std::optional<Executable> JitState::nearest(const OfProcess& own, const Family& family,
                                            std::span<const Argument> arguments, Promises& promises) const {
  const Version* best = nullptr;
  for (const Version* v : own.table.all())
    if (v->own && v->family == &family && family.keeps(arguments, v->promises) &&
        (!best || weight(v->promises) > weight(best->promises)))
      best = v;
  if (best) {
    promises = best->promises;
    return best->executable;
  }
  const auto found = own.generic.find(&family);
  if (found == own.generic.end()) return std::nullopt;
  promises = {};
  return found->second;
}

/// There is room, or the key has been held back twice.
bool JitState::admit(OfProcess& own, const CallClass& c) {
  std::unique_lock lock(own.mutex);
  if (own.table.all().size() < options_.max_versions) return true;
  const auto knocks = std::count(own.knocks.begin(), own.knocks.end(), c.hash);
  if (knocks >= 2) {
    std::replace(own.knocks.begin(), own.knocks.end(), c.hash, uint64_t{0});
    return true;
  }
  own.knocks[own.next_knock++ % own.knocks.size()] = c.hash;
  ++own.counters.held_back;
  const bool tell = !std::exchange(own.told_full, true);
  lock.unlock();
  if (tell)
    log("more than " + std::to_string(options_.max_versions) +
        " versions are wanted: keys that are called seldom run less special ones from now on");
  return false;
}

Result<Executable> JitState::fly(OfProcess& own, const Key& key,
                                 const std::function<std::optional<Executable>()>& there,
                                 const std::function<Result<Executable>()>& compile) {
  std::unique_lock lock(own.mutex);
  if (auto found = there()) return *std::move(found);
  if (const auto found = own.flights.find(key); found != own.flights.end()) {
    const std::shared_ptr<Flight> flight = found->second;
    own.landed.wait(lock, [&] { return flight->result.has_value(); });
    return *flight->result;
  }
  const auto flight = std::make_shared<Flight>();
  own.flights.emplace(key, flight);
  ++own.counters.compiles;
  lock.unlock();
  Result<Executable> result = guarded(Stage::compile, compile);
  lock.lock();
  if (!result) ++own.counters.failures;
  flight->result.emplace(result);
  own.flights.erase(key);
  lock.unlock();
  own.landed.notify_all();
  return result;
}

Result<Executable> JitState::generic(OfProcess& own, const Family& family) {
  const auto there = [&]() -> std::optional<Executable> {
    const auto found = own.generic.find(&family);
    return found == own.generic.end() ? std::nullopt : std::optional(found->second);
  };
  return fly(own, {&family, std::nullopt}, there, [&]() -> Result<Executable> {
    auto made = engine_.compile(family.generic(), device_, options_.compile);
    if (!made) return made;
    std::lock_guard lock(own.mutex);
    own.generic.emplace(&family, *made);
    return made;
  });
}

Result<Executable> JitState::special(OfProcess& own, const Family& family, const CallClass& c) {
  Promises promises = family.promises(c.view());
  const std::vector<int64_t> codes(c.view().begin(), c.view().end());
  if (says_nothing(promises)) {
    auto made = generic(own, family);
    if (made) put(own, {&family, codes, c.hash, *made, true, std::move(promises)});
    return made;
  }
  const auto there = [&]() -> std::optional<Executable> {
    const VersionUse use = own.table.find(&family, c);
    return use && use->own ? use->executable : std::nullopt;
  };
  return fly(own, {&family, codes}, there, [&]() -> Result<Executable> {
    auto module = specialize(family.generic(), promises);
    if (!module) return module.error();
    auto made = engine_.compile(*module, device_, options_.compile);
    if (made) put(own, {&family, codes, c.hash, *made, true, promises});
    return made;
  });
}

Result<Executable> JitState::own_version(const Family& family, const CallClass& c, bool& present) {
  OfProcess& own = own_.get();
  if (const VersionUse use = own.table.find(&family, c); use && use->own) {
    present = true;
    return *use->executable;
  }
  present = false;
  return special(own, family, c);
}

/// A graph holds what was launched into it, and may be replayed whenever. One executable stands there once, as a rule.
void JitState::pin(OfProcess& own, const Executable& executable) {
  std::lock_guard lock(own.mutex);
  for (const Executable& other : own.pinned)
    if (&other.name() == &executable.name()) return;  // names stand in what copies share
  own.pinned.push_back(executable);
}

void JitState::put(OfProcess& own, VersionTable::Content content) {
  std::vector<Executable> dropped;
  {
    std::lock_guard lock(own.mutex);
    own.counters.evictions += own.table.put(std::move(content), options_.max_versions, dropped);
  }
  // Unloading waits for the device, so it is left to a thread that nobody waits for, if there is one.
  if (!dropped.empty())
    static_cast<void>(
        engine_.background_->add([last = std::make_shared<std::vector<Executable>>(std::move(dropped))] {}));
}

bool JitState::enqueue(OfProcess& own, const Family& family, const CallClass& c) {
  const std::vector<int64_t> codes(c.view().begin(), c.view().end());
  {
    std::lock_guard lock(own.mutex);
    if (!own.queued.emplace(&family, codes).second) return true;
  }
  const std::weak_ptr<JitState> weak = weak_from_this();
  const bool added = engine_.background_->add([weak, family = &family, codes, hash = c.hash] {
    // The function may have ended, and with it the family.
    if (const auto self = weak.lock()) self->compile_queued(*family, codes, hash);
  });
  if (added) return true;
  std::lock_guard lock(own.mutex);
  own.queued.erase({&family, codes});
  ++own.counters.queue_full;
  own.idle.notify_all();
  return false;
}

void JitState::compile_queued(const Family& family, const std::vector<int64_t>& codes, uint64_t hash) {
  OfProcess& own = own_.get();
  const auto made = guarded(Stage::compile, [&]() -> Result<Executable> {
    CallClass c;
    std::copy(codes.begin(), codes.end(), c.codes.begin());
    c.size = codes.size();
    c.hash = hash;
    return special(own, family, c);
  });
  if (!made)
    static_cast<void>(guarded(Stage::compile, [&]() -> Result<void> {
      log("the key " + key_json(*this, family, codes) +
          " is served by a less special version: " + to_string(made.error()));
      return {};
    }));
  std::lock_guard lock(own.mutex);
  own.queued.erase({&family, codes});
  own.idle.notify_all();
}

Result<void> JitState::prepare(std::span<const Argument> arguments) {
  OfProcess& own = own_.get();
  auto family = family_of(own, arguments);
  if (!family) return family.error();
  auto made = generic(own, **family);
  return made ? Result<void>() : made.error();
}

Result<Executable> JitState::version(std::span<const Argument> arguments) {
  auto family = family_of(own_.get(), arguments);
  if (!family) return family.error();
  CallClass c;
  (*family)->classify(arguments, c);
  bool present = false;
  return own_version(**family, c, present);
}

void JitState::wait() {
  OfProcess& own = own_.get();
  std::unique_lock lock(own.mutex);
  own.idle.wait(lock, [&] { return own.queued.empty(); });
}

JitCounters JitState::counters() {
  OfProcess& own = own_.get();
  std::lock_guard lock(own.mutex);
  JitCounters counters = own.counters;
  counters.versions = static_cast<uint64_t>(
      std::count_if(own.table.all().begin(), own.table.all().end(), [](const Version* v) { return v->own; }));
  return counters;
}

std::vector<std::pair<const Family*, std::vector<int64_t>>> JitState::loaded() {
  OfProcess& own = own_.get();
  std::lock_guard lock(own.mutex);
  std::vector<std::pair<const Family*, std::vector<int64_t>>> keys;
  for (const Version* v : own.table.all())
    if (v->own) keys.emplace_back(v->family, v->codes);
  std::sort(keys.begin(), keys.end(), [](const auto& a, const auto& b) {
    return a.first != b.first ? a.first->ir_hash() < b.first->ir_hash() : a.second < b.second;
  });
  return keys;
}

void JitState::log(const std::string& text) const { engine_.registry_->log("`" + name_ + "`: " + text); }

Error JitState::sealed(const Family& family, const CallClass& c, ErrorCode code, const std::string& why) const {
  Error error = error_of(ErrorKind::user, Stage::launch, code, "`" + name_ + "`: " + why);
  error.key = key_json(*this, family, c.view());
  return error;
}

}  // namespace runtime

TLXJIT_NAMESPACE_END
