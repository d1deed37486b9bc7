// tests/unit/runtime/directory_store_test.cpp — entries in a directory: reading, publishing, sweeping.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstring>

#include "tests/unit/runtime/child.h"
#include "tests/unit/runtime/entries.h"
#include "tests/unit/runtime/temporary_directory.h"

namespace tlxjit::runtime_test {
namespace {

using runtime::key_text;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
namespace fs = std::filesystem;

std::shared_ptr<Store> open(const std::string& path, bool read_only = false) {
  auto store = directory_store({path, read_only, false});
  EXPECT_TRUE(store.ok()) << (store ? "" : to_string(store.error()));
  return store ? *store : nullptr;
}

std::span<const char> bytes(std::string_view text) { return {text.data(), text.size()}; }

/// What is under the key, `none` or `error`.
std::string text(Store& store, const std::string& key) {
  auto got = store.get(key);
  if (!got) return "error: " + to_string(got.error());
  return *got ? std::string((*got)->begin(), (*got)->end()) : "none";
}

/// Makes a file older.
void age(const std::string& file, int seconds) {
  const timespec times[2] = {{std::time(nullptr) - seconds, 0}, {std::time(nullptr) - seconds, 0}};
  ASSERT_EQ(utimensat(AT_FDCWD, file.c_str(), times, AT_SYMLINK_NOFOLLOW), 0);
}

time_t changed(const std::string& file) {
  struct stat facts{};
  EXPECT_EQ(stat(file.c_str(), &facts), 0);
  return facts.st_mtime;
}

TEST(DirectoryStore, KeepsWhatIsPut) {
  const TemporaryDirectory place;
  auto store = open(place / "a/b");
  const std::string key = key_text("one"), other = key_text("two");
  EXPECT_FALSE(fs::exists(place / "a")) << "nothing is made before there is an entry";
  EXPECT_EQ(text(*store, key), "none");
  ASSERT_TRUE(store->put(key, bytes("hello")).ok());
  EXPECT_EQ(text(*store, key), "hello");
  EXPECT_EQ(text(*store, other), "none");
  ASSERT_TRUE(store->put(key, bytes("again")).ok());
  EXPECT_EQ(text(*store, key), "hello") << "what is there stays: no reader sees an entry change";
  ASSERT_TRUE(store->put(other, bytes("")).ok());
  EXPECT_EQ(text(*open(place / "a/b"), other), "") << "an entry may be empty, for all that a store knows";
  ASSERT_TRUE(store->remove(key).ok());
  EXPECT_TRUE(store->remove(key).ok());
  EXPECT_EQ(text(*store, key), "none");
  EXPECT_EQ(store->describe(), "the directory " + (place / "a/b"));
}

TEST(DirectoryStore, OfALongFileThatIsNoEntryTheFirstBytesAreRead) {
  const TemporaryDirectory place;
  auto store = open(place.path());
  const std::string key = key_text("one");
  for (const std::vector<char>& begin : {std::vector<char>(1), runtime::encode(entry_of(1))}) {
    ASSERT_TRUE(store->put(key, begin).ok());
    fs::resize_file(file_of(place.path(), key), uint64_t{1} << 31);
    const auto got = store->get(key);
    ASSERT_TRUE(got.ok());
    ASSERT_TRUE(*got);
    EXPECT_LT((*got)->size(), 100u);
    EXPECT_FALSE(runtime::decode(**got).ok());
    ASSERT_TRUE(store->remove(key).ok());
  }
  // Of an entry, all are.
  const std::vector<char> large = runtime::encode(entry_of(1, size_t{20} << 20));
  ASSERT_TRUE(store->put(key, large).ok());
  EXPECT_EQ(**store->get(key), large);
}

TEST(DirectoryStore, ListsWithSizeAndUse) {
  const TemporaryDirectory place;
  auto store = open(place.path());
  EXPECT_THAT(*store->list(), IsEmpty());
  const std::string key = key_text("one");
  ASSERT_TRUE(store->put(key, bytes("hello")).ok());
  age(file_of(place.path(), key), 7200);
  std::ofstream(file_of(place.path(), key).substr(0, place.path().size() + 6) + "/readme") << "no entry";
  const auto entries = *store->list();
  ASSERT_EQ(entries.size(), 1u);
  EXPECT_EQ(entries[0].key, key);
  EXPECT_EQ(entries[0].bytes, 5u);
  const auto ago = std::chrono::system_clock::now() - entries[0].last_use;
  EXPECT_GT(ago, std::chrono::minutes(119));
  EXPECT_LT(ago, std::chrono::minutes(122));
}

TEST(DirectoryStore, TimesThatTheClockDoesNotKnowAreItsEnds) {
  const TemporaryDirectory place;
  auto store = open(place.path());
  constexpr time_t years = 365 * 24 * 3600;
  const std::pair<const char*, time_t> times[] = {{"old", -400 * years}, {"now", 0}, {"new", 400 * years}};
  for (const auto& [name, from_now] : times) {
    ASSERT_TRUE(store->put(key_text(name), bytes(name)).ok());
    const timespec at = {std::time(nullptr) + from_now, 999'999'999}, both[2] = {at, at};
    ASSERT_EQ(utimensat(AT_FDCWD, file_of(place.path(), key_text(name)).c_str(), both, 0), 0) << std::strerror(errno);
  }
  auto entries = *store->list();
  std::ranges::sort(entries, {}, &StoredEntry::last_use);
  std::vector<std::string> keys;
  for (const StoredEntry& entry : entries) keys.push_back(entry.key);
  EXPECT_THAT(keys, ElementsAre(key_text("old"), key_text("now"), key_text("new")));
}

TEST(DirectoryStore, AUseIsStampedAtMostOnceAnHour) {
  const TemporaryDirectory place;
  auto store = open(place.path());
  const std::string key = key_text("one"), file = file_of(place.path(), key);
  ASSERT_TRUE(store->put(key, bytes("hello")).ok());
  age(file, 1800);
  const time_t before = changed(file);
  EXPECT_EQ(text(*store, key), "hello");
  EXPECT_EQ(changed(file), before);
  age(file, 4000);
  EXPECT_EQ(text(*open(place.path(), true), key), "hello");
  EXPECT_LT(changed(file), std::time(nullptr) - 3900) << "not by who only reads";
  EXPECT_EQ(text(*store, key), "hello");
  EXPECT_GT(changed(file), std::time(nullptr) - 60);
  age(file, -100000);
  EXPECT_EQ(text(*store, key), "hello");
  EXPECT_LT(changed(file), std::time(nullptr) + 60) << "a clock that was wrong is put right";
}

TEST(DirectoryStore, TheOldestGoFirst) {
  const TemporaryDirectory place;
  auto store = open(place.path());
  for (int i = 0; i < 10; ++i) {
    const std::string key = key_text(std::to_string(i));
    ASSERT_TRUE(store->put(key, bytes(std::string(100, 'x'))).ok());
    age(file_of(place.path(), key), 10000 * (i == 3 ? 20 : 10 - i));
  }
  auto trimmed = store->trim(1000);
  ASSERT_TRUE(trimmed.ok());
  EXPECT_EQ(trimmed->entries, 0u);
  trimmed = store->trim(799);
  ASSERT_TRUE(trimmed.ok());
  EXPECT_EQ(trimmed->entries, 3u);
  EXPECT_EQ(trimmed->bytes, 300u);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(text(*store, key_text(std::to_string(i))) == "none", i == 3 || i < 2) << i;
  ASSERT_TRUE(store->trim(0).ok());
  EXPECT_THAT(*store->list(), IsEmpty());
}

TEST(DirectoryStore, AFolderThatIsNotTrustedEndsNoSweepOfTheOthers) {
  const TemporaryDirectory place;
  auto store = open(place.path());
  std::vector<std::string> folders;
  for (int i = 0; i < 20; ++i) {
    const std::string key = key_text(std::to_string(i));
    ASSERT_TRUE(store->put(key, bytes("hello")).ok());
    folders.push_back(fs::path(file_of(place.path(), key)).parent_path());
  }
  ASSERT_EQ(chmod(folders[7].c_str(), 0777), 0);
  const auto trimmed = store->trim(0);
  ASSERT_FALSE(trimmed.ok());
  EXPECT_EQ(trimmed.error().code, ErrorCode::untrusted);
  EXPECT_THAT(trimmed.error().message, HasSubstr(folders[7]));
  for (const std::string& folder : folders) EXPECT_EQ(fs::is_empty(folder), folder != folders[7]) << folder;
}

TEST(DirectoryStore, FilesOfDeadWritersGoAndThoseOfLivingStay) {
  const TemporaryDirectory place;
  auto store = open(place.path());
  ASSERT_TRUE(store->put(key_text("one"), bytes("hello")).ok());
  const std::string folder = fs::path(file_of(place.path(), key_text("one"))).parent_path();
  for (const char* name : {"/tmp-dead", "/tmp-alive", "/tmp-young"}) std::ofstream(folder + name) << "half";
  age(folder + "/tmp-dead", 100);
  age(folder + "/tmp-alive", 100);
  const int alive = ::open((folder + "/tmp-alive").c_str(), O_RDONLY | O_CLOEXEC);
  ASSERT_EQ(flock(alive, LOCK_EX | LOCK_NB), 0);
  auto trimmed = store->trim(1000);
  ASSERT_TRUE(trimmed.ok());
  EXPECT_EQ(trimmed->left_behind, 1u);
  EXPECT_FALSE(fs::exists(folder + "/tmp-dead"));
  EXPECT_TRUE(fs::exists(folder + "/tmp-alive"));
  EXPECT_TRUE(fs::exists(folder + "/tmp-young")) << "its writer may be about to lock it";
  close(alive);
  EXPECT_EQ(text(*store, key_text("one")), "hello");
}

TEST(DirectoryStore, BL_212_OnlyKeysAreNames) {
  const TemporaryDirectory place;
  auto store = open(place.path());
  for (const std::string& name :
       {std::string(300, 'a'), std::string("../../../../etc/passwd"), std::string("a\nb"), std::string("é"),
        std::string(), std::string(31, '0'), std::string(32, 'A'), std::string("0123456789abcdef/123456789abcdef"),
        std::string("0123456789abcde\0"
                    "0123456789abcdef",
                    32)}) {
    for (const Result<void>& done : {store->put(name, bytes("x")), store->remove(name)}) {
      ASSERT_FALSE(done.ok()) << name;
      EXPECT_EQ(done.error().code, ErrorCode::bad_argument);
    }
    EXPECT_THAT(text(*store, name), HasSubstr("a key is 32 hexadecimal digits in lower case"));
  }
  EXPECT_TRUE(fs::is_empty(place.path()));
}

TEST(DirectoryStore, BL_196_OnlyTheOwnerCanReadWhatIsMade) {
  for (const mode_t mask : {mode_t{0}, mode_t{077}, mode_t{022}}) {
    const TemporaryDirectory place;
    EXPECT_TRUE(in_child([&] {
      umask(mask);
      return open(place / "a/b")->put(key_text("one"), bytes("hello")).ok();
    }));
    for (const auto& made : fs::recursive_directory_iterator(place.path()))
      EXPECT_EQ(static_cast<unsigned>(made.status().permissions()), made.is_directory() ? 0700u : 0600u)
          << made.path() << " under the mask " << mask;
  }
}

TEST(DirectoryStore, WhatIsOnlyReadIsNotWritten) {
  const TemporaryDirectory place;
  ASSERT_TRUE(open(place.path())->put(key_text("one"), bytes("hello")).ok());
  auto store = open(place.path(), true);
  EXPECT_EQ(text(*store, key_text("one")), "hello");
  EXPECT_EQ(store->put(key_text("two"), bytes("x")).error().code, ErrorCode::unsupported);
  EXPECT_EQ(store->remove(key_text("one")).error().code, ErrorCode::unsupported);
  EXPECT_EQ(store->trim(0).error().code, ErrorCode::unsupported);
  EXPECT_EQ(store->list()->size(), 1u);
}

TEST(DirectoryStore, ItMayGoAndComeBackMeanwhile) {
  const TemporaryDirectory place;
  auto store = open(place / "cache");
  for (int round = 0; round < 3; ++round) {
    EXPECT_EQ(text(*store, key_text("one")), "none");
    ASSERT_TRUE(store->put(key_text("one"), bytes("hello")).ok());
    EXPECT_EQ(text(*store, key_text("one")), "hello");
    fs::remove_all(place / "cache");
  }
}

}  // namespace
}  // namespace tlxjit::runtime_test
