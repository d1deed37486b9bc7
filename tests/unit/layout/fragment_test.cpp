// tests/unit/layout/fragment_test.cpp — every element of a tile lies in exactly the threads that the table says.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "src/layout/fragment_p.h"

#include <gtest/gtest.h>

#include <map>
#include <utility>

using namespace tlxjit;

namespace {

/// How often each (row, column) appears over the 128 threads of a warp group.
std::map<std::pair<int, int>, int> coverage(const Fragment& f) {
  std::map<std::pair<int, int>, int> count;
  for (int thread = 0; thread < 128; ++thread)
    for (int r = 0; r < f.elements(); ++r) {
      const FragmentCoordinate at = f.coordinate(r);
      const bool rows = f.kind != FragmentKind::column, cols = f.kind != FragmentKind::row;
      ++count[{rows ? at.row + 16 * (thread / 32) + thread % 32 / 4 : 0, cols ? at.col + 2 * (thread % 4) : 0}];
    }
  return count;
}

TEST(FragmentTest, AccumulatorHoldsEachElementOnce) {
  for (int64_t rows : {64, 128})
    for (int64_t cols : {8, 24, 64, 256}) {
      const Fragment f{FragmentKind::accumulator, {rows, cols}};
      ASSERT_TRUE(f.valid());
      const auto count = coverage(f);
      ASSERT_EQ(count.size(), static_cast<size_t>(rows * cols));
      for (const auto& [at, n] : count) {
        EXPECT_EQ(n, 1);
        EXPECT_LT(at.first, rows);
        EXPECT_LT(at.second, cols);
      }
    }
}

TEST(FragmentTest, RowsAreHeldByQuadsAndColumnsByAllWarps) {
  for (const auto& [at, n] : coverage({FragmentKind::row, {128}})) EXPECT_EQ(n, 4) << at.first;
  const auto columns = coverage({FragmentKind::column, {24}});
  EXPECT_EQ(columns.size(), 24u);
  for (const auto& [at, n] : columns) EXPECT_EQ(n, 32) << at.second;
}

TEST(FragmentTest, RowAndColumnElementsMatch) {
  const Fragment f{FragmentKind::accumulator, {128, 48}}, row{FragmentKind::row, {128}},
      column{FragmentKind::column, {48}};
  for (int r = 0; r < f.elements(); ++r) {
    EXPECT_EQ(row.coordinate(row_element(f, r)).row, f.coordinate(r).row);
    EXPECT_EQ(column.coordinate(column_element(f, r)).col, f.coordinate(r).col);
  }
}

TEST(FragmentTest, Variables) {
  EXPECT_EQ((Fragment{FragmentKind::accumulator, {64, 256}}.variables(Elem::f32)), 128);
  EXPECT_EQ((Fragment{FragmentKind::accumulator, {64, 256}}.variables(Elem::bf16)), 64);
  EXPECT_EQ((Fragment{FragmentKind::row, {64}}.variables(Elem::f32)), 2);
  EXPECT_EQ((Fragment{FragmentKind::row, {64}}.variables(Elem::i64)), 2) << "a variable of 64 bits is one";
  EXPECT_FALSE((Fragment{FragmentKind::accumulator, {32, 256}}.valid()));
  EXPECT_FALSE((Fragment{FragmentKind::accumulator, {64, 12}}.valid()));
  EXPECT_FALSE((Fragment{FragmentKind::row, {64, 8}}.valid()));
}

}  // namespace
