// tests/kernels/attention_heads_test.cpp — public reports of head counts, head sizes, layouts; what a launch refuses.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tests/kernels/attention_fixture.h"

namespace kernels_test {

class AttentionHeads : public AttentionTest {
 protected:
  int small() const { return GetParam().tensor_maps() ? 64 : 16; }
  Result<Executable> make(const AttentionOptions& o) { return compile(attention(config(o))); }
};

TEST_P(AttentionHeads, BL_058_QueryHeadsThatAreNoMultipleOfTheKeyHeads) {
  const auto refusal = [&](int group, int64_t heads, int64_t key_heads) {
    auto exe = make({.head = 64, .jagged = true, .group = group});
    EXPECT_TRUE(exe.ok());
    const std::vector<bf16> zeros(size_t(5 * 33 * 64));
    const auto buffer = device().upload(zeros).value(), out = device().upload(zeros).value();
    const auto lse = device().allocate(4 * 5 * 33).value(), offsets = device().upload(std::vector{0, 5}).value();
    const auto launched = exe->launch({buffer.tensor<bf16>({5, heads, 64}), buffer.tensor<bf16>({5, key_heads, 64}),
                                       buffer.tensor<bf16>({5, key_heads, 64}), out.tensor<bf16>({5, heads, 64}),
                                       lse.tensor<float>({heads, 5}), offsets.tensor<int32_t>({2}), 0.125f});
    return launched.ok() ? "" : launched.error().message;
  };
  EXPECT_EQ(refusal(16, 33, 2), "argument `q` has extent 33 in dimension 1, and the kernel wants Hkv * 16 = 32");
  EXPECT_EQ(refusal(1, 3, 2), "argument `k` has extent 2 in dimension 1 (H), which is 3 in `q`");
  EXPECT_EQ(refusal(3, 3, 0), "argument `q` has extent 3 in dimension 1, and the kernel wants Hkv * 3 = 0");
  EXPECT_EQ(refusal(3, 0, 0), "");
}

TEST_P(AttentionHeads, BL_061_QueryHeadsOfAKeyHeadStandTogether) {
  const AttentionOptions o{.head = small(), .jagged = true, .group = 2};
  auto exe = make(o);
  TLXJIT_MUST(exe);
  Random r(1);
  AttentionCall<bf16> call(o, Batch::self({40}, 2), r);
  call.fill(r);
  for (int64_t j = 0; j < 40; ++j)
    for (int64_t h = 0; h < 2; ++h)
      for (int64_t d = 0; d < o.head; ++d) call.v(0, j, h, d) = bf16(float(h));
  TLXJIT_MUST(call.launch(*exe, device()));
  for (int64_t i = 0; i < 40; ++i)
    for (int64_t h = 0; h < 4; ++h) ASSERT_NO_FATAL_FAILURE(call.compare(call.mask(0), 0, i, h));
  EXPECT_EQ(call.out(0, 5, 0, 0), 0);
  EXPECT_EQ(call.out(0, 5, 1, 0), 0);
}

TEST_P(AttentionHeads, BL_062_HeadSizes) {
  EXPECT_FLOAT_EQ(attention_scale({.head = 72}), 1 / std::sqrt(72.f)) << "of the true size";
  EXPECT_EQ(make({.head = 33}).error().message,
            "attention: a head has a multiple of 8 elements from 16 to 256, not 33");
  Random r(2);
  for (const int head : {72, 80, 96, 192, 256}) {
    const AttentionOptions o{.head = head, .causal = true, .jagged = true};
    if (GetParam().tensor_maps() && head % 64) {
      EXPECT_EQ(make(o).error().message,
                "ring: field 'q' has rows of " + std::to_string(2 * head) + " bytes; sm_90a wants multiples of 128");
      continue;
    }
    ASSERT_NO_FATAL_FAILURE(run<bf16>(o, Batch::self({5, 130}, 2), r));
  }
}

TEST_P(AttentionHeads, BL_063_Head256) {
  Random r(3);
  for (const int64_t keys : {1, 77, 300})
    ASSERT_NO_FATAL_FAILURE(
        run<bf16>({.head = 256, .jagged = true, .self = false, .group = 8}, Batch::cross({1, 1}, {keys, 2 * keys}), r));
}

TEST_P(AttentionHeads, BL_064_ValuesOfAnotherSize) {
  Random r(4);
  run<bf16>({.head = 192, .causal = true, .jagged = true, .value_head = 128}, Batch::self({70, 129}, 2), r);
  run<bf16>({.head = 64, .value_head = 128}, Batch::self({70}, 2), r);
}

TEST_P(AttentionHeads, TightAndPaddedRows) {
  Random r(5);
  Batch batch = Batch::cross({7}, {43}, 3);
  for (const bool packed : {true, false}) {
    batch.packed = packed;
    ASSERT_NO_FATAL_FAILURE(run<bf16>({.head = small(), .self = false}, batch, r));
  }
}

TEST_P(AttentionHeads, BL_125_TransposedViewsInEveryCombination) {
  for (const bool jagged : {false, true}) {
    const AttentionOptions o{.head = 64, .causal = true, .jagged = jagged, .group = 2};
    auto exe = make(o);
    TLXJIT_MUST(exe);
    Random r(6);
    for (unsigned bits = 0; bits < 16; ++bits) {
      Batch batch = Batch::self({37, 37}, 2);
      for (size_t i = 0; i < 4; ++i) batch.heads_first[i] = bits >> i & 1;
      ASSERT_NO_FATAL_FAILURE(run<bf16>(*exe, o, batch, r));
    }
  }
}

TEST_P(AttentionHeads, BL_127_StridesOfDimensionsOf1) {
  Random r(7);
  const int64_t size = 64;
  for (const auto& [length, heads] : {std::pair<int64_t, int64_t>{40, 2}, {1, 3}, {40, 1}}) {
    const AttentionOptions o{.head = 64, .causal = true};
    auto exe = make(o);
    TLXJIT_MUST(exe);
    const std::vector<int64_t> dims{1, length, heads, size};
    TestTensor<bf16> q(dims, r), k(dims, r), v(dims, r), out(dims, r), again(dims, r);
    TestTensor<float> lse({1, heads, length}, r);
    for (auto* x : {&q, &k, &v})
      for (int64_t s = 0; s < length; ++s)
        for (int64_t h = 0; h < heads; ++h)
          for (int64_t d = 0; d < size; ++d) (*x)(0, s, h, d) = bf16(r.real());
    const auto launch = [&](TestTensor<bf16>& result, bool odd) {
      const auto on = [&](TestTensor<bf16>& x) {
        TensorArg t = x.on(device());
        for (size_t axis = 0; odd && axis < 3; ++axis)
          if (t.dims[axis] == 1) t.strides[axis] = axis == 0 ? 7 : -1;
        return t;
      };
      auto done = exe->launch({on(q), on(k), on(v), on(result), lse.on(device()), 0.125f});
      if (done) done = device().synchronize();
      if (done) result.download();
      return done;
    };
    TLXJIT_MUST(launch(out, true));
    TLXJIT_MUST(launch(again, false));
    for (int64_t s = 0; s < length; ++s)
      for (int64_t h = 0; h < heads; ++h)
        for (int64_t d = 0; d < size; ++d) ASSERT_EQ(out.result(0, s, h, d), again.result(0, s, h, d));
  }
}

TEST_P(AttentionHeads, BL_033_KeysAndValuesOfDifferentLengths) {
  auto exe = make({.head = 64, .self = false});
  TLXJIT_MUST(exe);
  const auto buffer = device().allocate(20 * 64 * 2).value(), lse = device().allocate(40).value();
  for (const int64_t rows : {1, 2, 10, 17}) {
    const auto launched = exe->launch({buffer.tensor<bf16>({1, 10, 1, 64}), buffer.tensor<bf16>({1, rows, 1, 64}),
                                       buffer.tensor<bf16>({1, 20, 1, 64}), buffer.tensor<bf16>({1, 10, 1, 64}),
                                       lse.tensor<float>({1, 1, 10}), 0.125f});
    ASSERT_FALSE(launched.ok());
    EXPECT_EQ(launched.error().message,
              "argument `v` has extent 20 in dimension 1 (Sk), which is " + std::to_string(rows) + " in `k`");
  }
}

TEST_P(AttentionHeads, ExtentsPast32BitsAreRefused) {
  auto exe = make({.head = 64, .jagged = true});
  TLXJIT_MUST(exe);
  for (const int64_t rows : {int64_t{1} << 31, (int64_t{1} << 31) + 5, -(int64_t{1} << 31) - 1}) {
    const auto matrix = [&] { return tensor<bf16>(nullptr, {rows, 1, 64}); };
    const auto launched = exe->launch({matrix(), matrix(), matrix(), matrix(), tensor<float>(nullptr, {1, rows}),
                                       tensor<int32_t>(nullptr, {2}), 0.125f});
    ASSERT_FALSE(launched.ok());
    EXPECT_EQ(launched.error().message, "argument `q` has extent " + std::to_string(rows) +
                                            " in dimension 0; 0 to 2147483647 are possible" +
                                            (rows < 0 ? "" : ": split the call"));
  }
}

INSTANTIATE_TEST_SUITE_P(On, AttentionHeads, places, place_name);

}  // namespace kernels_test
