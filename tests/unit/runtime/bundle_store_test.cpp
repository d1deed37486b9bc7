// tests/unit/runtime/bundle_store_test.cpp — many entries in one file.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <gmock/gmock.h>
#include <sys/stat.h>

#include <algorithm>

#include "src/runtime/hash_p.h"
#include "src/runtime/material_p.h"
#include "tests/unit/runtime/entries.h"
#include "tests/unit/runtime/temporary_directory.h"

namespace tlxjit::runtime_test {
namespace {

using runtime::encode;
using runtime::Entry;
using ::testing::HasSubstr;

BundledEntry bundled(const Entry& entry) { return {key_of(entry), encode(entry)}; }

std::vector<BundledEntry> golden() {
  return {bundled(golden_entry()), bundled(Entry{"empty", "", "another material", "", {}, ""})};
}

TEST(BundleStore, TheGoldenFileIsReadAndWrittenByteForByte) {
  const TemporaryDirectory place;
  const std::string file = place / "bundle";
  const std::vector<char> bytes = read_file(TLXJIT_TEST_DATA "/bundle-v1.bin");
  write_file(file, bytes);
  auto bundle = bundle_store(file);
  ASSERT_TRUE(bundle.ok()) << to_string(bundle.error());
  for (const BundledEntry& entry : golden()) {
    auto got = (*bundle)->get(entry.key);
    ASSERT_TRUE(got.ok() && *got) << entry.key;
    EXPECT_EQ(**got, entry.bytes);
  }
  std::vector<BundledEntry> entries = golden();
  for (int round = 0; round < 2; ++round) {
    ASSERT_TRUE(write_bundle(place / "again", entries).ok());
    EXPECT_EQ(read_file(place / "again"), bytes);
    std::reverse(entries.begin(), entries.end());
    entries.push_back(entries[0]);  // twice is once
  }
}

TEST(BundleStore, ItsKeysNameNoCompilerAndTheFirstOfEqualEntriesStays) {
  const TemporaryDirectory place;
  const auto made_by = [](const char* compiler) {
    Entry entry = golden_entry();
    entry.material = runtime::material_of({"sm_90a", "sm_90a", false, "", compiler, "a module"});
    entry.report = compiler;
    return entry;
  };
  for (const bool turned : {false, true}) {
    std::vector<BundledEntry> entries = {bundled(made_by("nvrtc 1")), bundled(made_by("nvrtc 2")),
                                         bundled(entry_of(7))};
    if (turned) std::swap(entries[0], entries[1]);
    EXPECT_EQ(*write_bundle(place / "bundle", entries), 2u);
    auto bundle = bundle_store(place / "bundle");
    ASSERT_TRUE(bundle.ok());
    EXPECT_TRUE((*bundle)->any_compiler());
    auto got = (*bundle)->get(key_of(made_by("")));
    ASSERT_TRUE(got.ok() && *got);
    const auto entry = runtime::decode(**got, key_of(made_by("")));
    ASSERT_TRUE(entry.ok()) << "whole, under its new key";
    EXPECT_EQ(entry->report, turned ? "nvrtc 2" : "nvrtc 1");
    EXPECT_TRUE((*bundle)->get(key_of(entry_of(7)))->has_value()) << "what has another shape keeps its key";
    EXPECT_EQ(*write_bundle(place / "again", std::vector<BundledEntry>{{key_of(made_by("")), **got}}), 1u);
  }
}

TEST(BundleStore, IsOnlyReadAndKnowsWhatItHas) {
  const TemporaryDirectory place;
  ASSERT_TRUE(write_bundle(place / "bundle", golden()).ok());
  auto bundle = bundle_store(place / "bundle");
  ASSERT_TRUE(bundle.ok());
  auto got = (*bundle)->get(runtime::key_text("missing"));
  ASSERT_TRUE(got.ok());
  EXPECT_FALSE(got->has_value());
  const std::string key = golden()[0].key;
  EXPECT_EQ((*bundle)->put(key, {}).error().code, ErrorCode::unsupported);
  EXPECT_EQ((*bundle)->remove(key).error().code, ErrorCode::unsupported);
  EXPECT_EQ((*bundle)->trim(0).error().code, ErrorCode::unsupported);
  EXPECT_EQ((*bundle)->get("x").error().code, ErrorCode::bad_argument);
  EXPECT_EQ((*bundle)->list()->size(), 2u);
  EXPECT_EQ((*bundle)->describe(), "the bundle " + (place / "bundle"));
}

TEST(BundleStore, ABundleOfNothing) {
  const TemporaryDirectory place;
  ASSERT_TRUE(write_bundle(place / "bundle", {}).ok());
  auto bundle = bundle_store(place / "bundle");
  ASSERT_TRUE(bundle.ok()) << to_string(bundle.error());
  EXPECT_TRUE((*bundle)->list()->empty());
}

/// Whether these bytes are a bundle that has all of golden().
bool whole(const std::string& file, std::span<const char> bytes) {
  write_file(file, bytes);
  auto bundle = bundle_store(file);
  if (!bundle) {
    EXPECT_EQ(bundle.error().code, ErrorCode::bad_content) << to_string(bundle.error());
    return false;
  }
  for (const BundledEntry& entry : golden()) {
    auto got = (*bundle)->get(entry.key);
    if (!got || !*got || !check_entry(entry.key, **got)) return false;
  }
  return true;
}

/// Of a bundle's bytes none may change or be missing without being noticed: when it is opened, or in its entry.
TEST(BundleStore, BL_189_EveryChangedByteAndEveryLengthIsNoticed) {
  const TemporaryDirectory place(memory_disk());
  const std::string file = place / "bundle";
  ASSERT_TRUE(write_bundle(file, golden()).ok());
  const std::vector<char> good = read_file(file);
  ASSERT_TRUE(whole(file, good));
  std::vector<char> bytes = good;
  for (size_t i = 0; i < good.size(); ++i) {
    bytes[i] = static_cast<char>(good[i] ^ (1 << i % 8));
    ASSERT_FALSE(whole(file, bytes)) << "byte " << i;
    bytes[i] = good[i];
  }
  for (size_t size = 0; size < good.size(); ++size) ASSERT_FALSE(whole(file, std::span(good).first(size))) << size;
  bytes.push_back(0);
  EXPECT_FALSE(whole(file, bytes));
}

/// Numbers of an index that was made to harm, under a right checksum.
TEST(BundleStore, AnIndexThatLiesUnderARightChecksum) {
  const TemporaryDirectory place(memory_disk());
  const std::string file = place / "bundle";
  ASSERT_TRUE(write_bundle(file, golden()).ok());
  const std::vector<char> good = read_file(file);
  constexpr size_t end = 32 + 48 * 2;  // of the index
  const uint64_t lies[] = {0,
                           1,
                           3,
                           good.size() - 1,
                           good.size() + 1,
                           uint64_t{1} << 32,
                           uint64_t{1} << 63,
                           ~uint64_t{0},
                           ~uint64_t{0} / 48,
                           ~uint64_t{31}};
  for (size_t at = 8; at < end; at += 8)
    for (const uint64_t lie : lies) {
      std::vector<char> bytes = good;
      for (size_t i = 0; i < 8; ++i) bytes[at + i] = static_cast<char>(lie >> 8 * i);
      const std::string sum = runtime::hash_of({bytes.data(), end});
      std::copy(sum.begin(), sum.end(), bytes.begin() + end);
      if (bytes != good) {
        EXPECT_FALSE(whole(file, bytes)) << lie << " at " << at;
      }
    }
}

TEST(BundleStore, OneThatIsCutWhileItIsOpenEndsNoProcess) {
  const TemporaryDirectory place;
  const std::string file = place / "bundle";
  ASSERT_TRUE(write_bundle(file, golden()).ok());
  auto bundle = bundle_store(file);
  ASSERT_TRUE(bundle.ok());
  std::filesystem::resize_file(file, 10);
  for (const BundledEntry& entry : golden()) {
    auto got = (*bundle)->get(entry.key);
    ASSERT_TRUE(got.ok() && *got);
    EXPECT_FALSE(check_entry(entry.key, **got).ok());
  }
  ASSERT_TRUE(write_bundle(file, golden()).ok());
  auto open = bundle_store(file);
  ASSERT_TRUE(write_bundle(file, {}).ok()) << "one that is replaced stays whole for who has it open";
  EXPECT_TRUE((*open)->get(golden()[0].key)->has_value());
}

TEST(BundleStore, WhatIsNoEntryOfItsKeyIsNotPutIn) {
  const TemporaryDirectory place;
  std::vector<BundledEntry> entries = golden();
  std::swap(entries[0].key, entries[1].key);
  auto done = write_bundle(place / "bundle", entries);
  ASSERT_FALSE(done.ok());
  EXPECT_EQ(done.error().code, ErrorCode::bad_content);
  EXPECT_EQ(done.error().message,
            "what is under the key " + entries[0].key + " is not put into a bundle: it is the entry of another key");
  entries = {{"no key", {}}};
  EXPECT_EQ(write_bundle(place / "bundle", entries).error().code, ErrorCode::bad_argument);
  done = write_bundle(place / "missing/bundle", golden());
  ASSERT_FALSE(done.ok());
  EXPECT_EQ(done.error().code, ErrorCode::disk_failed);
  EXPECT_THAT(done.error().message, HasSubstr("No such file or directory"));
  EXPECT_TRUE(std::filesystem::is_empty(place.path())) << "nothing is left of what failed";
}

TEST(BundleStore, AFileThatOthersCouldHaveWrittenIsRefused) {
  const TemporaryDirectory place;
  const std::string file = place / "bundle";
  ASSERT_TRUE(write_bundle(file, golden()).ok());
  ASSERT_EQ(chmod(file.c_str(), 0664), 0);
  EXPECT_EQ(bundle_store(file).error().code, ErrorCode::untrusted);
  ASSERT_EQ(chmod(file.c_str(), 0644), 0);
  std::filesystem::create_symlink("bundle", place / "current");
  EXPECT_TRUE(bundle_store(place / "current").ok()) << "links are followed, where they are trusted";
  EXPECT_EQ(bundle_store(place / "none").error().code, ErrorCode::disk_failed);
  EXPECT_EQ(bundle_store(place.path()).error().code, ErrorCode::untrusted);
  EXPECT_EQ(bundle_store("bundle").error().code, ErrorCode::bad_argument);
  ASSERT_EQ(chmod(place.path().c_str(), 0777), 0);
  auto open = bundle_store(file);
  ASSERT_FALSE(open.ok());
  EXPECT_EQ(open.error().code, ErrorCode::untrusted);
  EXPECT_EQ(open.error().message, place.path() +
                                      " is not used: others than its owner may write to it; "
                                      "`chmod go-w` takes that away");
}

}  // namespace
}  // namespace tlxjit::runtime_test
