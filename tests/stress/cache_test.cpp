// tests/stress/cache_test.cpp — one directory of entries under many processes, some of which are killed.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <iostream>
#include <random>
#include <thread>

#include "src/runtime/disk_cache_p.h"
#include "tests/stress/whole_entries.h"
#include "tests/support/seeds.h"
#include "tests/unit/runtime/child.h"
#include "tests/unit/runtime/entries.h"
#include "tests/unit/runtime/temporary_directory.h"

namespace tlxjit::runtime_test {
namespace {

using runtime::DiskCache;
using runtime::DiskCacheOptions;
using runtime::Entry;
namespace fs = std::filesystem;

/// `usual` rounds, or as many as TLXJIT_STRESS_ROUNDS has.
int rounds(int usual) {
  const char* given = std::getenv("TLXJIT_STRESS_ROUNDS");
  return given ? std::atoi(given) : usual;
}

/// What processes share while a test goes on.
struct Shared {
  std::atomic<int> ready, compiles[64], wrong, hits, waits;
  std::atomic<bool> go;
};

class SharedMemory {
 public:
  SharedMemory() {
    void* at = mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED) std::abort();
    shared_ = new (at) Shared();
  }
  ~SharedMemory() { munmap(shared_, sizeof(Shared)); }
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;
  Shared* operator->() const { return shared_; }
  Shared& operator*() const { return *shared_; }

 private:
  Shared* shared_;
};

/// Forks `count` processes that begin `act(number)` at once, and waits for them; how many did not end well.
template <class Act>
int at_once(int count, Shared& shared, Act act) {
  shared.ready = 0;
  shared.go = false;
  std::vector<pid_t> children;
  for (int i = 0; i < count; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(300);
      ++shared.ready;
      while (!shared.go) std::this_thread::yield();
      act(i);
      _exit(0);
    }
    children.push_back(child);
  }
  while (shared.ready < count) std::this_thread::yield();
  shared.go = true;
  int bad = 0;
  for (const pid_t child : children) {
    int status = -1;
    waitpid(child, &status, 0);
    bad += status != 0;
  }
  return bad;
}

DiskCacheOptions in(const std::string& directory, uint64_t most_bytes = 0) {
  DiskCacheOptions o;
  o.user_directory = directory;
  o.most_bytes = most_bytes;
  return o;
}

/// What an engine does for a kernel; compiling takes a while.
void use(DiskCache& cache, int n, Shared& shared, size_t bytes, std::chrono::milliseconds compile) {
  const Entry expected = entry_of(n, bytes);
  auto found = cache.find(expected.material);
  if (!found) {
    auto flight = cache.begin(expected.material);
    found = std::move(flight.entry);
    if (!found) {
      ++shared.compiles[n];
      std::this_thread::sleep_for(compile);
      cache.publish(expected);
      return;
    }
  }
  ++shared.hits;
  shared.wrong += *found != expected;
}

TEST(CacheStress, BL_183_ManyProcessesStartOnAnEmptyCache) {
  SharedMemory shared;
  int most = 0, all = 0;
  const int count = rounds(10);
  for (int round = 0; round < count; ++round) {
    const TemporaryDirectory place(memory_disk());
    for (auto& n : shared->compiles) n = 0;
    const int bad = at_once(32, *shared, [&](int number) {
      DiskCache cache(in(place.path()));
      std::mt19937 random(static_cast<unsigned>(number + 1000 * round));
      std::vector<int> kernels(20);
      for (int i = 0; i < 20; ++i) kernels[static_cast<size_t>(i)] = i;
      std::shuffle(kernels.begin(), kernels.end(), random);
      for (const int n : kernels) use(cache, n, *shared, 50000, std::chrono::milliseconds(5));
      const CacheCounters c = cache.counters();
      shared->wrong += static_cast<int>(c.bad_entries + c.errors);
      shared->waits += static_cast<int>(c.waits);
    });
    EXPECT_EQ(bad, 0);
    for (int n = 0; n < 20; ++n) {
      most = std::max(most, shared->compiles[n].load());
      all += shared->compiles[n];
    }
    expect_all_whole(place.path());
  }
  EXPECT_EQ(shared->wrong, 0);
  EXPECT_LE(most, 2) << "compiles of one kernel over all processes";
  std::cout << count << " rounds of 32 processes and 20 kernels: " << all << " compiles, at most " << most
            << " of a kernel; " << shared->hits << " hits, " << shared->waits << " waits for another process\n";
}

TEST(CacheStress, BL_183_WritersWithoutLocksMeet) {
  SharedMemory shared;
  const int count = rounds(50);
  for (int round = 0; round < count; ++round) {
    const TemporaryDirectory place(memory_disk());
    const int bad = at_once(16, *shared, [&](int) {
      DiskCacheOptions o = in(place.path());
      o.longest_wait = std::chrono::milliseconds(0);
      DiskCache cache(o);
      for (int n = 0; n < 8; ++n) use(cache, n, *shared, 20000, std::chrono::milliseconds(0));
      for (int n = 0; n < 8; ++n) shared->wrong += cache.find(entry_of(n).material) != entry_of(n, 20000);
      const CacheCounters c = cache.counters();
      shared->wrong += static_cast<int>(c.bad_entries + c.errors);
    });
    ASSERT_EQ(bad, 0);
    ASSERT_EQ(shared->wrong, 0);
    expect_all_whole(place.path());
  }
}

TEST(CacheStress, KilledAtAnyPointOfPublishingNoBadEntryIsServed) {
  SharedMemory shared;
  const int count = rounds(100);
  // On a disk most of the time goes into waiting for it, in memory into writing.
  const TemporaryDirectory disk, memory(memory_disk());
  std::mt19937_64 random(seed_of_today());
  int published = 0, left_behind = 0;
  const int enough = count / 20;  // kills that met a write; some machines have more of them than others
  int round = 0;
  for (; round < count || (left_behind <= enough && round < 10 * count); ++round) {
    const TemporaryDirectory& place = round % 2 ? disk : memory;
    shared->ready = 0;
    const pid_t child = fork();
    if (child == 0) {
      DiskCache cache(in(place.path(), 20 << 20));
      shared->ready = 1;
      for (int n = round * 1000;; ++n) {
        const Entry entry = entry_of(n, 300000);
        cache.publish(entry);
        if (cache.find(entry.material) != entry) ++shared->wrong;
        ++shared->hits;
      }
    }
    while (shared->ready == 0) std::this_thread::yield();
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 4000));
    kill(child, SIGKILL);
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << "it ended by itself: " << status;

    expect_all_whole(place.path());
    int entries = 0, temporary = 0;
    for (const auto& file : fs::recursive_directory_iterator(place.path())) {
      if (!file.is_regular_file()) continue;
      const std::string name = file.path().filename();
      entries += name.size() == 32;
      if (!name.starts_with("tmp-")) continue;
      ++temporary;
      const timespec old[2] = {{std::time(nullptr) - 100, 0}, {std::time(nullptr) - 100, 0}};
      utimensat(AT_FDCWD, file.path().c_str(), old, 0);
    }
    published += entries;
    left_behind += temporary;
    auto store = *directory_store({place.path(), false, false});
    const auto trimmed = store->trim(0);
    ASSERT_TRUE(trimmed.ok());
    EXPECT_EQ(trimmed->left_behind, static_cast<uint64_t>(temporary)) << "the sweep takes what the dead left";
  }
  EXPECT_EQ(shared->wrong, 0);
  EXPECT_GT(left_behind, enough) << "kills seldom met a write: the test proves little";
  std::cout << round << " rounds: " << published << " whole entries, " << left_behind
            << " cut ones that were never given their name; " << shared->hits << " reads\n";
}

TEST(CacheStress, SweepsUnderReaders) {
  SharedMemory shared;
  const TemporaryDirectory place(memory_disk());
  constexpr uint64_t bound = 1 << 20;
  const int count = rounds(100);
  const int bad = at_once(8, *shared, [&](int number) {
    DiskCache cache(in(place.path(), bound));
    std::mt19937 random(static_cast<unsigned>(number));
    for (int i = 0; i < 10 * count; ++i) {
      use(cache, static_cast<int>(random() % 60), *shared, 50000, std::chrono::milliseconds(0));
      if (i % 100 == 0) cache.wait_for_sweep();
    }
    cache.wait_for_sweep();
    const CacheCounters c = cache.counters();
    shared->wrong += static_cast<int>(c.bad_entries + c.errors);
    shared->ready += static_cast<int>(c.evictions);  // behind the start it is free
  });
  EXPECT_EQ(bad, 0);
  EXPECT_EQ(shared->wrong, 0);
  EXPECT_GT(shared->ready - 8, 100) << "evictions";
  expect_all_whole(place.path());
  std::cout << shared->hits << " hits, " << shared->ready - 8 << " evictions\n";
}

TEST(CacheStress, BL_187_ChildrenOfAProcessThatUsedIt) {
  SharedMemory shared;
  for (int round = 0; round < rounds(20); ++round) {
    const TemporaryDirectory place(memory_disk());
    DiskCache cache(in(place.path(), 1 << 20));
    cache.publish(entry_of(60));
    const int bad = at_once(4, *shared, [&](int) {
      for (int n = 0; n < 8; ++n) cache.publish(entry_of(n, 20000));
      for (int n : {0, 1, 2, 3, 4, 5, 6, 7}) shared->wrong += cache.find(entry_of(n).material) != entry_of(n, 20000);
      shared->wrong += static_cast<int>(cache.counters().errors);
    });
    ASSERT_EQ(bad, 0);
    ASSERT_EQ(shared->wrong, 0);
    int files = 0;
    for (const auto& file : fs::recursive_directory_iterator(place.path()))
      files += file.path().filename().string().starts_with("tmp-");
    EXPECT_EQ(files, 0);
  }
}

TEST(CacheStress, BL_211_ManyEntriesUnderASmallBound) {
  const TemporaryDirectory place(memory_disk());
  const int count = std::max(20000, 200 * rounds(100));
  {
    DiskCache cache(in(place.path()));
    for (int n = 0; n < count; ++n) cache.publish(entry_of(n, 100));
    cache.wait_for_sweep();
  }
  size_t folders = 0, fullest = 0;
  for (const auto& folder : fs::directory_iterator(place / "v1")) {
    if (!folder.is_directory()) continue;
    ++folders;
    fullest = std::max(fullest, static_cast<size_t>(std::distance(fs::directory_iterator(folder), {})));
  }
  EXPECT_EQ(folders, 256u);
  EXPECT_LT(fullest, static_cast<size_t>(count) / 256 * 2);
  const auto old = std::time(nullptr) - 100000;
  for (const auto& file : fs::recursive_directory_iterator(place.path())) {
    const timespec times[2] = {{old, 0}, {old, 0}};
    utimensat(AT_FDCWD, file.path().c_str(), times, 0);
  }
  constexpr uint64_t bound = 1 << 20;
  DiskCache cache(in(place.path(), bound));
  for (int n = 0; n < 100; ++n) EXPECT_TRUE(cache.find(entry_of(n).material)) << "in use";
  cache.publish(entry_of(count));
  cache.wait_for_sweep();
  EXPECT_GT(cache.counters().evictions, static_cast<uint64_t>(count) / 2);
  uint64_t left = 0;
  const auto store = directory_store({place.path(), true, false});
  const auto entries = (*store)->list();
  for (const StoredEntry& entry : *entries) left += entry.bytes;
  EXPECT_LE(left, bound);
  for (int n = 0; n < 100; ++n) EXPECT_TRUE(cache.find(entry_of(n).material)) << "what was in use stays";
  std::cout << count << " entries, " << fullest << " in the fullest folder; " << left << " bytes left of a bound of "
            << bound << "\n";
}

}  // namespace
}  // namespace tlxjit::runtime_test
