// tests/unit/runtime/disk_cache_test.cpp — the tiers: who is asked, what is told, what is taken away.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "src/runtime/disk_cache_p.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/stat.h>

#include <atomic>
#include <cstdarg>
#include <thread>

#include "tests/unit/runtime/child.h"
#include "tests/unit/runtime/entries.h"
#include "tests/unit/runtime/temporary_directory.h"

namespace {
/// Locks that another had.
std::atomic<int> refused_locks = 0;
}  // namespace

/// In place of the C library's.
extern "C" int fcntl(int fd, int command, ...) {
  static auto* const real = reinterpret_cast<int (*)(int, int, ...)>(dlsym(RTLD_NEXT, "fcntl"));
  va_list list;
  va_start(list, command);
  void* const argument = va_arg(list, void*);
  va_end(list);
  const int result = real(fd, command, argument);
  if (result != 0 && command == F_OFD_SETLK && (errno == EAGAIN || errno == EACCES)) ++refused_locks;
  return result;
}

namespace tlxjit::runtime_test {
namespace {

using runtime::DiskCache;
using runtime::DiskCacheOptions;
using runtime::Entry;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
namespace fs = std::filesystem;

/// A service's own store: a map, with failures on demand.
class MapStore final : public Store {
 public:
  Result<std::optional<std::vector<char>>> get(std::string_view key) override {
    if (throws) throw std::runtime_error("the service's own fault");
    if (fails) return failure();
    std::lock_guard lock(mutex);
    const auto found = entries.find(std::string(key));
    if (found == entries.end()) return std::optional<std::vector<char>>();
    return std::optional(found->second);
  }
  Result<void> put(std::string_view key, std::span<const char> bytes) override {
    if (throws) throw std::runtime_error("the service's own fault");
    if (fails) return failure();
    std::lock_guard lock(mutex);
    entries[std::string(key)].assign(bytes.begin(), bytes.end());
    return {};
  }
  Result<void> remove(std::string_view key) override {
    std::lock_guard lock(mutex);
    entries.erase(std::string(key));
    return {};
  }
  Result<std::vector<StoredEntry>> list() override {
    std::lock_guard lock(mutex);
    std::vector<StoredEntry> all;
    for (const auto& [key, bytes] : entries)
      all.push_back({key, bytes.size(), std::chrono::system_clock::time_point(std::chrono::seconds(all.size()))});
    return all;
  }
  std::string describe() const override { return "the service's map"; }

  static Error failure() {
    Error error;
    error.message = "the network is down";
    return error;
  }
  std::map<std::string, std::vector<char>> entries;
  std::mutex mutex;
  bool fails = false, throws = false;
};

struct Lines {
  std::mutex mutex;
  std::vector<std::string> all;
  std::function<void(std::string_view)> sink() {
    return [this](std::string_view line) {
      std::lock_guard lock(mutex);
      all.emplace_back(line);
    };
  }
};

DiskCacheOptions in(const std::string& directory, Lines& lines) {
  DiskCacheOptions o;
  o.user_directory = directory;
  o.log = lines.sink();
  return o;
}

TEST(DiskCache, WhatIsPublishedIsFoundByOthers) {
  const TemporaryDirectory place;
  Lines lines;
  const Entry entry = entry_of(1);
  {
    DiskCache cache(in(place.path(), lines));
    EXPECT_FALSE(cache.find(entry.material));
    cache.publish(entry);
    EXPECT_EQ(cache.find(entry.material), entry);
    const CacheCounters c = cache.counters();
    EXPECT_EQ(c.misses, 1u);
    EXPECT_EQ(c.user_hits, 1u);
    EXPECT_EQ(c.published, 1u);
    EXPECT_EQ(c.bytes_written, runtime::encode(entry).size());
    EXPECT_EQ(c.bytes_read, c.bytes_written);
  }
  EXPECT_TRUE(in_child([&] {
    DiskCache cache(in(place.path(), lines));
    return cache.find(entry.material) == entry;
  }));
  EXPECT_THAT(lines.all, IsEmpty());
}

TEST(DiskCache, WithoutTiersThereIsNothing) {
  DiskCache cache({});
  EXPECT_TRUE(cache.empty());
  cache.publish(entry_of(1));
  EXPECT_FALSE(cache.find("material 1"));
  EXPECT_FALSE(cache.begin("material 1").entry);
  EXPECT_EQ(cache.counters().misses, 0u);
}

TEST(DiskCache, TiersAreAskedInTheirOrder) {
  const TemporaryDirectory user, system, bundles;
  Lines lines;
  const auto publish_at = [&](const std::string& directory, int n, const std::string& report) {
    DiskCacheOptions o;
    o.user_directory = directory;
    Entry entry = entry_of(n);
    entry.report = report;
    DiskCache(o).publish(entry);
    return entry;
  };
  auto store = std::make_shared<MapStore>();
  for (int n = 0; n < 4; ++n) {
    Entry entry = entry_of(n);
    entry.report = "bundle";
    if (n == 0) {
      std::vector<BundledEntry> all;
      for (int i = 0; i < 4; ++i) {
        Entry each = entry_of(i);
        each.report = "bundle";
        all.push_back({key_of(each), runtime::encode(each)});
      }
      ASSERT_TRUE(write_bundle(bundles / "bundle", all).ok());
    }
    if (n < 3) publish_at(system.path(), n, "system");
    if (n < 2) publish_at(user.path(), n, "user");
    entry.report = "store";
    if (n < 1) store->entries[key_of(entry)] = runtime::encode(entry);
  }
  DiskCacheOptions o = in(user.path(), lines);
  o.store = store;
  o.system_directory = system.path();
  o.bundles = {bundles / "bundle"};
  DiskCache cache(o);
  // The system's directory is root's, or is not used.
  const bool root = geteuid() == 0;
  const char* expected[] = {"store", "user", root ? "system" : "bundle", "bundle"};
  for (int n = 0; n < 4; ++n) {
    const auto found = cache.find(entry_of(n).material);
    ASSERT_TRUE(found);
    EXPECT_EQ(found->report, expected[n]);
  }
  const CacheCounters c = cache.counters();
  EXPECT_EQ(c.store_hits, 1u);
  EXPECT_EQ(c.user_hits, 1u);
  EXPECT_EQ(c.system_hits, root ? 1u : 0u);
  EXPECT_EQ(c.bundle_hits, root ? 1u : 2u);
  cache.publish(entry_of(9));
  EXPECT_EQ(cache.counters().published, 2u) << "into the service's store and the user's directory";
  EXPECT_EQ(store->entries.size(), 2u);
  fs::remove_all(user.path());
  EXPECT_TRUE(cache.find(entry_of(9).material)) << "from the store";
}

TEST(DiskCache, BL_189_ADamagedEntryIsDroppedAndTold) {
  const TemporaryDirectory place;
  Lines lines;
  DiskCache cache(in(place.path(), lines));
  const Entry entry = entry_of(1);
  const std::string file = file_of(place.path(), key_of(entry));
  const std::vector<char> good = runtime::encode(entry);
  std::vector<char> flipped = good;
  flipped[good.size() / 2] ^= 1;
  const std::vector<std::vector<char>> bad = {
      {},
      {good[0]},
      {good.begin(), good.begin() + static_cast<std::ptrdiff_t>(good.size() / 2)},
      {good.begin(), good.end() - 1},
      flipped,
      runtime::encode(entry_of(2))};
  for (size_t i = 0; i < bad.size(); ++i) {
    cache.publish(entry);
    ASSERT_EQ(cache.find(entry.material), entry);
    write_file(file, bad[i]);
    EXPECT_FALSE(cache.find(entry.material)) << i;
    EXPECT_FALSE(fs::exists(file)) << "the next compile puts a whole one there";
    EXPECT_EQ(cache.counters().bad_entries, i + 1);
  }
  EXPECT_THAT(lines.all, ElementsAre(HasSubstr("has an entry " + key_of(entry) + " that is not used"))) << "told once";
}

TEST(DiskCache, BL_189_SwappedEntriesAreNotTakenForOneAnother) {
  const TemporaryDirectory place;
  Lines lines;
  DiskCache cache(in(place.path(), lines));
  const Entry one = entry_of(1), two = entry_of(2);
  cache.publish(one);
  cache.publish(two);
  const std::string a = file_of(place.path(), key_of(one)), b = file_of(place.path(), key_of(two));
  fs::rename(a, place / "x");
  fs::rename(b, a);
  fs::rename(place / "x", b);
  EXPECT_FALSE(cache.find(one.material));
  EXPECT_FALSE(cache.find(two.material));
  EXPECT_EQ(cache.counters().bad_entries, 2u);
  ASSERT_EQ(lines.all.size(), 1u);
  EXPECT_THAT(lines.all[0], HasSubstr("it is the entry of another key"));
}

TEST(DiskCache, BL_205_MaterialsOfOneKeyAreTwoKernels) {
  const TemporaryDirectory place;
  Lines lines;
  DiskCacheOptions o = in(place.path(), lines);
  o.key = [](std::string_view) { return std::string(32, '7'); };
  DiskCache cache(o);
  cache.publish(entry_of(1));
  EXPECT_FALSE(cache.find(entry_of(2).material));
  cache.publish(entry_of(2));
  EXPECT_FALSE(cache.find(entry_of(2).material)) << "the first one has the place";
  EXPECT_EQ(cache.find(entry_of(1).material), entry_of(1));
  EXPECT_EQ(cache.counters().bad_entries, 0u);
  EXPECT_THAT(lines.all, IsEmpty());
}

TEST(DiskCache, ReadOnlyTiersKeepTheirBadEntries) {
  const TemporaryDirectory place;
  Lines lines;
  const Entry entry = entry_of(1);
  ASSERT_TRUE(write_bundle(place / "bundle", std::vector<BundledEntry>{{key_of(entry), runtime::encode(entry)}}).ok());
  std::vector<char> bytes = read_file(place / "bundle");
  bytes[bytes.size() - 20] ^= 4;
  write_file(place / "bundle", bytes);
  DiskCacheOptions o;
  o.bundles = {place / "bundle"};
  o.log = lines.sink();
  DiskCache cache(o);
  EXPECT_FALSE(cache.find(entry.material));
  EXPECT_FALSE(cache.find(entry.material));
  EXPECT_EQ(cache.counters().bad_entries, 2u);
  EXPECT_EQ(read_file(place / "bundle"), bytes);
  EXPECT_EQ(lines.all.size(), 1u);
}

TEST(DiskCache, AStoreThatFailsFailsNoCall) {
  const TemporaryDirectory place;
  Lines lines;
  auto store = std::make_shared<MapStore>();
  DiskCacheOptions o = in(place.path(), lines);
  o.store = store;
  DiskCache cache(o);
  for (int round = 0; round < 3; ++round) {
    store->fails = round == 0;
    store->throws = round > 0;
    cache.publish(entry_of(1));
    EXPECT_EQ(cache.find("material 1"), entry_of(1)) << "from the next tier";
  }
  EXPECT_EQ(cache.counters().errors, 6u);
  EXPECT_THAT(lines.all, ElementsAre("the service's map cannot be written, kernels are compiled without it: the "
                                     "network is down",
                                     "the service's map cannot be read, kernels are compiled without it: the network "
                                     "is down"));
}

TEST(DiskCache, ABundleThatCannotBeOpenedIsLeftOut) {
  const TemporaryDirectory place;
  Lines lines;
  write_file(place / "bundle", std::vector<char>(100));
  DiskCacheOptions o;
  o.bundles = {place / "bundle", place / "none"};
  o.log = lines.sink();
  DiskCache cache(o);
  EXPECT_TRUE(cache.empty());
  EXPECT_THAT(lines.all,
              ElementsAre(HasSubstr("is no bundle: it does not begin as one"), HasSubstr("No such file or directory")));
}

TEST(DiskCache, TheLogMayThrowAndMayAskAgain) {
  const TemporaryDirectory place;
  DiskCacheOptions o;
  o.user_directory = "no/absolute/path";
  DiskCache* self = nullptr;
  int told = 0;
  o.log = [&](std::string_view) {
    ++told;
    EXPECT_FALSE(self->find("material 3"));
    throw std::runtime_error("of the host");
  };
  DiskCache cache(o);
  self = &cache;
  EXPECT_FALSE(cache.find("material 1"));
  EXPECT_FALSE(cache.find("material 2"));
  cache.publish(entry_of(1));
  EXPECT_EQ(told, 2) << "once of reading, once of writing";
}

TEST(DiskCache, OneProcessCompilesAndOthersWait) {
  const TemporaryDirectory place;
  Lines lines;
  DiskCache cache(in(place.path(), lines)), other(in(place.path(), lines));
  auto flight = std::make_unique<DiskCache::Flight>(cache.begin("material 1"));
  EXPECT_FALSE(flight->entry);
  const int before = refused_locks;
  std::thread waiting([&] {
    const auto second = other.begin("material 1");
    ASSERT_TRUE(second.entry) << "it waited, and looked again";
    EXPECT_EQ(*second.entry, entry_of(1));
  });
  EXPECT_FALSE(other.begin("material 2").entry) << "another kernel need not wait";
  while (refused_locks == before) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  cache.publish(entry_of(1));
  flight.reset();
  waiting.join();
  EXPECT_EQ(other.counters().waits, 1u);
  EXPECT_EQ(cache.counters().waits, 0u);
}

TEST(DiskCache, NoOneWaitsLongerThanALimit) {
  const TemporaryDirectory place;
  Lines lines;
  DiskCacheOptions o = in(place.path(), lines);
  o.longest_wait = std::chrono::milliseconds(50);
  DiskCache cache(o);
  o.longest_wait = std::chrono::hours(1);
  DiskCache patient(o);
  const auto flight = cache.begin("material 1");
  EXPECT_FALSE(cache.begin("material 1").entry) << "its own limit";
  EXPECT_FALSE(patient.begin("material 1", runtime::Deadline(std::chrono::milliseconds(50))).entry) << "the call's";
  patient.publish(entry_of(1));
  EXPECT_TRUE(cache.begin("material 1").entry) << "the lock is held all the same: it looks again when its wait ends";
}

TEST(DiskCache, AForkedChildGoesOn) {
  const TemporaryDirectory place;
  Lines lines;
  DiskCache cache(in(place.path(), lines));
  cache.publish(entry_of(1));
  auto flight = std::make_unique<DiskCache::Flight>(cache.begin("material 2"));
  EXPECT_TRUE(in_child([&] {
    cache.publish(entry_of(3));
    return cache.find("material 1") == entry_of(1) && cache.find("material 3") == entry_of(3);
  }));
  EXPECT_EQ(cache.find("material 3"), entry_of(3));
  const pid_t child = fork();
  if (child == 0) {
    pause();
    _exit(0);
  }
  flight.reset();  // though the child has the descriptor
  EXPECT_EQ(cache.begin("material 2").lock.waited(), false);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
}

TEST(DiskCache, BL_181_ThreadsPublishAtOnce) {
  const TemporaryDirectory place(memory_disk());
  Lines lines;
  DiskCacheOptions o = in(place.path(), lines);
  o.most_bytes = 100000;
  DiskCache cache(o);
  std::vector<std::thread> threads;
  std::atomic<int> wrong = 0;
  for (int t = 0; t < 3; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 500; ++i) {
        const Entry entry = entry_of((i + t) % 20, 1000);
        auto found = cache.find(entry.material);
        if (!found) {
          const auto flight = cache.begin(entry.material);
          cache.publish(entry);
          found = flight.entry;
        }
        wrong += found && *found != entry;
      }
    });
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  const CacheCounters c = cache.counters();
  EXPECT_EQ(c.bad_entries + c.errors, 0u);
  EXPECT_GE(c.user_hits + c.misses, 1500u);
  EXPECT_THAT(lines.all, IsEmpty());
}

TEST(Store, AStoreOfAServiceIsTrimmedByTheSameRule) {
  MapStore store;
  for (int n = 0; n < 10; ++n) ASSERT_TRUE(store.put(key_of(entry_of(n)), std::vector<char>(100)).ok());
  auto trimmed = store.trim(450);
  ASSERT_TRUE(trimmed.ok());
  EXPECT_EQ(trimmed->entries, 6u);
  EXPECT_EQ(trimmed->bytes, 600u);
  EXPECT_EQ(store.list()->size(), 4u);
}

}  // namespace
}  // namespace tlxjit::runtime_test
