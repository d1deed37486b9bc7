// tests/unit/runtime/entry_test.cpp — entries as bytes: what was written once is read, what is damaged is not.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <gmock/gmock.h>

#include <random>

#include "src/runtime/hash_p.h"
#include "tests/support/seeds.h"
#include "tests/unit/runtime/entries.h"

namespace tlxjit::runtime_test {
namespace {

using runtime::decode;
using runtime::encode;
using runtime::Entry;

/// Whether the bytes are refused as what they are.
::testing::AssertionResult is_bad(std::span<const char> bytes) {
  const auto entry = decode(bytes);
  if (entry) return ::testing::AssertionFailure() << "an entry of `" << entry->kernel << "`";
  if (entry.error().code != ErrorCode::bad_content) return ::testing::AssertionFailure() << to_string(entry.error());
  return ::testing::AssertionSuccess();
}

TEST(Entry, TheGoldenFileIsReadAndWrittenByteForByte) {
  const std::vector<char> golden = read_file(TLXJIT_TEST_DATA "/entry-v1.bin");
  ASSERT_FALSE(golden.empty());
  const auto entry = decode(golden);
  ASSERT_TRUE(entry.ok()) << to_string(entry.error());
  EXPECT_EQ(*entry, golden_entry());
  EXPECT_EQ(encode(golden_entry()), golden);
}

TEST(Entry, BL_189_EveryChangedByteIsNoticed) {
  const std::vector<char> good = encode(golden_entry());
  ASSERT_TRUE(decode(good).ok());
  std::vector<char> bytes = good;
  for (size_t i = 0; i < bytes.size(); ++i) {
    for (int bit = 0; bit < 8; ++bit) {
      bytes[i] = static_cast<char>(good[i] ^ (1 << bit));
      ASSERT_TRUE(is_bad(bytes)) << "bit " << bit << " of byte " << i;
    }
    for (const int value : {0x00, 0xff, ~good[i]}) {
      bytes[i] = static_cast<char>(value);
      if (bytes[i] != good[i]) {
        ASSERT_TRUE(is_bad(bytes)) << value << " in byte " << i;
      }
    }
    bytes[i] = good[i];
  }
}

TEST(Entry, BL_189_EveryLengthButTheRightOneIsNoticed) {
  std::vector<char> bytes = encode(golden_entry());
  for (size_t size = 0; size < bytes.size(); ++size) ASSERT_TRUE(is_bad(std::span(bytes).first(size))) << size;
  for (const char more : {'\0', 'x'}) {
    std::vector<char> longer = bytes;
    longer.push_back(more);
    EXPECT_TRUE(is_bad(longer));
  }
  bytes.insert(bytes.end(), bytes.begin(), bytes.end());
  EXPECT_TRUE(is_bad(bytes)) << "an entry twice";
}

/// Whoever makes entries to harm can make checksums too: sizes are looked at all the same.
TEST(Entry, SizesThatLieUnderARightChecksum) {
  const std::vector<char> good = encode(golden_entry());
  const uint64_t lies[] = {
      0, 1, 2, 255, good.size(), uint64_t{1} << 32, uint64_t{1} << 63, ~uint64_t{0}, ~uint64_t{87}};
  for (size_t part = 0; part < 6; ++part)
    for (const uint64_t lie : lies) {
      std::vector<char> bytes = good;
      for (size_t i = 0; i < 8; ++i) bytes[24 + 8 * part + i] = static_cast<char>(lie >> 8 * i);
      const size_t end = bytes.size() - runtime::hash_bytes;
      const std::string sum = runtime::hash_of({bytes.data(), end});
      std::copy(sum.begin(), sum.end(), bytes.begin() + static_cast<std::ptrdiff_t>(end));
      if (bytes != good) {
        EXPECT_TRUE(is_bad(bytes)) << lie << " for part " << part;
      }
    }
}

/// Any bytes under a right checksum: they are refused, or are what the entry that is read is written as.
TEST(Entry, AnEntryHasOneForm) {
  const std::vector<char> good = encode(golden_entry());
  int read = 0;
  for_seeds(20, [&](uint64_t seed) {
    std::mt19937_64 random(seed);
    for (int round = 0; round < 500; ++round) {
      std::vector<char> bytes = good;
      for (int n = static_cast<int>(random() % 4); n >= 0; --n) {
        const size_t at = random() % (random() % 2 ? bytes.size() : 72);
        if (random() % 4 == 0 && bytes.size() > 100)
          bytes.erase(bytes.begin() + static_cast<std::ptrdiff_t>(at));
        else
          bytes[at] = static_cast<char>(random() % 2 ? random() : random() % 4);
      }
      const size_t end = bytes.size() - runtime::hash_bytes;
      const std::string sum = runtime::hash_of({bytes.data(), end});
      std::copy(sum.begin(), sum.end(), bytes.begin() + static_cast<std::ptrdiff_t>(end));
      const auto entry = decode(bytes);
      if (!entry) continue;
      ++read;
      ASSERT_EQ(encode(*entry), bytes);
    }
  });
  EXPECT_GT(read, 100) << "hardly any was read";
}

TEST(Entry, WhatIsWrittenIsRead) {
  for_seeds(20, [](uint64_t seed) {
    std::mt19937_64 random(seed);
    const auto text = [&] {
      std::string s(random() % 3 == 0 ? 0 : random() % 5000, '\0');
      for (char& c : s) c = static_cast<char>(random());
      return s;
    };
    const std::string image = text();
    const Entry entry{text(), text(), text(), text(), {image.begin(), image.end()}, text()};
    const auto read = decode(encode(entry));
    ASSERT_TRUE(read.ok()) << to_string(read.error());
    EXPECT_EQ(*read, entry);
  });
}

TEST(Entry, AnEntryBelongsToItsKey) {
  const Entry entry = golden_entry();
  const std::vector<char> bytes = encode(entry);
  const auto facts = check_entry(key_of(entry), bytes);
  ASSERT_TRUE(facts.ok()) << to_string(facts.error());
  EXPECT_EQ(facts->kernel, "add");
  EXPECT_EQ(facts->target, "cpu x86-64-v3");
  EXPECT_EQ(facts->image_bytes, 256u);
  EXPECT_EQ(facts->report, "compiled in 12 ms\n");
  const auto other = check_entry(runtime::key_text("another"), bytes);
  ASSERT_FALSE(other.ok());
  EXPECT_EQ(other.error().code, ErrorCode::bad_content);
  EXPECT_EQ(other.error().message, "it is the entry of another key");
}

}  // namespace
}  // namespace tlxjit::runtime_test
