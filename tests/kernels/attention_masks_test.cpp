// tests/kernels/attention_masks_test.cpp — public reports of masks and of numbers that are not finite.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tests/kernels/attention_fixture.h"

namespace kernels_test {

constexpr float infinity = std::numeric_limits<float>::infinity();

class AttentionMasks : public AttentionTest {
 protected:
  int small() const { return GetParam().tensor_maps() ? 64 : 16; }

  /// A mask as a matrix, a row a word: the reference's rules give it, and the kernel computes by it.
  void written_out(AttentionOptions o, const std::vector<std::string>& rows) {
    const auto queries = static_cast<int64_t>(rows.size()), keys = static_cast<int64_t>(rows[0].size());
    reference::Mask mask(queries, keys);
    for (int64_t i = 0; i < queries; ++i)
      for (int64_t j = 0; j < keys; ++j) mask(i, j) = rows[size_t(i)][size_t(j)] == '1';
    for (const bool jagged : {false, true}) {
      o.jagged = jagged;
      SCOPED_TRACE(text(o) + ", " + std::to_string(queries) + " queries, " + std::to_string(keys) + " keys");
      Random r(1);
      AttentionCall<bf16> call(o, Batch::cross({queries}, {keys}, 2), r);
      EXPECT_EQ(call.mask(0).seen, mask.seen) << "the reference's own rules";
      call.fill(r);
      auto exe = compile(attention(config(o)));
      TLXJIT_MUST(exe);
      TLXJIT_MUST(call.launch(*exe, device()));
      for (int64_t h = 0; h < 2; ++h)
        for (int64_t i = 0; i < queries; ++i) ASSERT_NO_FATAL_FAILURE(call.compare(mask, 0, i, h)) << i;
    }
  }
  /// One query of 1 against keys whose scores are the numbers given; gives out (of values 1) and lse.
  std::pair<double, double> softmax_of(const std::vector<float>& scores) {
    const AttentionOptions o{.head = small(), .self = false};
    auto exe = compile(attention(config(o)));
    EXPECT_TRUE(exe.ok());
    Random r(2);
    AttentionCall<bf16> call(o, Batch::cross({1}, {static_cast<int64_t>(scores.size())}), r);
    call.scale = 1;
    for (int64_t d = 0; d < o.head; ++d) {
      call.q(0, 0, 0, d) = bf16(d == 0 ? 1.f : 0.f);
      for (size_t j = 0; j < scores.size(); ++j) {
        call.k(0, int64_t(j), 0, d) = bf16(d == 0 ? scores[j] : 0.f);
        call.v(0, int64_t(j), 0, d) = bf16(1.f);
      }
    }
    const auto done = call.launch(*exe, device());
    EXPECT_TRUE(done.ok()) << to_string(done.error());
    return {call.out(0, 0, 0, 0), call.lse(0, 0, 0)};
  }
};

TEST_P(AttentionMasks, BL_037_RowsThatSeeNoKey) {
  written_out({.head = 64, .causal = true, .self = false}, {"00", "00", "00", "10", "11"});
}

TEST_P(AttentionMasks, BL_040_TheFirstBlocksOfARowAreMasked) {
  AttentionConfig c = config({.head = 64, .causal = true});
  c.bkv =
      GetParam().tensor_maps() ? 64 : 16;  // from the last block down, the first rows of a tile see nothing for long
  auto exe = compile(attention(c));
  TLXJIT_MUST(exe);
  Random r(3);
  run<bf16>(*exe, c.options, Batch::self({200}), r);
}

TEST_P(AttentionMasks, BL_042_AMaskedScoreNeverWins) {
  const AttentionOptions o{.head = small(), .causal = true};
  auto exe = compile(attention(config(o)));
  TLXJIT_MUST(exe);
  Random r(4);
  AttentionCall<bf16> call(o, Batch::self({2}), r);
  call.scale = 1;
  for (int64_t d = 0; d < o.head; ++d) {
    call.q(0, 0, 0, d) = bf16(d == 0 ? -20000.f : 0.f), call.q(0, 1, 0, d) = bf16(0.f);
    call.k(0, 0, 0, d) = bf16(d == 0 ? 1.f : 0.f), call.k(0, 1, 0, d) = bf16(0.f);
    call.v(0, 0, 0, d) = bf16(1.f), call.v(0, 1, 0, d) = bf16(100.f);
  }
  TLXJIT_MUST(call.launch(*exe, device()));
  EXPECT_EQ(call.out(0, 0, 0, 0), 1.0);
}

// The rule: NaN or +∞ among the scores gives NaN; −∞ is as good as masked, or gives NaN.
TEST_P(AttentionMasks, BL_044_ScoresThatAreNotFinite) {
  const auto with = [](std::initializer_list<std::pair<size_t, float>> changed) {
    std::vector<float> scores(64);
    for (size_t j = 0; j < scores.size(); ++j) scores[j] = float(j % 5) - 2;
    for (const auto& [j, x] : changed) scores[j] = x;
    return scores;
  };
  const auto all = [](float x) { return std::vector<float>(64, x); };
  for (const auto& scores :
       {with({{7, infinity}}), with({{7, infinity}, {40, infinity}}), with({{9, NAN}}), all(NAN)}) {
    const auto [out, lse] = softmax_of(scores);
    EXPECT_TRUE(std::isnan(out) && std::isnan(lse)) << out << " " << lse;
  }
  // Of a few keys, and of several blocks.
  const auto [none, minus] = softmax_of(all(-infinity));
  EXPECT_TRUE(none == 0 && minus == -infinity) << none << " " << minus;
  const auto [nan, nan_too] = softmax_of(std::vector<float>(300, -infinity));
  EXPECT_TRUE(std::isnan(nan) && std::isnan(nan_too)) << nan << " " << nan_too;
  const auto [control, finite] = softmax_of(with({}));
  EXPECT_EQ(control, 1);
  double sum = 0;
  for (float x : with({})) sum += std::exp(double(x));
  EXPECT_LE(std::abs(finite - std::log(sum)), reference::tolerance(std::log(sum), 1, 64, 4 * reference::roundoff_f32));
  const auto [part, rest] = softmax_of(with({{3, -infinity}}));
  EXPECT_TRUE(part == 1 && rest < finite) << part << " " << rest;
}

TEST_P(AttentionMasks, BL_048_CausalMasksOfOddWidths) {
  Random r(5);
  for (const int64_t length : {71, 65, 127}) {
    const Batch batch = Batch::self(std::vector<int64_t>(length == 71 ? 8 : 1, length), length == 71 ? 12 : 1);
    if (GetParam().tensor_maps())
      run<bf16>({.head = 64, .causal = true}, batch, r);
    else
      run<float>({.elem = Elem::f32, .head = 16, .causal = true}, batch, r);
  }
}

TEST_P(AttentionMasks, BL_049_FewerQueriesThanKeys) {
  Random r(6);
  for (const Corner corner : {Corner::top_left, Corner::bottom_right})
    for (const bool jagged : {false, true})
      run<bf16>({.head = 128, .causal = true, .jagged = jagged, .self = false, .corner = corner},
                Batch::cross({3}, {128}), r);
}

TEST_P(AttentionMasks, BL_050_CornersAgainstWrittenOutMatrices) {
  const AttentionOptions top{.head = 64, .causal = true, .self = false, .corner = Corner::top_left};
  const AttentionOptions bottom{.head = 64, .causal = true, .self = false, .corner = Corner::bottom_right};
  written_out(top, {"10000", "11000"});
  written_out(bottom, {"11110", "11111"});
  written_out(top, {"10", "11", "11", "11", "11"});
  written_out(bottom, {"00", "00", "00", "10", "11"});
  for (const AttentionOptions& o : {top, bottom}) written_out(o, {"1000", "1100", "1110", "1111"});
}

TEST_P(AttentionMasks, BL_052_TheLastFourKeysWithTheQuerysOwn) {
  AttentionOptions o{.head = 64, .causal = true, .self = false, .left = 3};
  written_out(o, {"10000000", "11000000", "11100000", "11110000", "01111000", "00111100", "00011110", "00001111"});
  o.causal = false, o.right = 1;
  written_out(o, {"11000000", "11100000", "11110000", "11111000", "01111100", "00111110", "00011111", "00001111"});
}

// What no query sees is NaN (AttentionCall::fill leaves it so), keys and values alike.
TEST_P(AttentionMasks, BL_054_NothingOutsideTheWindowIsRead) {
  Random r(7);
  AttentionOptions o{.head = 64, .causal = true, .self = false, .left = 127};
  for (const bool jagged : {false, true}) {
    o.jagged = jagged;
    AttentionCall<bf16> call(o, Batch::cross({64}, {512}), r);
    call.fill(r);
    ASSERT_TRUE(std::isnan(float(call.k(0, 320, 0, 0))) && std::isnan(float(call.v(0, 320, 0, 0))));
    ASSERT_FALSE(std::isnan(float(call.v(0, 321, 0, 0))));
    auto exe = compile(attention(config(o)));
    TLXJIT_MUST(exe);
    TLXJIT_MUST(call.launch(*exe, device()));
    ASSERT_NO_FATAL_FAILURE(call.check(r));
  }
  // Behind the window; and tiles that see no key at all.
  o = {.head = 64, .jagged = true, .self = false, .right = 10, .corner = Corner::top_left};
  run<bf16>(o, Batch::cross({64}, {512}), r);
  run<bf16>({.head = 64, .causal = true, .jagged = true, .self = false}, Batch::cross({400}, {9}), r);
  run<bf16>({.head = 64, .jagged = true, .self = false, .left = 5, .corner = Corner::top_left},
            Batch::cross({400}, {9}), r);
}

TEST_P(AttentionMasks, TilesThatSeeNothingReadNoKey) {
  Random r(8);
  for (const int left : {-1, 5})
    for (const bool jagged : {false, true}) {
      const AttentionOptions o{.head = 64, .causal = true, .jagged = jagged, .self = false, .left = left};
      AttentionCall<bf16> call(o, Batch::cross({300}, {50}), r);
      call.fill(r);
      for (int64_t d = 0; d < 64; ++d) call.v(0, 0, 0, d) = call.k(0, 0, 0, d) = bf16(NAN);
      auto exe = compile(attention(config(o)));
      TLXJIT_MUST(exe);
      TLXJIT_MUST(call.launch(*exe, device()));
      for (int64_t i = 0; i < 128; ++i) ASSERT_NO_FATAL_FAILURE(call.compare(call.mask(0), 0, i, 0)) << i;
      EXPECT_TRUE(std::isnan(call.out(0, 250, 0, 0))) << "the first that sees that key";
    }
}

INSTANTIATE_TEST_SUITE_P(On, AttentionMasks, places, place_name);

}  // namespace kernels_test
