// tests/unit/codegen/ranges_test.cpp — bounds that decide between signed, unsigned and wrapping arithmetic.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "src/codegen/ranges_p.h"

#include "tests/support/text_module.h"

using namespace tlxjit;

namespace {

TEST(RangesTest, FollowsIndexArithmetic) {
  const Module m = lowered(R"(
    %0 = dim [name = "M"] : i32
    %1 = const [value = 128] : i32
    %2 = ceil_div %0, %1 : i32
    %3 = mul %2, %1 : i32
    %4 = sub %2, %1 : i32
    %5 = const [value = 1] : i32
    %6 = max %4, %5 : i32
    %7 = mod %2, %6 : i32
    %8 = mod %2, %4 : i32
    grid %5
  )");
  Ranges ranges(m);
  const auto of = [&](size_t i) { return ranges.of(m.body.ops[i]->result()); };
  EXPECT_EQ(of(2).low, 0);
  EXPECT_EQ(of(2).high, 16777216);
  EXPECT_EQ(of(3).low, -2147483648LL);  // 2^24 · 128 does not fit
  EXPECT_EQ(of(4).low, -128);
  EXPECT_EQ(of(6).low, 1);
  EXPECT_EQ(of(7).low, 0);
  EXPECT_LT(of(8).low, 0);
}

}  // namespace
