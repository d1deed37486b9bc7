// tests/unit/runtime/disk_faults_test.cpp — each call to the file system fails once, and then again: nothing is lost.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>

#include "src/runtime/directory_store_p.h"
#include "src/runtime/disk_cache_p.h"
#include "tests/support/allocations.h"
#include "tests/support/io_faults.h"
#include "tests/unit/runtime/child.h"
#include "tests/unit/runtime/entries.h"
#include "tests/unit/runtime/temporary_directory.h"

namespace tlxjit::runtime_test {
namespace {

using runtime::DirectoryStore;
using runtime::DiskCache;
using runtime::Entry;
using ::testing::AnyOf;
using ::testing::Contains;
using ::testing::Not;
namespace fs = std::filesystem;

constexpr int errors[] = {EIO, ENOSPC, EACCES, EPERM, EROFS, ESTALE, ENOENT, ENOLCK, EMFILE, EBUSY, ELOOP, ENOSYS};

size_t open_files() {
  size_t n = 0;
  for ([[maybe_unused]] const auto& file : fs::directory_iterator("/proc/self/fd")) ++n;
  return n;
}

/// Runs `act` in a directory with the entries 1 to 3, once for each of its calls and each errno: that call fails.
/// Afterwards what is there is whole, and no descriptor is left. `after(cache)` looks at the rest.
template <class Act, class After>
void at_each_call(Act act, After after) {
  const auto fill = [](const std::string& directory) {
    DirectoryStore store({directory, false, false});
    for (int n = 1; n <= 3; ++n) ASSERT_TRUE(store.put(key_of(entry_of(n)), runtime::encode(entry_of(n))).ok());
    const timespec old[2] = {{1000, 0}, {1000, 0}};  // its use is stamped
    ASSERT_EQ(utimensat(AT_FDCWD, file_of(directory, key_of(entry_of(1))).c_str(), old, 0), 0);
  };
  size_t calls = 0;
  {
    const TemporaryDirectory place(memory_disk());
    fill(place.path());
    DirectoryStore store({place.path(), false, false});
    io_faults::count();
    act(store);
    calls = io_faults::stop().size();
  }
  ASSERT_GT(calls, 5u);
  for (size_t call = 0; call < calls; ++call)
    for (const int error : errors) {
      const TemporaryDirectory place(memory_disk());
      fill(place.path());
      DirectoryStore store({place.path(), false, false});
      const size_t open = open_files();
      io_faults::fail(static_cast<int>(call), error);
      act(store);
      const auto made = io_faults::stop();
      ASSERT_GT(made.size(), call);
      SCOPED_TRACE(made[call] + ", call " + std::to_string(call) + ", errno " + std::to_string(error));
      EXPECT_EQ(open_files(), open);
      const auto listed = store.list();
      ASSERT_TRUE(listed.ok());
      for (const StoredEntry& entry : *listed) {
        const auto bytes = store.get(entry.key);
        ASSERT_TRUE(bytes.ok() && *bytes);
        EXPECT_TRUE(check_entry(entry.key, **bytes).ok());
      }
      after(store);
      if (::testing::Test::HasFailure()) return;
    }
}

bool has(DirectoryStore& store, int n) {
  const auto bytes = store.get(key_of(entry_of(n)));
  return bytes.ok() && *bytes && **bytes == runtime::encode(entry_of(n));
}

void expect_all(DirectoryStore& store) {
  for (int n = 1; n <= 3; ++n) EXPECT_TRUE(has(store, n)) << n;
}

TEST(DiskFaults, NoErrorOfReadingTakesAnEntryAway) {
  at_each_call(
      [](DirectoryStore& store) {
        const auto bytes = store.get(key_of(entry_of(1)));
        if (bytes.ok() && *bytes) {
          EXPECT_EQ(**bytes, runtime::encode(entry_of(1)));
        }
      },
      expect_all);
}

TEST(DiskFaults, APutThatFailsLeavesNoName) {
  bool done = false;
  int failures = 0;
  at_each_call(
      [&](DirectoryStore& store) {
        done = store.put(key_of(entry_of(4)), runtime::encode(entry_of(4))).ok();
        failures += !done;
      },
      [&](DirectoryStore& store) {
        expect_all(store);
        EXPECT_EQ(done, has(store, 4));
        EXPECT_TRUE(store.put(key_of(entry_of(4)), runtime::encode(entry_of(4))).ok()) << "the next one";
        EXPECT_TRUE(has(store, 4));
      });
  EXPECT_GT(failures, 100);
}

TEST(DiskFaults, ListingAndSweeping) {
  at_each_call([](DirectoryStore& store) { static_cast<void>(store.list()); }, expect_all);
  at_each_call([](DirectoryStore& store) { static_cast<void>(store.trim(1 << 20)); }, expect_all);
  at_each_call([](DirectoryStore& store) { static_cast<void>(store.trim(0)); },
               [](DirectoryStore& store) {
                 EXPECT_TRUE(store.trim(0).ok());
                 EXPECT_TRUE(store.list()->empty());
               });
}

TEST(DiskFaults, AnEntryThatCannotBeRemovedStaysAlone) {
  const TemporaryDirectory place(memory_disk());
  DirectoryStore store({place.path(), false, false});
  const auto fill = [&] {
    for (int n = 1; n <= 3; ++n) ASSERT_TRUE(store.put(key_of(entry_of(n)), runtime::encode(entry_of(n))).ok());
  };
  fill();
  io_faults::count();
  ASSERT_TRUE(store.trim(0).ok());
  const auto calls = io_faults::stop();
  const auto first = std::find(calls.begin(), calls.end(), "unlinkat");
  ASSERT_NE(first, calls.end());
  fill();
  Trimmed trimmed;
  io_faults::fail(static_cast<int>(first - calls.begin()), EPERM);  // as of one that is immutable
  const auto swept = store.sweep(0, false, trimmed);
  io_faults::stop();
  ASSERT_FALSE(swept.ok());
  EXPECT_EQ(swept.error().code, ErrorCode::disk_failed);
  EXPECT_EQ(trimmed.entries, 2u);
  EXPECT_EQ(store.list()->size(), 1u);
}

TEST(DiskFaults, NoFaultOfADiskFailsACompile) {
  at_each_call(
      [](DirectoryStore& store) {
        runtime::DiskCacheOptions o;
        o.user_directory = fs::path(store.path()).parent_path();
        o.most_bytes = 0;
        DiskCache cache(o);
        for (int n : {1, 5}) {
          auto found = cache.find(entry_of(n).material);
          auto flight = cache.begin(entry_of(n).material);
          if (!found) found = std::move(flight.entry);
          if (found) {
            EXPECT_EQ(*found, entry_of(n));
          }
          cache.publish(entry_of(n));
        }
        EXPECT_EQ(cache.counters().bad_entries, 0u);
        cache.wait_for_sweep();
      },
      expect_all);
}

/// The first attempt of a call is broken off by a signal.
TEST(DiskFaults, SignalsBreakNothingOff) {
  for (const std::string name : {"openat", "pread", "write", "fsync", "getrandom"}) {
    const TemporaryDirectory place(memory_disk());
    DirectoryStore store({place.path(), false, false});
    io_faults::count();
    ASSERT_TRUE(store.put(key_of(entry_of(1)), runtime::encode(entry_of(1))).ok());
    ASSERT_TRUE(has(store, 1));
    const auto calls = io_faults::stop();
    ASSERT_THAT(calls, Contains(name));
    for (size_t call = 0; call < calls.size(); ++call) {
      if (calls[call] != name) continue;
      const TemporaryDirectory fresh(memory_disk());
      DirectoryStore other({fresh.path(), false, false});
      io_faults::fail(static_cast<int>(call), EINTR);
      EXPECT_TRUE(other.put(key_of(entry_of(1)), runtime::encode(entry_of(1))).ok()) << name << call;
      EXPECT_TRUE(has(other, 1)) << name << call;
      io_faults::stop();
    }
  }
}

TEST(DiskFaults, BL_185_ErrorsAfterAnEntryIsPublished) {
  for (const int error : {EBUSY, ESTALE, ENOENT, EIO}) {
    const TemporaryDirectory place(memory_disk());
    DirectoryStore store({place.path(), false, false});
    io_faults::fail_all("unlinkat", error);
    EXPECT_TRUE(store.put(key_of(entry_of(1)), runtime::encode(entry_of(1))).ok()) << error;
    const auto calls = io_faults::stop();
    EXPECT_THAT(calls, Contains("unlinkat"));
    EXPECT_EQ(calls.back(), "unlinkat") << "what was published is not read again";
    EXPECT_TRUE(has(store, 1));
    EXPECT_EQ(store.list()->size(), 1u) << "what was left behind is no entry";
  }
}

TEST(DiskFaults, ADiskWithoutHardLinks) {
  for (const int error : {EPERM, ENOSYS, EOPNOTSUPP, EMLINK}) {
    const TemporaryDirectory place(memory_disk());
    DirectoryStore store({place.path(), false, false});
    for (int round = 0; round < 2; ++round) {
      io_faults::fail_all("linkat", error);
      EXPECT_TRUE(store.put(key_of(entry_of(1)), runtime::encode(entry_of(1))).ok()) << error;
      EXPECT_THAT(io_faults::stop(), Contains("renameat"));
      EXPECT_TRUE(has(store, 1));
    }
  }
}

TEST(DiskFaults, BL_180_LocksThatFailOnANetworkDisk) {
  for (const int error : {ENOLCK, EOPNOTSUPP, EINVAL, EIO}) {
    const TemporaryDirectory place(memory_disk());
    EXPECT_TRUE(in_child([&] {
      pid_t children[8];
      for (pid_t& child : children) {
        child = fork();
        if (child != 0) continue;
        io_faults::fail_all(error == EIO ? "flock" : "fcntl", error);
        runtime::DiskCacheOptions o;
        o.user_directory = place.path();
        bool right = true;
        for (int n = 0; n < 8; ++n) {
          DiskCache cache(o);
          auto found = cache.find(entry_of(n).material);
          const auto flight = cache.begin(entry_of(n).material);
          if (!found) cache.publish(entry_of(n));
          found = cache.find(entry_of(n).material);
          const CacheCounters c = cache.counters();
          right = right && found == entry_of(n) && c.errors == 0 && c.bad_entries == 0;
        }
        _exit(right ? 0 : 1);
      }
      bool right = true;
      for (const pid_t child : children) {
        int status = -1;
        waitpid(child, &status, 0);
        right = right && status == 0;
      }
      return right;
    })) << error;
  }
}

TEST(DiskFaults, KilledAtEachCallOfPublishing) {
  const TemporaryDirectory place(memory_disk());
  const auto publish = [](const std::string& directory) {
    runtime::DiskCacheOptions o;
    o.user_directory = directory;
    DiskCache cache(o);
    const auto flight = cache.begin(entry_of(1).material);
    cache.publish(entry_of(1));
    cache.wait_for_sweep();
  };
  io_faults::count();
  publish(place / "all");
  const auto calls = io_faults::stop();
  bool seen = false;
  for (size_t call = 0; call < calls.size(); ++call) {
    const std::string directory = place / std::to_string(call);
    const pid_t child = fork();
    if (child == 0) {
      io_faults::kill(static_cast<int>(call));
      publish(directory);
      _exit(0);
    }
    int status = -1;
    waitpid(child, &status, 0);
    ASSERT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << calls[call];
    DirectoryStore store({directory, false, false});
    const auto bytes = store.get(key_of(entry_of(1)));
    ASSERT_TRUE(bytes.ok()) << to_string(bytes.error());
    if (*bytes) {
      EXPECT_EQ(**bytes, runtime::encode(entry_of(1)));
    }
    seen = seen || *bytes;
    runtime::DiskCacheOptions o;
    o.user_directory = directory;
    DiskCache cache(o);
    EXPECT_FALSE(cache.begin(entry_of(1).material).lock.waited()) << "the dead hold no lock: " << calls[call];
    cache.publish(entry_of(1));
    EXPECT_EQ(cache.find(entry_of(1).material), entry_of(1));
  }
  EXPECT_TRUE(seen) << "the last calls come after it is published";
}

/// Wherever memory runs out, nothing is thrown, and what is found is whole.
TEST(DiskFaults, NoMemory) {
  const TemporaryDirectory place(memory_disk());
  int n = 0;
  for (bool whole = false; !whole && n < 5000; ++n) {
    runtime::DiskCacheOptions o;
    o.user_directory = place / std::to_string(n);
    o.log = [](std::string_view) {};
    DiskCache cache(o);
    const Entry entry = entry_of(n);
    allow_allocations(n);
    const auto before = cache.find(entry.material);
    const auto flight = cache.begin(entry.material);
    cache.publish(entry);
    const auto after = cache.find(entry.material);
    allow_allocations(-1);
    EXPECT_FALSE(before);
    if (after) {
      EXPECT_EQ(*after, entry);
    }
    whole = after && cache.counters().errors == 0;
    EXPECT_EQ(cache.counters().bad_entries, 0u);
  }
  EXPECT_GT(n, 10);
  EXPECT_LT(n, 5000);
}

/// How much is done for a hit does not grow with what else is there.
TEST(DiskFaults, BL_211_AHitTakesAsManyCallsAmongManyEntries) {
  const TemporaryDirectory place(memory_disk());
  DirectoryStore store({place.path(), false, false});
  ASSERT_TRUE(store.put(key_of(entry_of(0)), runtime::encode(entry_of(0))).ok());
  const auto calls_of_hit = [&] {
    io_faults::count();
    EXPECT_TRUE(has(store, 0));
    return io_faults::stop();
  };
  const auto alone = calls_of_hit();
  for (int n = 1; n < 3000; ++n) {
    const std::string file = file_of(place.path(), key_of(entry_of(n)));
    fs::create_directory(fs::path(file).parent_path());
    write_file(file, std::vector<char>(10));
  }
  EXPECT_EQ(calls_of_hit(), alone);
  EXPECT_THAT(alone, Not(Contains("readdir")));
  EXPECT_LT(alone.size(), 30u);
}

}  // namespace
}  // namespace tlxjit::runtime_test
