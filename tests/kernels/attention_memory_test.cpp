// tests/kernels/attention_memory_test.cpp — attention on tensors that reach past 2^31 elements, in sparse memory.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tests/kernels/fixture.h"
#include "tests/support/sparse.h"

#ifndef TLXJIT_TEST_GPU

namespace kernels_test {

using test::Sparse;

/// Jagged attention in huge strides gives the bits that it gives on packed tensors.
class AttentionMemory : public KernelTest {
 protected:
  static constexpr int64_t size = 64;

  /// Row s of q, k, v and out begins `base` + s · `stride` elements from the start of its memory; row s of lse does
  /// so with one element a row and `lse_stride` a head.
  void same_as_packed(const std::vector<int32_t>& offsets, int64_t heads, int64_t base, int64_t stride,
                      int64_t lse_stride) {
    const int64_t rows = offsets.back(), width = heads * size;
    auto exe = compile(attention(
        attention_config(GetParam().target(), {.head = static_cast<int>(size), .causal = true, .jagged = true})));
    TLXJIT_MUST(exe);
    const auto bytes = static_cast<size_t>(2 * (base + (rows - 1) * stride + width));
    const Sparse q(bytes), k(bytes), v(bytes), out(bytes);
    const Sparse lse(static_cast<size_t>(4 * ((heads - 1) * lse_stride + rows)));
    std::vector<bf16> packed[4];
    std::vector<float> packed_lse(static_cast<size_t>(heads * rows));
    Random r(1);
    for (auto& x : packed) x.resize(static_cast<size_t>(rows * width));
    const Sparse* far[] = {&q, &k, &v};
    for (size_t which = 0; which < 3; ++which)
      for (int64_t s = 0; s < rows; ++s)
        for (int64_t i = 0; i < width; ++i)
          far[which]->of<bf16>()[base + s * stride + i] = packed[which][static_cast<size_t>(s * width + i)] =
              bf16(r.real());
    const auto near = [&](size_t which) { return tensor<bf16>(packed[which].data(), {rows, heads, size}); };
    const auto apart = [&](const Sparse& x) {
      return tensor<bf16>(x.of<bf16>() + base, {rows, heads, size}).with_strides({stride, size, 1});
    };
    const TensorArg bounds = tensor<int32_t>(offsets.data(), {static_cast<int64_t>(offsets.size())});
    TLXJIT_MUST(exe->launch(
        {near(0), near(1), near(2), near(3), tensor<float>(packed_lse.data(), {heads, rows}), bounds, 0.125f}));
    TLXJIT_MUST(
        exe->launch({apart(q), apart(k), apart(v), apart(out),
                     tensor<float>(lse.of<float>(), {heads, rows}).with_strides({lse_stride, 1}), bounds, 0.125f}));
    for (int64_t s = 0; s < rows; ++s)
      for (int64_t h = 0; h < heads; ++h) {
        for (int64_t d = 0; d < size; ++d)
          ASSERT_EQ(out.of<bf16>()[base + s * stride + h * size + d].bits,
                    packed[3][static_cast<size_t>(s * width + h * size + d)].bits)
              << "row " << s << ", head " << h << ", column " << d;
        ASSERT_EQ(lse.of<float>()[h * lse_stride + s], packed_lse[static_cast<size_t>(h * rows + s)]) << s << " " << h;
      }
    EXPECT_NE(packed_lse.back(), 0) << "the last row was computed";
  }
};

// 1024 rows of 4096 · 512 elements are 2^31: the last sequence lies behind them.
TEST_P(AttentionMemory, BL_107_TheLastSequencePast2To31Elements) {
  std::vector<int32_t> offsets(1025, 0);
  for (int b = 100; b <= 1024; ++b) offsets[size_t(b)] = b < 1024 ? 1000 : 1100;
  same_as_packed(offsets, 1, 0, 4096 * 512, 1100);
}

TEST_P(AttentionMemory, BL_109_TheReportsOffset) { same_as_packed({0, 320}, 2, 0, 7864320, 320); }

TEST_P(AttentionMemory, BL_111_AViewThatBeginsPast2To31) {
  same_as_packed({0, 1, 4}, 2, (int64_t{1} << 31) + 5, 2 * size, 4);
}

TEST_P(AttentionMemory, HeadsOfLseApartBy2To31) { same_as_packed({0, 70}, 2, 0, 2 * size, (int64_t{1} << 31) + 8); }

INSTANTIATE_TEST_SUITE_P(On, AttentionMemory, f32_places, place_name);

}  // namespace kernels_test

#endif
