// src/runtime/jit_state.cpp — the families and the quick path of a JitFunction.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "src/runtime/jit_state_p.h"

#include <algorithm>

#include "src/runtime/backend_p.h"
#include "src/runtime/guard_p.h"
#include "src/runtime/registry_p.h"

TLXJIT_NAMESPACE_BEGIN
namespace runtime {

namespace {

constexpr size_t most_signatures = JitFunction::most_signatures;

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
    if (const std::string what = policy.fault(); !what.empty())
      return bad_options(std::string("`").append(name).append("`: ").append(what));
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
  return add_family(own, *signature);
}

Result<const Family*> JitState::family(const Signature& signature) { return add_family(own_.get(), signature); }

Result<const Family*> JitState::add_family(OfProcess& own, const Signature& signature) {
  const auto existing = [&]() -> std::optional<const Family*> {
    for (const auto& family : own.families)
      if (family->signature().arguments == signature.arguments) return family.get();
    return std::nullopt;
  };
  return own.generators.run(own.mutex, signature.arguments, Stage::build, existing, [&]() -> Result<const Family*> {
    TLXJIT_TRY(check_options());
    const auto full = [&]() -> Result<void> {
      if (own.families.size() < most_signatures) return {};
      return error_of(ErrorKind::user, Stage::build, ErrorCode::out_of_resources,
                      "`" + name_ + "` has kernels for " + std::to_string(most_signatures) +
                          " signatures already: calls differ in their numbers, not in their types");
    };
    {
      std::lock_guard lock(own.mutex);
      TLXJIT_TRY(full());
    }
    auto module = generator_(signature, options_.config);  // the user's: without the lock
    if (!module) return module.error();
    std::unique_lock lock(own.mutex);
    TLXJIT_TRY(full());
    auto made = Family::make(signature, std::move(*module), options_, own.families.size() + 1);
    if (!made) return made.error();
    Family* family = made->get();
    if (own.families.empty()) own.table.count_by(engine_.registry_->modules().clock());
    family->next = own.first.load(std::memory_order_relaxed);
    own.families.push_back(std::move(*made));
    own.first.store(family, std::memory_order_release);
    lock.unlock();
    happened(own, EventKind::signature_made, *family, std::nullopt);
    return family;
  });
}

Result<void> JitState::launch(const Stream& stream, std::span<const Argument> arguments, std::source_location at) {
  OfProcess& own = own_.get();
  auto family = family_of(own, arguments);
  if (!family) return family.error();
  CallClass c;
  (*family)->classify(arguments, c);
  if (VersionUse use = own.table.find(*family, c); use && serves(*use)) {
    auto done = use->executable->launch(stream, arguments, at);
    if (use.leave()) collect(own);
    return done;
  }
  auto served = miss(own, **family, c, arguments, stream);
  if (!served) return served.error();
  TLXJIT_TRY(served->executable.launch(stream, arguments, at));
  // Only now, so that the thread that compiles does not run where this one was to. The call is done, whatever becomes
  // of it.
  if (served->stands_in)
    static_cast<void>(guarded(Stage::launch, [&]() -> Result<void> {
      want_own(own, **family, c, *std::move(served));
      return {};
    }));
  return {};
}

Result<void> JitState::prepare(std::span<const Argument> arguments) {
  OfProcess& own = own_.get();
  auto family = family_of(own, arguments);
  if (!family) return family.error();
  auto made = generic(own, **family);
  return made ? Result<void>() : made.error();
}

Result<Executable> JitState::version(std::span<const Argument> arguments) {
  OfProcess& own = own_.get();
  auto family = family_of(own, arguments);
  if (!family) return family.error();
  CallClass c;
  (*family)->classify(arguments, c);
  return special(own, **family, c, room());
}

void JitState::wait() {
  OfProcess& own = own_.get();
  std::unique_lock lock(own.mutex);
  own.idle.wait(lock, [&] { return own.queued.empty(); });
}

JitCounters JitState::counters() {
  OfProcess& own = own_.get();
  JitCounters counters = jit_counters(own.sums);
  std::lock_guard lock(own.mutex);
  counters.versions = own.table.own_count();
  return counters;
}

std::vector<std::pair<const Family*, std::vector<int64_t>>> JitState::loaded() {
  OfProcess& own = own_.get();
  std::lock_guard lock(own.mutex);
  std::vector<std::pair<const Family*, std::vector<int64_t>>> keys;
  for (const Version* v : own.table.all())
    if (v->own()) keys.emplace_back(v->family, v->codes);
  std::sort(keys.begin(), keys.end(), [](const auto& a, const auto& b) {
    return a.first != b.first ? a.first->ir_hash() < b.first->ir_hash() : a.second < b.second;
  });
  return keys;
}

void JitState::happened(OfProcess& own, EventKind kind, const Family& family,
                        std::optional<std::span<const int64_t>> codes, std::string_view text) const noexcept {
  const Event event{.kind = kind, .kernel = name_, .text = text};
  own.sums.add(event);
  engine_.registry_->events()->happened(event, [&] { return codes ? key_json(*this, family, *codes) : std::string(); });
}

void JitState::log(const std::string& text) const { engine_.registry_->log("`" + name_ + "`: " + text); }

}  // namespace runtime
TLXJIT_NAMESPACE_END
