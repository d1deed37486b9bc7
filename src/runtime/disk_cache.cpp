// src/runtime/disk_cache.cpp — looking up, publishing, and what becomes of failures.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "src/runtime/disk_cache_p.h"

TLXJIT_NAMESPACE_BEGIN
namespace runtime {

DiskCache::DiskCache(DiskCacheOptions options) : options_(std::move(options)) {
  if (options_.store) add(Kind::store, options_.store);
  if (!options_.user_directory.empty()) {
    user_ = std::make_shared<DirectoryStore>(DirectoryOptions{options_.user_directory, false, false});
    add(Kind::user, user_);
    sweeper_ = std::make_unique<Sweeper>(user_, options_.most_bytes, [this](const Result<Trimmed>& swept) {
      if (swept) {
        counts_.evictions += swept->entries;
        counts_.evicted_bytes += swept->bytes;
      } else {
        ++counts_.errors;
        tell(told_sweep_, "the cache of compiled kernels is not swept: " + swept.error().message);
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
      ++counts_.errors;
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
  tiers_.push_back(std::move(tier));
}

void DiskCache::tell(std::atomic<bool>& told, const std::string& text) const {
  if (told.exchange(true) || !options_.log) return;
  try {
    options_.log(text);
  } catch (...) {  // it is the host's own
  }
}

void DiskCache::failed(Tier& tier, std::atomic<bool>& told, const char* what, const Error& error) {
  ++counts_.errors;
  if (!told) tell(told, tier.store->describe() + " " + what + ", kernels are compiled without it: " + error.message);
}

std::optional<Entry> DiskCache::look_up_in(Tier& tier, const std::string& key, std::string_view material) {
  // A Store of the host may throw.
  auto got = guarded(Stage::cache, [&] { return tier.store->get(key); });
  if (!got) {
    failed(tier, tier.told_read, "cannot be read", got.error());
    return {};
  }
  if (!*got) return {};
  counts_.bytes_read += (*got)->size();
  auto entry = decode(**got);
  if (entry && entry->material == material) return std::move(*entry);
  if (entry && options_.key(entry->material) == key) return {};  // another kernel with this hash
  drop_from(tier, key, entry ? "it is the entry of another key" : entry.error().message);
  return {};
}

void DiskCache::drop_from(Tier& tier, const std::string& key, const std::string& why) {
  ++counts_.bad;
  if (!tier.told_bad)
    tell(tier.told_bad, tier.store->describe() + " has an entry " + key + " that is not used: " + why);
  if (!tier.written()) return;
  auto removed = guarded(Stage::cache, [&] { return tier.store->remove(key); });
  if (!removed) failed(tier, tier.told_write, "cannot be written", removed.error());
}

void DiskCache::drop(std::string_view material, const std::string& why) {
  const std::string key = options_.key(material);
  for (const auto& tier : tiers_) {
    if (!tier->written()) continue;
    // Of the tiers only one may have given it.
    auto got = guarded(Stage::cache, [&] { return tier->store->get(key); });
    if (got && *got) drop_from(*tier, key, why);
  }
}

std::optional<Entry> DiskCache::look_up(std::string_view material) {
  auto found = guarded(Stage::cache, [&]() -> Result<std::optional<Entry>> {
    const std::string key = options_.key(material);
    for (const auto& tier : tiers_)
      if (auto entry = look_up_in(*tier, key, material)) {
        ++counts_.hits[static_cast<size_t>(tier->kind)];
        return entry;
      }
    return std::optional<Entry>();
  });
  if (found) return std::move(*found);
  ++counts_.errors;  // no memory for it
  return {};
}

std::optional<Entry> DiskCache::find(std::string_view material) {
  if (empty()) return {};
  auto entry = look_up(material);
  if (!entry) ++counts_.misses;
  return entry;
}

DiskCache::Flight DiskCache::begin(std::string_view material, const Deadline& deadline) {
  Flight flight;
  if (!user_ || options_.longest_wait.count() <= 0) return flight;
  const auto done = guarded(Stage::cache, [&]() -> Result<void> {
    flight.lock = KeyLock(*user_, options_.key(material), Deadline(options_.longest_wait), deadline);
    if (flight.lock.waited()) ++counts_.waits;
    // Also where it was free at once: another process may have published since the caller looked.
    if (flight.lock.held()) flight.entry = look_up(material);
    return {};
  });
  if (!done) ++counts_.errors;  // no memory for it
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
      ++counts_.published;
      counts_.bytes_written += bytes.size();
      if (tier->kind == Kind::user) sweeper_->wrote(bytes.size());
    }
    return {};
  });
  if (!done) ++counts_.errors;  // no memory for it
}

CacheCounters DiskCache::counters() const {
  CacheCounters c;
  c.store_hits = counts_.hits[static_cast<size_t>(Kind::store)];
  c.user_hits = counts_.hits[static_cast<size_t>(Kind::user)];
  c.system_hits = counts_.hits[static_cast<size_t>(Kind::system)];
  c.bundle_hits = counts_.hits[static_cast<size_t>(Kind::bundle)];
  c.misses = counts_.misses;
  c.published = counts_.published;
  c.bytes_read = counts_.bytes_read;
  c.bytes_written = counts_.bytes_written;
  c.bad_entries = counts_.bad;
  c.errors = counts_.errors;
  c.evictions = counts_.evictions;
  c.evicted_bytes = counts_.evicted_bytes;
  c.waits = counts_.waits;
  return c;
}

void DiskCache::wait_for_sweep() {
  if (sweeper_) sweeper_->wait();
}

}  // namespace runtime
TLXJIT_NAMESPACE_END
