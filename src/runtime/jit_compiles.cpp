// src/runtime/jit_compiles.cpp — the versions of a JitFunction: who compiles them, once each, and where they are put.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <algorithm>

#include "src/runtime/background_p.h"
#include "src/runtime/guard_p.h"
#include "src/runtime/jit_state_p.h"
#include "src/runtime/registry_p.h"

TLXJIT_NAMESPACE_BEGIN
namespace runtime {

struct JitState::Queued {
  const std::weak_ptr<JitState> function;  // which may end first, and with it all that it has
  const uint64_t hash;
  std::optional<Queue::iterator> place = {};

  CallClass call_class() const {
    CallClass c;
    const Codes& codes = (*place)->second;
    std::copy(codes.begin(), codes.end(), c.codes.begin());
    c.size = codes.size();
    c.hash = hash;
    return c;
  }
  ~Queued() {
    const auto self = place ? function.lock() : nullptr;
    if (!self) return;
    OfProcess& own = self->own_.get();
    std::lock_guard lock(own.mutex);
    // What waits for a compile that nobody does is asked for again by the next call.
    if (Version* v = own.table.at((*place)->first, call_class()); v && v->standing.load() == Standing::queued)
      v->standing.store(Standing::failed);
    own.queued.erase(*place);
    own.idle.notify_all();
  }
};

bool JitState::Removed::put(VersionTable::Content content, VersionTable::Room room) {
  const auto done = own.table.put(std::move(content), function.options_.max_versions, room, executables);
  evicted += done.evicted;
  return done.in;
}

JitState::Removed::~Removed() {
  if (evicted > 0) {
    const Event event{.kind = EventKind::version_evicted, .kernel = function.name_, .count = evicted};
    own.sums.add(event);
    function.engine_.registry_->events()->happened(event);
  }
  if (executables.empty()) return;
  // Unloading waits for the device, so it is left to a thread that nobody waits for, if there is one.
  static_cast<void>(guarded(Stage::run, [&]() -> Result<void> {
    function.engine_.background_->destroy(std::move(executables));
    return {};
  }));
}

/// Once for a key, however many threads ask.
Result<Executable> JitState::compile(OfProcess& own, const Key& key,
                                     const std::function<std::optional<Executable>()>& there,
                                     const std::function<Result<Executable>()>& make) {
  return own.compiles.run(own.mutex, key, Stage::compile, there, [&] {
    const auto codes = key.second ? std::optional<std::span<const int64_t>>(*key.second) : std::nullopt;
    happened(own, EventKind::version_started, *key.first, codes);
    auto made = guarded(Stage::compile, make);
    if (made)
      happened(own, EventKind::version_ready, *key.first, codes, ExecutableState::of(*made)->key);
    else
      happened(own, EventKind::version_failed, *key.first, codes, made.error().message);
    return made;
  });
}

Result<Executable> JitState::generic(OfProcess& own, const Family& family) {
  const auto there = [&]() -> std::optional<Executable> {
    const auto found = own.generic.find(&family);
    return found == own.generic.end() ? std::nullopt : std::optional(found->second.executable);
  };
  return compile(own, {&family, std::nullopt}, there, [&]() -> Result<Executable> {
    auto made = engine_.compile(family.generic(), device_, options_.compile);
    if (!made) return made;
    std::lock_guard lock(own.mutex);
    own.generic.insert_or_assign(&family, OfProcess::Generic{*made, engine_.registry_->modules().clock()->tick()});
    return made;
  });
}

Result<Executable> JitState::special(OfProcess& own, const Family& family, const CallClass& c,
                                     VersionTable::Room room) {
  const auto there = [&]() -> std::optional<Executable> {
    const Version* v = own.table.at(&family, c);
    return v && v->own() ? v->executable : std::nullopt;
  };
  const Promises promises = family.promises(c.view());
  if (promises.say_nothing()) {
    {
      std::lock_guard lock(own.mutex);
      if (auto found = there()) return *std::move(found);
    }
    auto made = generic(own, family);
    if (made) keep(own, family, c, *made, promises, room);
    return made;
  }
  return compile(own, {&family, Codes(c.view().begin(), c.view().end())}, there, [&]() -> Result<Executable> {
    auto module = specialize(family.generic(), promises);
    if (!module) return module.error();
    auto made = engine_.compile(*module, device_, options_.compile);
    if (made) keep(own, family, c, *made, promises, room);
    return made;
  });
}

void JitState::keep(OfProcess& own, const Family& family, const CallClass& c, const Executable& made,
                    const Promises& promises, VersionTable::Room room) {
  Removed removed{*this, own};
  std::lock_guard lock(own.mutex);
  if (!own.settled.contains(&family))
    removed.put({&family, Codes(c.view().begin(), c.view().end()), c.hash, made, Standing::own, promises}, room);
}

Result<bool> JitState::warm(const Family& family, const CallClass& c) {
  OfProcess& own = own_.get();
  const auto left_out = [&](ErrorCode code, const std::string& why) {
    return error_of(ErrorKind::user, Stage::compile, code, "`" + name_ + "`: the key is left out, for " + why);
  };
  /// Whether it is there; an error where it may not be.
  const auto state = [&]() -> Result<bool> {
    std::lock_guard lock(own.mutex);
    if (const Version* v = own.table.at(&family, c); v && v->own()) return true;
    if (own.settled.contains(&family))
      return left_out(ErrorCode::bad_argument,
                      "with JitOptions::stable a function is warmed before its first call, which was there");
    if (!own.table.has_room(options_.max_versions, VersionTable::Room::stand_ins))
      return left_out(ErrorCode::out_of_resources, "there are as many as JitOptions::max_versions, " +
                                                       std::to_string(options_.max_versions) + ", allows");
    return false;
  };
  auto there = state();
  if (!there || *there) return there;
  auto made = special(own, family, c, VersionTable::Room::stand_ins);
  if (!made) return made.error();
  there = state();
  return there ? Result<bool>(false) : there.error();
}

void JitState::enqueue(OfProcess& own, const Family& family, const CallClass& c, Served served) {
  const auto key = std::make_shared<Queued>(weak_from_this(), c.hash);
  bool queued = false, stands_in = false;
  const bool generic = served.promises.say_nothing();
  {
    Removed removed{*this, own};
    std::lock_guard lock(own.mutex);
    const auto [place, added] = own.queued.emplace(&family, Codes(c.view().begin(), c.view().end()));
    if (!added) return;
    key->place = place;
    Version* v = own.table.at(&family, c);
    if (v && v->own()) return;
    // Under the lock, so that nothing comes of it before the other stands in.
    queued = engine_.background_->add([key] {
      if (const auto self = key->function.lock()) self->compile_queued(*key);
    });
    if (queued && v)
      v->standing.store(Standing::queued);
    else if (queued)
      stands_in = removed.put(
          {&family, place->second, c.hash, std::move(served.executable), Standing::queued, std::move(served.promises)},
          room());
  }
  if (!queued) happened(own, EventKind::queue_full, family, c.view());
  if (stands_in) happened(own, EventKind::stand_in, family, c.view(), generic ? "generic" : "special");
}

void JitState::compile_queued(const Queued& key) {
  OfProcess& own = own_.get();
  const Family& family = *(*key.place)->first;
  const CallClass c = key.call_class();
  const auto made = guarded(Stage::compile, [&] { return special(own, family, c, room()); });
  if (!made) failed(own, family, c, made.error());
}

void JitState::failed(OfProcess& own, const Family& family, const CallClass& c, const Error& error) noexcept {
  using namespace std::chrono;
  constexpr int most_tries = 10;
  // Threads, memory and time may be there later. Another compiler, or rights, need another process; and what the kernel
  // or its numbers cause comes again.
  const bool may_pass = error.code == ErrorCode::out_of_resources || error.code == ErrorCode::timed_out;
  seconds pause{0};
  {
    std::lock_guard lock(own.mutex);
    Version* v = own.table.at(&family, c);
    if (v && !v->own() && v->standing.load() != Standing::stable) {
      if (error.kind == ErrorKind::environment && may_pass && ++v->failures < most_tries)
        pause = seconds(int64_t{1} << (v->failures - 1));
      const auto again = pause.count() > 0 ? Version::Clock::now() + pause : Version::Clock::time_point::max();
      v->again.store(again.time_since_epoch().count());
      v->standing.store(Standing::failed);
    }
  }
  static_cast<void>(guarded(Stage::compile, [&]() -> Result<void> {
    log("the key " + key_json(*this, family, c.view()) + " is served by a less special version" +
        (pause.count() > 0 ? ", and tried again in " + std::to_string(pause.count()) + " s: " : ": ") +
        to_string(error));
    return {};
  }));
}

void JitState::collect(OfProcess& own) noexcept {
  Removed removed{*this, own};
  static_cast<void>(guarded(Stage::run, [&]() -> Result<void> {
    std::lock_guard lock(own.mutex);
    own.table.collect(removed.executables);
    return {};
  }));
}

}  // namespace runtime
TLXJIT_NAMESPACE_END
