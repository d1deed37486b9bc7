// tests/unit/reference/tolerance_test.cpp — the comparison that other tests rely on.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tests/reference/tolerance.h"

#include <gtest/gtest.h>

#include <limits>

namespace reference {
namespace {

constexpr double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();

TEST(Agrees, BL_046_NeitherNanNorInfinityIsHidden) {
  EXPECT_FALSE(agrees(1, nan, 10));
  EXPECT_FALSE(agrees(nan, 1, 10));
  EXPECT_FALSE(agrees(1e300, inf, inf));
  EXPECT_FALSE(agrees(inf, 1e300, inf));
  EXPECT_FALSE(agrees(-inf, inf, inf));
  EXPECT_FALSE(agrees(nan, nan, 10));
  EXPECT_TRUE(agrees(nan, nan, 0, /*nan=*/true));
  EXPECT_FALSE(agrees(nan, 1, 10, /*nan=*/true));
  EXPECT_TRUE(agrees(inf, inf, 0));
}

TEST(Agrees, FiniteNumbersWithinTheBound) {
  EXPECT_TRUE(agrees(1.5, 1, 0.5));
  EXPECT_FALSE(agrees(1.5, 1, 0.25));
  EXPECT_FALSE(agrees(-1, 1, 1));
}

TEST(Tolerance, GrowsWithTermsAndMagnitude) {
  EXPECT_GT(tolerance(1, 10, 100, roundoff_bf16), tolerance(1, 10, 10, roundoff_bf16));
  EXPECT_GT(tolerance(1, 20, 10, roundoff_bf16), tolerance(1, 10, 10, roundoff_bf16));
  EXPECT_GE(tolerance(1, 1, 1, roundoff_bf16), roundoff_bf16);
  EXPECT_LT(tolerance(1, 1, 1, roundoff_bf16), 2 * roundoff_bf16);
}

}  // namespace
}  // namespace reference
