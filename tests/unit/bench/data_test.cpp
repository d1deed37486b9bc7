// tests/unit/bench/data_test.cpp — the random numbers are normal and do not depend on how they are asked for.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "bench/gpu/data.h"

#include <gtest/gtest.h>

#include <cmath>

namespace tlxjit::bench {
namespace {

TEST(NormalData, HasTheMomentsOfANormalVariable) {
  std::vector<bf16> x(1 << 20);
  NormalData().fill(x, 3, 0);
  double sum = 0, square = 0, fourth = 0;
  for (const bf16 v : x) {
    const double f = double(float(v));
    ASSERT_FALSE(is_nan(v));
    sum += f, square += f * f, fourth += f * f * f * f;
  }
  // Within five standard errors: the variances of f, f² and f⁴ are 1, 2 and 96.
  const auto n = double(x.size());
  EXPECT_NEAR(sum / n, 0, 5 * std::sqrt(1 / n));
  EXPECT_NEAR(square / n, 1, 5 * std::sqrt(2 / n));
  EXPECT_NEAR(fourth / n, 3, 5 * std::sqrt(96 / n));
}

TEST(NormalData, IsAFunctionOfSeedAndIndex) {
  const NormalData data;
  std::vector<bf16> all(1000), part(37), other(1000);
  data.fill(all, 5, 0);
  data.fill(part, 5, 111);
  data.fill(other, 6, 0);
  int equal = 0;
  for (size_t i = 0; i < part.size(); ++i) EXPECT_EQ(part[i].bits, all[111 + i].bits) << i;
  for (size_t i = 0; i < all.size(); ++i) equal += all[i].bits == other[i].bits;
  EXPECT_LT(equal, 50);
}

TEST(NormalData, OrderCountsRepresentableValues) {
  EXPECT_EQ(ordered(bf16(0.f)), ordered(bf16(-0.f)));
  EXPECT_EQ(ordered(bf16(1.f)) - ordered(bf16(0.99609375f)), 1);
  EXPECT_EQ(ordered(bf16(-0.99609375f)) - ordered(bf16(-1.f)), 1);
}

}  // namespace
}  // namespace tlxjit::bench
