// tests/unit/ir/ranges_test.cpp — bounds that decide between signed, unsigned and wrapping arithmetic.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "src/ir/ranges_p.h"

#include <utility>

#include "tests/support/text_module.h"

using namespace tlxjit;

namespace {

constexpr int64_t i32_min = INT32_MIN, i32_max = INT32_MAX;

/// Bounds of the value that each op of the module's body gives; of all that int64_t holds, for a start.
struct Bounds {
  explicit Bounds(const std::string& body) : module(lowered(body)), ranges(module) {}
  std::pair<int64_t, int64_t> operator()(size_t op) { return of(module.body.ops[op]->result()); }
  std::pair<int64_t, int64_t> of(Value v) {
    const NumberRange r = ranges.of(v);
    EXPECT_TRUE(r.within({INT64_MIN, INT64_MAX}));
    return {static_cast<int64_t>(r.low), static_cast<int64_t>(r.high)};
  }
  Module module;
  Ranges ranges;
};
using Pair = std::pair<int64_t, int64_t>;

TEST(RangesTest, FollowsIndexArithmetic) {
  Bounds b(R"(
    %0 = dim [name = "M"] : i32
    %1 = const [value = 128] : i32
    %2 = ceil_div %0, %1 : i32
    %3 = mul %2, %1 : i32
    %4 = sub %2, %1 : i32
    %5 = const [value = 1] : i32
    %6 = max %4, %5 : i32
    %7 = mod %2, %6 : i32
    %8 = mod %2, %4 : i32
    %9 = min %2, %5 : i32
    %10 = and %2, %1 : i32
    %11 = and %2, %4 : i32
    %12 = div %0, %1 : i32
    %13 = div %4, %1 : i32
    grid %5
  )");
  EXPECT_EQ(b(2), Pair(0, 16777216));
  EXPECT_EQ(b(3), Pair(i32_min, i32_max));  // 2^24 · 128 does not fit
  EXPECT_EQ(b(4), Pair(-128, 16777088));
  EXPECT_EQ(b(6), Pair(1, 16777088));
  EXPECT_EQ(b(7), Pair(0, 16777087));
  EXPECT_EQ(b(8), Pair(i32_min, i32_max));  // by what may be 0 or less
  EXPECT_EQ(b(9), Pair(0, 1));
  EXPECT_EQ(b(10), Pair(0, 128));
  EXPECT_EQ(b(11), Pair(i32_min, i32_max));
  EXPECT_EQ(b(12), Pair(0, 16777215));
  EXPECT_EQ(b(13), Pair(i32_min, i32_max));
}

TEST(RangesTest, Selects) {
  Bounds b(R"(
    %0 = dim [name = "M", min = 3] : i32
    %1 = const [value = -7] : i32
    %2 = cmp %0, %1 [pred = "lt"] : b1
    %3 = select %2, %0, %1 : i32
    %4 = cast %2 : i32
  )");
  EXPECT_EQ(b(0), Pair(3, i32_max));
  EXPECT_EQ(b(2), Pair(0, 1));
  EXPECT_EQ(b(3), Pair(-7, i32_max));
  EXPECT_EQ(b(4), Pair(0, 1));
}

TEST(RangesTest, CastsKeepWhatFits) {
  Bounds b(R"(
    %0 = scalar [name = "s"] : u16
    %1 = cast %0 : i32
    %2 = cast %1 : u8
    %3 = const [value = 255] : i32
    %4 = min %1, %3 : i32
    %5 = cast %4 : u8
    %6 = cast %4 : i8
    %7 = scalar [name = "x"] : f32
    %8 = cast %7 : i32
  )");
  EXPECT_EQ(b(1), Pair(0, 65535));
  EXPECT_EQ(b(2), Pair(0, 255));
  EXPECT_EQ(b(5), Pair(0, 255));
  EXPECT_EQ(b(6), Pair(-128, 127));
  EXPECT_EQ(b(8), Pair(i32_min, i32_max));
}

TEST(RangesTest, ProductsAndSumsThatPassTheTypeAreUnknown) {
  Bounds b(R"(
    %0 = scalar [name = "s"] : i64
    %1 = const [value = 1099511627776] : i64
    %2 = div %1, %1 : i64
    %3 = mul %0, %0 : i64
    %4 = max %0, %2 : i64
    %5 = mul %4, %4 : i64
    %6 = add %4, %4 : i64
    %7 = sub %2, %4 : i64
    %8 = div %4, %1 : i64
    %9 = cast %8 : i32
    %10 = dim [name = "M"] : i32
    %11 = cast %10 : i64
    %12 = mul %11, %11 : i64
    %13 = mul %12, %12 : i64
  )");
  const Pair all(INT64_MIN, INT64_MAX);
  EXPECT_EQ(b(0), all);
  EXPECT_EQ(b(2), Pair(1, 1));
  EXPECT_EQ(b(3), all);
  EXPECT_EQ(b(4), Pair(1, INT64_MAX));
  EXPECT_EQ(b(5), all) << "a product beyond 2^62 was cut to 2^62 and held to be positive";
  EXPECT_EQ(b(6), all);
  EXPECT_EQ(b(7), Pair(1 - INT64_MAX, 0));
  EXPECT_EQ(b(8), Pair(0, 8388607));
  EXPECT_EQ(b(9), Pair(0, 8388607)) << "(2^63 - 1) / 2^40, not 2^62 / 2^40";
  EXPECT_EQ(b(12), Pair(0, i32_max * i32_max));
  EXPECT_EQ(b(13), all);
}

TEST(RangesTest, UnsignedOf64Bits) {
  Bounds b(R"(
    %0 = scalar [name = "s"] : u64
    %1 = mul %0, %0 : u64
    %2 = cast %0 : i64
    %3 = const [value = 1099511627776] : u64
    %4 = div %0, %3 : u64
  )");
  EXPECT_EQ(b.ranges.of(b.module.body.ops[0]->result()).high, (Bound{1} << 64) - 1);
  EXPECT_EQ(b.ranges.of(b.module.body.ops[1]->result()).high, (Bound{1} << 64) - 1);
  EXPECT_FALSE(b.ranges.exact(*b.module.body.ops[1]).within(range_of(Elem::u64)));
  EXPECT_EQ(b(2), Pair(INT64_MIN, INT64_MAX)) << "2^63 and more are negative as i64";
  EXPECT_EQ(b(4), Pair(0, 16777215));
}

TEST(RangesTest, LongChainsDoNotExhaustTheStack) {
  std::string body = "%0 = dim [name = \"M\"] : i32\n";
  for (int i = 1; i <= 200000; ++i)
    body += "%" + std::to_string(i) + " = min %" + std::to_string(i - 1) + ", %0 : i32\n";
  Bounds b(body);
  EXPECT_EQ(b(200000), Pair(i32_min, i32_max));
  EXPECT_EQ(b(100), Pair(0, i32_max)) << "asked for by itself";
}

TEST(RangesTest, LoopVariablesStayBelowTheEnd) {
  Bounds b(R"(
    %0 = dim [name = "M"] : i32
    %1 = const [value = 128] : i32
    %2 = div %0, %1 : i32
    %3 = const [value = 5] : i32
    task [name = "t", warps = 1, replicas = 1] {
      for %3, %2, %3 {
        (%4: i32)
        %5 = mul %4, %1 : i32
        %6 = sub %4, %3 : i32
      }
    }
  )");
  const Op& loop = *b.module.body.ops[4]->regions[0].ops[0];
  const Value i = loop.regions[0].args[0];
  EXPECT_EQ(b.of(i), Pair(i32_min, i32_max));
  b.ranges.set_loop(i, loop.operand(0), loop.operand(1));
  EXPECT_EQ(b.of(i), Pair(5, 16777214));
  EXPECT_EQ(b.of(loop.regions[0].ops[0]->result()), Pair(640, 16777214 * 128));
  EXPECT_EQ(b.of(loop.regions[0].ops[1]->result()), Pair(0, 16777209));
  // From what is 0 or more to 5: the body runs where the begin is below the end.
  b.ranges.set_loop(i, loop.operand(1), loop.operand(0));
  EXPECT_EQ(b.of(i), Pair(0, 4));
}

}  // namespace
