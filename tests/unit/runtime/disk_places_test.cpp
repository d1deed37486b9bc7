// tests/unit/runtime/disk_places_test.cpp — where the cache is when HOME, the disk or the file system is not as usual.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/auxv.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>

#include "src/runtime/disk_cache_p.h"
#include "tests/unit/runtime/child.h"
#include "tests/unit/runtime/entries.h"
#include "tests/unit/runtime/restrictions.h"
#include "tests/unit/runtime/temporary_directory.h"

namespace tlxjit::runtime_test {
namespace {

using runtime::DiskCache;
using ::testing::HasSubstr;
namespace fs = std::filesystem;

void set(const char* name, const char* value) {
  if (value)
    setenv(name, value, 1);
  else
    unsetenv(name);
}

/// What default_cache_directory gives in a process with this environment, null for unset.
std::string place_of(const char* own, const char* xdg, const char* home) {
  int ends[2];
  EXPECT_EQ(pipe(ends), 0);
  EXPECT_TRUE(in_child([&] {
    set("TLXJIT_CACHE_DIR", own);
    set("XDG_CACHE_HOME", xdg);
    set("HOME", home);
    const auto place = default_cache_directory();
    const std::string text = place ? *place : place.error().message;
    return write(ends[1], text.data(), text.size()) == static_cast<ssize_t>(text.size());
  }));
  char text[4096];
  const ssize_t size = read(ends[0], text, sizeof text);
  close(ends[0]);
  close(ends[1]);
  return size < 0 ? "" : std::string(text, static_cast<size_t>(size));
}

TEST(DiskPlaces, BL_193_WhatTheEnvironmentSays) {
  const TemporaryDirectory home;
  const char* h = home.path().c_str();
  const std::string none = "there is no directory for compiled kernels: ";
  EXPECT_EQ(place_of("/own", "/xdg", h), "/own");
  EXPECT_EQ(place_of(nullptr, "/xdg", h), "/xdg/tlxjit");
  EXPECT_EQ(place_of("", "relative", h), home / ".cache/tlxjit") << "as the XDG rules have it";
  EXPECT_EQ(place_of("relative", "/xdg", h), none + "TLXJIT_CACHE_DIR is no absolute path");
  for (const char* unset : {static_cast<const char*>(nullptr), "", "relative"})
    EXPECT_EQ(place_of(nullptr, nullptr, unset), none + "HOME is not set, or no absolute path");
  write_file(home / "file", {});
  for (const std::string& odd : {std::string("/"), std::string("//"), home / "none", home / "file"})
    EXPECT_EQ(place_of(nullptr, nullptr, odd.c_str()), none + "HOME is `/`, or no directory") << odd;
}

constexpr int no_raised_rights = 77;  // an exit status

// Run by the next test as well, in a program with raised rights.
TEST(DiskPlaces, RaisedRightsDecideWhetherTheEnvironmentIsRead) {
  if (getauxval(AT_SECURE) == 0) {
    if (std::getenv("TLXJIT_TEST_RAISED")) std::_Exit(no_raised_rights);
    EXPECT_EQ(place_of("/own", nullptr, nullptr), "/own");
    return;
  }
  ASSERT_EQ(std::string(std::getenv("TLXJIT_CACHE_DIR")), "/own") << "the environment is there";
  const auto place = default_cache_directory();
  ASSERT_FALSE(place.ok()) << *place;
  EXPECT_THAT(place.error().message, HasSubstr("the program has raised rights, and reads no environment"));
  std::_Exit(HasFailure() ? 1 : 0);  // who looks for leaks at exit traces the program, which its rights forbid
}

TEST(DiskPlaces, AProgramWithRaisedRightsReadsNoEnvironment) {
  if (geteuid() != 0) GTEST_SKIP() << "NOT RUN: only root makes a program of another user's rights";
  const TemporaryDirectory place;
  const std::string program = place / "program";
  fs::copy_file("/proc/self/exe", program);
  ASSERT_EQ(chmod(place.path().c_str(), 0755), 0);
  ASSERT_EQ(chown(program.c_str(), 12345, 12345), 0);
  ASSERT_EQ(chmod(program.c_str(), 04755), 0);
  const pid_t child = start_child([&] {
    set("TLXJIT_CACHE_DIR", "/own");
    set("TLXJIT_TEST_RAISED", "1");
    unsetenv("GTEST_OUTPUT");
    if (chdir("/") != 0 || setresuid(54321, 54321, 54321) != 0) return false;
    execl(program.c_str(), "program", "--gtest_filter=*RaisedRightsDecide*", nullptr);
    if (errno == EACCES) std::_Exit(no_raised_rights);  // nothing may be executed there
    return false;
  });
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  if (WIFEXITED(status) && WEXITSTATUS(status) == no_raised_rights)
    GTEST_SKIP() << "NOT RUN: no program in " << place.path() << " gets raised rights";
  EXPECT_EQ(status, 0);
}

TEST(DiskPlaces, BL_193_AUserWithoutAPasswordEntry) {
  if (geteuid() != 0) {
    EXPECT_EQ(place_of(nullptr, nullptr, nullptr), place_of(nullptr, nullptr, "")) << "no one is asked";
    return;
  }
  const TemporaryDirectory home;
  ASSERT_EQ(chown(home.path().c_str(), 54321, 54321), 0);
  EXPECT_TRUE(in_child([&] {
    if (setresuid(54321, 54321, 54321) != 0) return false;
    set("TLXJIT_CACHE_DIR", nullptr);
    set("XDG_CACHE_HOME", nullptr);
    set("HOME", home.path().c_str());
    runtime::DiskCacheOptions o;
    o.user_directory = *default_cache_directory();
    DiskCache cache(o);
    cache.publish(entry_of(1));
    return cache.find(entry_of(1).material) == entry_of(1) && cache.counters().errors == 0;
  }));
}

/// A cache in a directory that cannot be used: kernels are compiled, and it is told once.
bool works_without(const std::string& directory, const std::string& reason) {
  int told = 0;
  std::string text;
  runtime::DiskCacheOptions o;
  o.user_directory = directory;
  o.log = [&](std::string_view line) {
    ++told;
    text += line;
  };
  DiskCache cache(o);
  for (int n = 0; n < 3; ++n) {
    if (cache.find(entry_of(n).material) || cache.begin(entry_of(n).material).entry) return false;
    cache.publish(entry_of(n));
    if (cache.find(entry_of(n).material)) return false;
  }
  const bool right = told >= 1 && told <= 2 && text.find(reason) != text.npos && cache.counters().published == 0;
  if (!right) std::fprintf(stderr, "told %d times: %s\n", told, text.c_str());
  return right;
}

bool drop_rights() { return geteuid() != 0 || setresuid(54321, 54321, 54321) == 0; }

TEST(DiskPlaces, BL_193_ADirectoryThatCannotBeWritten) {
  const TemporaryDirectory place;
  ASSERT_EQ(chmod(place.path().c_str(), 0755), 0);
  fs::create_directory(place / "own");
  ASSERT_EQ(chmod((place / "own").c_str(), 0555), 0);
  if (geteuid() == 0) {
    ASSERT_EQ(chown((place / "own").c_str(), 54321, 54321), 0);
  }
  EXPECT_TRUE(in_child([&] { return drop_rights() && works_without(place / "own/cache", "Permission denied"); }));
  EXPECT_TRUE(works_without("/proc/none", "mkdir /proc/none: ")) << "where no one makes directories";
  write_file(place / "file", {});
  EXPECT_TRUE(works_without(place / "file", "it is no directory"));
}

DiskCache* cache_in(const std::string& directory, std::string* told) {
  runtime::DiskCacheOptions o;
  o.user_directory = directory;
  o.log = [told](std::string_view line) { *told += std::string(line) + "\n"; };
  return new DiskCache(o);
}

TEST(DiskPlaces, AReadOnlyDiskIsRead) {
  bool there = false;
  EXPECT_TRUE(on_disk("size=4m,mode=700", MS_RDONLY, there, [](const std::string& disk, auto make_read_only) {
    std::string told;
    const std::unique_ptr<DiskCache> cache(cache_in(disk, &told));
    cache->publish(entry_of(1));
    const timespec old[2] = {{1000, 0}, {1000, 0}};
    utimensat(AT_FDCWD, file_of(disk, key_of(entry_of(1))).c_str(), old, 0);
    cache->wait_for_sweep();
    if (!make_read_only()) return false;
    for (int round = 0; round < 3; ++round) {
      if (cache->find(entry_of(1).material) != entry_of(1)) return false;
      if (cache->find(entry_of(2).material) || cache->begin(entry_of(2).material).entry) return false;
      cache->publish(entry_of(2));
    }
    const std::string expected = "the directory " + disk +
                                 " cannot be written, kernels are compiled without it: mkdir " + disk + "/v1/" +
                                 key_of(entry_of(2)).substr(0, 2) + ": Read-only file system\n";
    if (told != expected) std::fputs(told.c_str(), stderr);
    return told == expected;
  }));
  if (there) return;
  // What needs no mount: a directory that is the user's, and not writable. Root writes everywhere, and is another user.
  const TemporaryDirectory place;
  ASSERT_EQ(chmod(place.path().c_str(), 0755), 0);
  fs::create_directory(place / "own");
  if (geteuid() == 0) {
    ASSERT_EQ(chown((place / "own").c_str(), 54321, 54321), 0);
  }
  EXPECT_TRUE(in_child([&] {
    if (!drop_rights()) return false;
    std::string told;
    const std::unique_ptr<DiskCache> cache(cache_in(place / "own", &told));
    cache->publish(entry_of(1));
    const std::string entries = place / "own/v1";
    if (chmod(entries.c_str(), 0500) != 0 || cache->find(entry_of(1).material) != entry_of(1)) return false;
    cache->publish(entry_of(2));
    if (chmod(entries.c_str(), 0700) != 0) return false;
    if (told.find("Permission denied") == told.npos) std::fputs(told.c_str(), stderr);
    return told.find("Permission denied") != told.npos;
  }));
}

TEST(DiskPlaces, AFullDiskFailsNoCompileAndHeals) {
  bool there = false;
  EXPECT_TRUE(on_disk("size=256k,mode=700", 0, there, [](const std::string& disk, auto) {
    std::string told;
    const std::unique_ptr<DiskCache> cache(cache_in(disk, &told));
    int kept = 0;
    for (int n = 0; n < 20; ++n) {
      cache->publish(entry_of(n, 40000));
      const auto found = cache->find(entry_of(n, 40000).material);
      if (found && *found != entry_of(n, 40000)) return false;
      kept += found.has_value();
    }
    if (kept < 2 || kept > 7 || told.find("No space left on device") == told.npos) return false;
    if (std::count(told.begin(), told.end(), '\n') != 1 || cache->counters().bad_entries != 0) return false;
    // All that is there is whole, and what did not fit is gone: there is room for it again.
    auto store = directory_store({disk, false, false});
    const auto entries = (*store)->list();
    for (const StoredEntry& entry : *entries) {
      const auto bytes = (*store)->get(entry.key);
      if (!check_entry(entry.key, **bytes)) return false;
    }
    if (!(*store)->trim(0)) return false;
    cache->publish(entry_of(99, 40000));
    return cache->find(entry_of(99).material) == entry_of(99, 40000);
  }));
  if (!there) {
    // Without rights to mount: the same end of a write by a limit of the process.
    EXPECT_TRUE(in_child([] {
      const TemporaryDirectory place;
      const rlimit limit{100, 100};
      return setrlimit(RLIMIT_FSIZE, &limit) == 0 && works_without(place.path(), "File too large");
    }));
  }
}

TEST(DiskPlaces, ALimitOnFilesEndsNoProcess) {
  EXPECT_TRUE(in_child([] {
    const TemporaryDirectory place;
    const rlimit limit{100, 100};  // a write past it brings SIGXFSZ
    return setrlimit(RLIMIT_FSIZE, &limit) == 0 && works_without(place.path(), "File too large");
  }));
}

TEST(DiskPlaces, BL_213_ADiskWithoutExecution) {
  bool there = false;
  EXPECT_TRUE(on_disk("size=4m,mode=700", MS_NOEXEC | MS_NOSUID | MS_NODEV, there,
                      [](const std::string& disk, auto make_noexec) {
                        std::string told;
                        const std::unique_ptr<DiskCache> cache(cache_in(disk, &told));
                        if (!make_noexec()) return false;
                        cache->publish(entry_of(1));
                        return cache->find(entry_of(1).material) == entry_of(1) && told.empty();
                      }));
  if (!there) {  // modes say as much: nothing that is kept may be executed
    const TemporaryDirectory place;
    std::string told;
    const std::unique_ptr<DiskCache> cache(cache_in(place.path(), &told));
    cache->publish(entry_of(1));
    EXPECT_NE(access(file_of(place.path(), key_of(entry_of(1))).c_str(), X_OK), 0);
    EXPECT_EQ(cache->find(entry_of(1).material), entry_of(1));
  }
}

TEST(DiskPlaces, BL_194_NoTemporaryDirectoryIsNeeded) {
  const TemporaryDirectory place;
  const std::string odd = place / "x y/ÿ";
  for (const std::string& temporary : {std::string("/none/x y"), odd, std::string()})
    EXPECT_TRUE(in_child([&] {
      set("TMPDIR", temporary.empty() ? nullptr : temporary.c_str());
      std::string told;
      const std::unique_ptr<DiskCache> cache(cache_in(odd, &told));
      cache->publish(entry_of(1));
      return cache->find(entry_of(1).material) == entry_of(1) && told.empty();
    }));
  EXPECT_TRUE(fs::exists(file_of(odd, key_of(entry_of(1)))));
}

}  // namespace
}  // namespace tlxjit::runtime_test
