// tests/unit/runtime/sweeper_test.cpp — when a directory is swept, and what stays.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "src/runtime/sweeper_p.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/stat.h>

#include "src/runtime/disk_cache_p.h"
#include "tests/unit/runtime/child.h"
#include "tests/unit/runtime/entries.h"
#include "tests/unit/runtime/temporary_directory.h"

namespace tlxjit::runtime_test {
namespace {

using runtime::DiskCache;
using ::testing::IsEmpty;
namespace fs = std::filesystem;

void age(const std::string& file, int seconds) {
  const timespec times[2] = {{std::time(nullptr) - seconds, 0}, {std::time(nullptr) - seconds, 0}};
  ASSERT_EQ(utimensat(AT_FDCWD, file.c_str(), times, 0), 0);
}

uint64_t bytes_in(const std::string& directory) {
  uint64_t all = 0;
  const auto store = directory_store({directory, true, false});
  const auto entries = (*store)->list();
  for (const StoredEntry& entry : *entries) all += entry.bytes;
  return all;
}

DiskCache make(const std::string& directory, uint64_t most_bytes) {
  runtime::DiskCacheOptions o;
  o.user_directory = directory;
  o.most_bytes = most_bytes;
  return DiskCache(o);
}

TEST(Sweeper, TheFirstPublishOfAProcessSweepsWhatIsDue) {
  const TemporaryDirectory place(memory_disk());
  {
    DiskCache cache = make(place.path(), 0);
    for (int n = 0; n < 50; ++n) cache.publish(entry_of(n, 1000));
    cache.wait_for_sweep();
    EXPECT_EQ(cache.counters().evictions, 0u) << "0 is no bound";
  }
  for (int n = 0; n < 50; ++n) age(file_of(place.path(), key_of(entry_of(n))), 7200 + 100 * n);
  {
    DiskCache cache = make(place.path(), 20000);
    cache.publish(entry_of(100, 1000));
    cache.wait_for_sweep();
    EXPECT_EQ(cache.counters().evictions, 0u) << "another process swept within the hour";
  }
  age(place / "v1/swept", 4000);
  DiskCache cache = make(place.path(), 20000);
  EXPECT_TRUE(cache.find(entry_of(49).material)) << "the oldest, which is now used";
  cache.publish(entry_of(101, 1000));
  cache.wait_for_sweep();
  EXPECT_LE(bytes_in(place.path()), 16000u);
  EXPECT_GT(bytes_in(place.path()), 13000u);
  const CacheCounters c = cache.counters();
  EXPECT_GT(c.evictions, 30u);
  EXPECT_GT(c.evicted_bytes, 1000 * c.evictions);
  for (int n : {49, 100, 101, 0}) EXPECT_TRUE(cache.find(entry_of(n).material)) << n;
  EXPECT_FALSE(cache.find(entry_of(48).material));
}

TEST(Sweeper, BL_211_TheBoundIsHeldWhileEntriesArePublished) {
  const TemporaryDirectory place(memory_disk());
  constexpr uint64_t bound = 100000;
  DiskCache cache = make(place.path(), bound);
  uint64_t most = 0;
  for (int n = 0; n < 1000; ++n) {
    cache.publish(entry_of(n, 1000));
    if (n % 20 == 0) {
      cache.wait_for_sweep();
      most = std::max(most, bytes_in(place.path()));
    }
  }
  EXPECT_LT(most, bound + bound / 4) << "what is written between two sweeps is on top";
  EXPECT_GT(cache.counters().evictions, 800u);
}

TEST(Sweeper, ProcessesThatPublishAsTheyEndKeepTheBound) {
  const TemporaryDirectory place(memory_disk());
  for (int n = 0; n < 40; ++n) make(place.path(), 0).publish(entry_of(n, 1000));
  for (int n = 40; n < 44; ++n) {
    age(place / "v1/swept", 4000);
    const auto begin = std::chrono::steady_clock::now();
    make(place.path(), 20000).publish(entry_of(n, 1000));
    // An end that took longer may have cut the sweep off.
    const bool whole = std::chrono::steady_clock::now() - begin < std::chrono::seconds(1);
    EXPECT_TRUE(!whole || bytes_in(place.path()) <= 20000u) << n << ": " << bytes_in(place.path());
  }
}

void many_entries(const TemporaryDirectory& place) {
  for (int n = 0; n < 5000; ++n) {
    const std::string file = file_of(place.path(), key_of(entry_of(n)));
    fs::create_directories(fs::path(file).parent_path());
    write_file(file, std::vector<char>(10));
  }
  for (const auto& made : fs::recursive_directory_iterator(place.path())) chmod(made.path().c_str(), 0700);
}

TEST(Sweeper, ASweepThatItsProcessDoesNotLiveToEndIsStillDue) {
  const TemporaryDirectory place(memory_disk());
  many_entries(place);
  constexpr uint64_t bound = 40000;
  EXPECT_TRUE(in_child([&] {
    DiskCache cache = make(place.path(), bound);
    cache.publish(entry_of(1));
    while (!fs::exists(place / "v1/swept")) usleep(100);
    _exit(0);  // as the sweep begins
    return true;
  }));
  DiskCache cache = make(place.path(), bound);
  cache.publish(entry_of(2));
  cache.wait_for_sweep();
  EXPECT_LE(bytes_in(place.path()), bound);
}

TEST(Sweeper, AStampThatIsMadeTellsOfNoSweepYet) {
  const TemporaryDirectory place(memory_disk());
  {
    DiskCache cache = make(place.path(), 0);
    for (int n = 0; n < 50; ++n) cache.publish(entry_of(n, 1000));
    cache.wait_for_sweep();
  }
  write_file(place / "v1/swept", {});  // by a process that got no further
  DiskCache cache = make(place.path(), 20000);
  cache.publish(entry_of(100, 1000));
  cache.wait_for_sweep();
  EXPECT_LE(bytes_in(place.path()), 16000u);
}

TEST(Sweeper, TheSweepersThreadGetsNoSignals) {
  const TemporaryDirectory place(memory_disk());
  sigset_t seen;
  sigemptyset(&seen);
  runtime::Sweeper sweeper(std::make_shared<runtime::DirectoryStore>(DirectoryOptions{place.path(), false, false}), 100,
                           [&](const Trimmed&, const Result<void>&) { pthread_sigmask(SIG_BLOCK, nullptr, &seen); });
  runtime::DirectoryStore store({place.path(), false, false});
  ASSERT_TRUE(store.put(key_of(entry_of(1)), runtime::encode(entry_of(1))).ok());
  sweeper.wrote(1000);
  sweeper.wait();
  for (int signal : {SIGINT, SIGTERM, SIGUSR1, SIGPROF, SIGHUP}) EXPECT_TRUE(sigismember(&seen, signal)) << signal;
}

TEST(Sweeper, AForkedChildSweepsForItself) {
  const TemporaryDirectory place(memory_disk());
  DiskCache cache = make(place.path(), 10000);
  for (int n = 0; n < 20; ++n) cache.publish(entry_of(n, 1000));
  EXPECT_TRUE(in_child([&] {
    for (int n = 20; n < 60; ++n) {
      cache.publish(entry_of(n, 1000));
      cache.wait_for_sweep();
    }
    return bytes_in(place.path()) < 12500;
  }));
}

TEST(Sweeper, WhatCannotBeSweptIsToldOnce) {
  const TemporaryDirectory place(memory_disk());
  std::vector<std::string> told;
  runtime::DiskCacheOptions o;
  o.user_directory = place.path();
  o.most_bytes = 1000;
  o.log = [&](std::string_view line) { told.emplace_back(line); };
  DiskCache cache(o);
  cache.publish(entry_of(0));
  cache.wait_for_sweep();
  EXPECT_THAT(told, IsEmpty());
  fs::create_directory_symlink("/etc", place / "v1/ff");
  for (int n = 1; n < 20; ++n) {
    if (key_of(entry_of(n)).starts_with("ff")) continue;
    cache.publish(entry_of(n, 1000));
    cache.wait_for_sweep();
  }
  EXPECT_GT(cache.counters().evictions, 10u) << "the other folders are swept all the same";
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told[0], "the cache of compiled kernels is not wholly swept: " + (place / "v1/ff") +
                         " is not used: it is no directory");
}

}  // namespace
}  // namespace tlxjit::runtime_test
