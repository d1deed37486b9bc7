// src/runtime/disk_cache.cpp — looking up, publishing, and what becomes of failures.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "src/runtime/disk_cache_p.h"

#include <algorithm>

#include "src/runtime/material_p.h"

TLXJIT_NAMESPACE_BEGIN
namespace runtime {

namespace {

constexpr const char* no_memory = "there is no memory for it";

/// By kind of tier.
constexpr const char* names[] = {"store", "user", "system", "bundle"};
constexpr EventKind hits[] = {EventKind::store_hit, EventKind::user_hit, EventKind::system_hit, EventKind::bundle_hit};

DiskCacheOptions with_events(DiskCacheOptions options) {
  if (!options.events) options.events = std::make_shared<Events>();
  return options;
}

}  // namespace

DiskCache::DiskCache(DiskCacheOptions options) : options_(with_events(std::move(options))) {
  if (options_.store) add(Kind::store, options_.store);
  if (!options_.user_directory.empty()) {
    user_ = std::make_shared<DirectoryStore>(DirectoryOptions{options_.user_directory, false, false});
    add(Kind::user, user_);
    sweeper_ = std::make_unique<Sweeper>(
        user_, options_.most_bytes, [this](const Trimmed& trimmed, const Result<void>& swept) {
          if (trimmed.entries > 0)
            happened({.kind = EventKind::swept, .count = trimmed.entries, .bytes = trimmed.bytes});
          if (!swept) {
            error(swept.error().message);
            tell(told_sweep_, "the cache of compiled kernels is not wholly swept: " + swept.error().message);
          }
        });
  }
  if (!options_.system_directory.empty())
    add(Kind::system, std::make_shared<DirectoryStore>(DirectoryOptions{options_.system_directory, true, true}));
  for (const std::string& file : options_.bundles) {
    auto bundle = bundle_store(file);
    if (bundle) {
      add(Kind::bundle, std::move(*bundle));
    } else {
      error(bundle.error().message);
      std::atomic<bool> told = false;
      tell(told, "a bundle of compiled kernels is left out: " + bundle.error().message);
    }
  }
}

DiskCache::~DiskCache() = default;

void DiskCache::add(Kind kind, std::shared_ptr<Store> store) {
  auto tier = std::make_unique<Tier>();
  tier->kind = kind;
  tier->store = std::move(store);
  // Asked here alone: a Store of the host may throw.
  auto name = guarded(Stage::cache, [&]() -> Result<std::string> { return tier->store->describe(); });
  tier->name = name ? std::move(*name) : "a store of compiled kernels";
  const auto any = guarded(Stage::cache, [&]() -> Result<bool> { return tier->store->any_compiler(); });
  // Whether it may be written is not known.
  if (!any) return failed(*tier, tier->told_read, "cannot be read", any.error());
  tier->any_compiler = *any;
  tiers_.push_back(std::move(tier));
}

void DiskCache::tell(std::atomic<bool>& told, const std::string& text) const {
  if (told.exchange(true) || !options_.log) return;
  try {
    options_.log(text);
  } catch (...) {  // it is the host's own
  }
}

void DiskCache::failed(Tier& tier, std::atomic<bool>& told, const char* what, const Error& why) {
  error(why.message);
  if (!told) tell(told, tier.name + " " + what + ", kernels are compiled without it: " + why.message);
}

std::optional<Entry> DiskCache::look_up_in(Tier& tier, const std::string& key, std::string_view material) {
  // A Store of the host may throw.
  auto got = guarded(Stage::cache, [&] { return tier.store->get(key); });
  if (!got) {
    failed(tier, tier.told_read, "cannot be read", got.error());
    return {};
  }
  if (!*got) return {};
  const uint64_t bytes = (*got)->size();
  const auto kind = static_cast<size_t>(tier.kind);
  happened({.kind = EventKind::entry_read, .key = key, .bytes = bytes, .text = names[kind]});
  auto entry = decode(**got);
  if (entry && entry->material == material) {
    happened({.kind = hits[kind], .kernel = entry->kernel, .key = key, .bytes = bytes, .text = names[kind]});
    return std::move(*entry);
  }
  if (entry && options_.key(entry->material) == key) return {};  // another kernel with this hash
  drop_from(tier, key, entry ? "it is the entry of another key" : entry.error().message);
  return {};
}

void DiskCache::drop_from(Tier& tier, const std::string& key, const std::string& why) {
  happened({.kind = EventKind::bad_entry, .key = key, .text = why});
  if (!tier.told_bad) tell(tier.told_bad, tier.name + " has an entry " + key + " that is not used: " + why);
  if (!tier.written()) return;
  auto removed = guarded(Stage::cache, [&] { return tier.store->remove(key); });
  if (!removed) failed(tier, tier.told_write, "cannot be written", removed.error());
}

bool DiskCache::drop(std::string_view material, const std::string& why) {
  const std::string key = options_.key(material);
  bool dropped = false;
  for (const auto& tier : tiers_) {
    if (!tier->written()) continue;
    // Of the tiers only one may have given it.
    auto got = guarded(Stage::cache, [&] { return tier->store->get(key); });
    if (!got || !*got) continue;
    drop_from(*tier, key, why);
    dropped = true;
  }
  return dropped;
}

std::optional<Entry> DiskCache::look_up(std::string_view material) {
  auto found = guarded(Stage::cache, [&]() -> Result<std::optional<Entry>> {
    const std::string key = options_.key(material);
    std::string shipped, shipped_key;
    for (const auto& tier : tiers_) {
      const bool any = tier->any_compiler;
      if (any && shipped.empty()) shipped = without_compiler(material), shipped_key = options_.key(shipped);
      if (auto entry = look_up_in(*tier, any ? shipped_key : key, any ? shipped : material)) return entry;
    }
    return std::optional<Entry>();
  });
  if (found) return std::move(*found);
  error(no_memory);
  return {};
}

bool DiskCache::any_compiler() const {
  return std::any_of(tiers_.begin(), tiers_.end(), [](const auto& tier) { return tier->any_compiler; });
}

std::optional<Entry> DiskCache::find(std::string_view material) {
  if (empty()) return {};
  auto entry = look_up(material);
  if (!entry) options_.events->happened({EventKind::tier_miss}, [&] { return options_.key(material); });
  return entry;
}

DiskCache::Flight DiskCache::begin(std::string_view material, const Deadline& deadline) {
  Flight flight;
  if (!user_ || options_.longest_wait.count() <= 0) return flight;
  const auto done = guarded(Stage::cache, [&]() -> Result<void> {
    flight.lock = KeyLock(*user_, options_.key(material), Deadline(options_.longest_wait), deadline);
    if (flight.lock.waited())
      options_.events->happened({EventKind::process_wait}, [&] { return options_.key(material); });
    // Also where it was free at once: another process may have published since the caller looked. And where the wait
    // has ended without it: whoever holds it may have published all the same.
    if (flight.lock.held() || flight.lock.waited()) flight.entry = look_up(material);
    return {};
  });
  if (!done) error(no_memory);
  return flight;
}

void DiskCache::publish(const Entry& entry) {
  if (empty()) return;
  const auto done = guarded(Stage::cache, [&]() -> Result<void> {
    const std::string key = options_.key(entry.material);
    const std::vector<char> bytes = encode(entry);
    for (const auto& tier : tiers_) {
      if (!tier->written()) continue;
      auto put = guarded(Stage::cache, [&] { return tier->store->put(key, bytes); });
      if (!put) {
        failed(*tier, tier->told_write, "cannot be written", put.error());
        continue;
      }
      happened({.kind = EventKind::entry_published,
                .kernel = entry.kernel,
                .key = key,
                .bytes = bytes.size(),
                .text = names[static_cast<size_t>(tier->kind)]});
      if (tier->kind == Kind::user) sweeper_->wrote(bytes.size());
    }
    return {};
  });
  if (!done) error(no_memory);
}

void DiskCache::wait_for_sweep() {
  if (sweeper_) sweeper_->wait();
}

}  // namespace runtime
TLXJIT_NAMESPACE_END
