// tests/kernels/attention_limits_test.cpp — so many rows or sequences that indices would not fit 32 bits are refused.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <gmock/gmock.h>

#include "tests/kernels/fixture.h"

namespace kernels_test {

class AttentionLimits : public KernelTest {
 protected:
  /// The message of a call with so many rows, keys and bounds of sequences, all in one small buffer.
  std::string call(const AttentionConfig& c, int64_t rows, int64_t keys, int64_t bounds = 0) {
    auto exe = compile(attention(c));
    if (!exe) return exe.error().message;
    const Buffer room = device().allocate(4096).value();
    const bool jagged = c.options.jagged;
    const auto x = [&](int64_t n) { return jagged ? room.tensor<bf16>({n, 1, 64}) : room.tensor<bf16>({1, n, 1, 64}); };
    std::vector<Argument> arguments = {x(rows), x(keys), x(keys), x(rows)};
    if (jagged) arguments.emplace_back(room.tensor<int32_t>({bounds}));
    if (jagged && !c.options.self) arguments.emplace_back(room.tensor<int32_t>({bounds}));
    arguments.emplace_back(1.f);
    const auto done = exe->launch(Stream(), arguments);
    return done ? "success" : done.error().message;
  }
  AttentionConfig config(AttentionOptions o) {
    o.lse = false;
    return attention_config(GetParam().target(), o);
  }
  static std::string refused(const char* tensor, int64_t extent, const char* dim, int64_t most) {
    return std::string("argument `") + tensor + "` has extent " + std::to_string(extent) + " in dimension " +
           (*dim == 'S' ? "1" : "0") + " (" + dim + "), and the kernel takes at most " + std::to_string(most) +
           ": split the call";
  }
};

constexpr int64_t all = INT32_MAX;

TEST_P(AttentionLimits, TheBandBesideTheLastRowFits) {
  for (const bool jagged : {false, true}) {
    AttentionOptions o{.head = 64, .jagged = jagged, .self = false, .right = 1 << 30};
    const AttentionConfig c = config(o);
    const int64_t most = all - 2 * c.bq - c.bkv - (int64_t{1} << 30);
    const char *rows = jagged ? "Tq" : "Sq", *keys = jagged ? "Tk" : "Sk";
    EXPECT_EQ(call(c, all, 1, 2), refused("q", all, rows, most));
    EXPECT_EQ(call(c, most + 1, 1, 2), refused("q", most + 1, rows, most));
    EXPECT_EQ(call(c, 1, most + 1, 2), refused("k", most + 1, keys, most));
    EXPECT_THAT(call(c, most, 1, 2), ::testing::HasSubstr("behind its buffer"));
  }
}

TEST_P(AttentionLimits, SectionsOfHeadsFit) {
  AttentionConfig c = config({.head = 64, .causal = true});
  c.heads_together = 1 << 20;
  const int64_t most = all / c.heads_together * c.bq;
  EXPECT_EQ(call(c, most + 1, most + 1), refused("q", most + 1, "S", most));
  EXPECT_THAT(call(c, most, most), ::testing::HasSubstr("behind its buffer"));
  c.heads_together = 1 << 21;
  EXPECT_EQ(call(c, 1, 1), "attention: bq, bkv and heads_together are at most 2^20");
}

TEST_P(AttentionLimits, SequencesFit) {
  AttentionConfig c = config({.head = 64, .causal = true, .jagged = true});
  const int64_t most = all / c.heads_together / 2 + 1;
  EXPECT_EQ(call(c, 1, 1, all), refused("offsets", all, "B+1", most));
  EXPECT_EQ(call(c, 1, 1, most + 1), refused("offsets", most + 1, "B+1", most));
  EXPECT_THAT(call(c, 1, 1, most), ::testing::HasSubstr("behind its buffer"));
}

INSTANTIATE_TEST_SUITE_P(On, AttentionLimits, places, place_name);

}  // namespace kernels_test
