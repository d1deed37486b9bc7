// tests/unit/builder/moves_test.cpp — tiles that are exchanged and moved, in loops and branches.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "tests/unit/builder/faults.h"

namespace tlxjit {
namespace {

/// How often the kernel assigns.
size_t assignments(const Kernel& kernel) {
  auto module = kernel.module();
  EXPECT_TRUE(module.ok()) << to_string(module.error());
  size_t n = 0;
  walk(module->body, [&](const Op& op) { n += op.code == OpCode::set; });
  return n;
}

Kernel with_two_tiles(const std::function<void(Kernel&, Tile&, Tile&)>& body) {
  Kernel k{"two"};
  auto y = k.tensor<float>("y", {k.dim("N")});
  k.grid(1);
  k.task("main").body([&](Task& t) {
    Tile a = t.full<float>({4}, 1), b = t.full<float>({4}, 2);
    body(k, a, b);
    y.store({0}, a - b);
  });
  return k;
}

TEST(Moves, SwapsInARegionAreAssignments) {
  EXPECT_EQ(assignments(with_two_tiles([](Kernel& k, Tile& a, Tile& b) { k.range(3).each([&] { swap(a, b); }); })), 2u);
  EXPECT_EQ(assignments(with_two_tiles(
                [](Kernel& k, Tile& a, Tile& b) { k.when(k.program_id() == 0, [&] { std::ranges::swap(a, b); }); })),
            2u);
}

TEST(Moves, AlgorithmsThatSwapWork) {
  // Two in the loop, and those of a and b behind it.
  EXPECT_EQ(assignments(with_two_tiles([](Kernel& k, Tile& a, Tile& b) {
              std::vector<Tile> all{a, b};
              k.range(2).each([&] { std::reverse(all.begin(), all.end()); });
              a = all[0];
              b = all[1];
            })),
            2u);
}

TEST(Moves, AnAssignmentToAMovedTileOfAnOuterRegionIsAFault) {
  const Kernel k = with_two_tiles([](Kernel& k, Tile& a, Tile& b) { k.range(3).each([&] { std::swap(a, b); }); });
  ASSERT_FALSE(k.faults().empty());
  EXPECT_EQ(
      k.faults()[0].message,
      "a tile from outside this loop or branch was moved away (std::move) and is assigned again, which code behind "
      "the region would not see; copy instead of moving, or exchange two tiles with swap(a, b)");
}

TEST(Moves, WhatIsMovedInItsOwnRegionIsAnotherName) {
  EXPECT_EQ(assignments(with_two_tiles([](Kernel&, Tile& a, Tile& b) { std::swap(a, b); })), 0u);
  EXPECT_EQ(assignments(with_two_tiles([](Kernel&, Tile& a, Tile&) {
              std::vector<Tile> grown;
              for (int i = 0; i < 8; ++i) grown.push_back(a);
              swap(a, grown[7]);
            })),
            0u);
}

static_assert(elem_of<long long> == Elem::i64 && elem_of<unsigned long long> == Elem::u64 &&
              elem_of<long> == Elem::i64);
static_assert(!Element<char> && !Element<void*> && !Element<std::string> && Element<bool> && Element<bf16>);

TEST(Elements, OthersThanThoseThatThereAreAreRefused) {
  for (const Elem elem : {Elem::none, static_cast<Elem>(99)}) {
    expect_builder_fault(
        "const: the element type of its result is none of those that there are; elem_of<T> has one for bool, integers "
        "of "
        "8 to 64 bits, float, double and the types of core/numeric.h",
        [&](BuilderFixture&, Task& t) -> uint32_t { return (void)t.full({4}, elem, 1), __LINE__; });
    EXPECT_STREQ(to_string(elem), "none");
    EXPECT_EQ(bits(elem), 0);
  }
}

}  // namespace
}  // namespace tlxjit
