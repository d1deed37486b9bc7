// tests/kernels/functions_test.cpp — special versions of the library's kernels give the bits of the generic ones.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tests/kernels/fixture.h"

namespace kernels_test {

class Functions : public KernelTest {
 protected:
  JitFunction function(const char* name, JitFunction::Generator generator, JitOptions options) {
    options.tier = Tier::wait;
    options.compile.as = GetParam().as;
    return {engine(), device(), name, std::move(generator), std::move(options)};
  }

  template <class T>
  static void fill(TestTensor<T>& x, Random& random, int64_t a, int64_t b, int64_t c) {
    for (int64_t i = 0; i < a; ++i)
      for (int64_t j = 0; j < b; ++j)
        for (int64_t l = 0; l < c; ++l) x(i, j, l) = T(random.real());
  }
};

TEST_P(Functions, GemmWithKnownExtents) {
  const auto generator = [](const Signature&, const Config&) { return gemm(gemm_config(GetParam().target())); };
  JitOptions options;
  options.numbers = {{"M", Policy::divisible(128)}, {"N", Policy::powers_of_two()}, {"K", Policy::exact()}};
  options.other_tensors.strides = true;
  const JitFunction special = function("gemm", generator, options);
  auto generic = compile(gemm(gemm_config(GetParam().target())));
  TLXJIT_MUST(generic);
  cases(GetParam().fast() ? 24 : 6, [&](Random& random) {
    const int64_t m = random.chance(0.5) ? 128 * random.integer(1, 3) : random.integer(1, 300);
    const int64_t n = 8 * random.integer(1, 40), k = 8 * random.integer(0, 40);
    TestTensor<bf16> a({m, k}, random), b({n, k}, random), d({m, n}, random), again({m, n}, random);
    for (int64_t i = 0; i < m; ++i)
      for (int64_t x = 0; x < k; ++x) a(i, x) = bf16(random.real());
    for (int64_t j = 0; j < n; ++j)
      for (int64_t x = 0; x < k; ++x) b(j, x) = bf16(random.real());
    const TensorArg left = a.on(device()), right = b.on(device());
    TLXJIT_MUST(special.launch({left, right, d.on(device())}));
    TLXJIT_MUST(generic->launch({left, right, again.on(device())}));
    TLXJIT_MUST(device().synchronize());
    d.download();
    again.download();
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = 0; j < n; ++j)
        ASSERT_EQ(d.result(i, j), again.result(i, j)) << m << " x " << n << " x " << k << " at " << i << ", " << j;
    EXPECT_EQ(d.strays(), 0u);
  });
  EXPECT_EQ(special.counters().failures, 0u);
  EXPECT_GE(special.counters().versions, 2u);
}

TEST_P(Functions, AttentionWithKnownHeads) {
  const auto build = [] {
    return attention(attention_config(GetParam().target(), {.head = 64, .causal = true, .jagged = true}));
  };
  JitOptions options;
  options.numbers = {{"H", Policy::exact()}, {"T", Policy::divisible(64)}, {"B+1", Policy::powers_of_two()}};
  const JitFunction special = function("attention", [&](const Signature&, const Config&) { return build(); }, options);
  auto generic = compile(build());
  TLXJIT_MUST(generic);
  cases(GetParam().fast() ? 16 : 4, [&](Random& random) {
    const int64_t heads = random.among({1, 2, 3}), batch = random.integer(1, 6);
    std::vector<int32_t> offsets = {0};
    for (int64_t i = 0; i < batch; ++i)
      offsets.push_back(offsets.back() + static_cast<int32_t>(random.chance(0.3) ? 64 : random.integer(0, 150)));
    const int64_t rows = offsets.back();
    TestTensor<bf16> q({rows, heads, 64}, random), k({rows, heads, 64}, random), v({rows, heads, 64}, random),
        out({rows, heads, 64}, random), again({rows, heads, 64}, random);
    for (auto* x : {&q, &k, &v}) fill(*x, random, rows, heads, 64);
    TestTensor<float> lse({heads, rows}, random), lse_again({heads, rows}, random);
    TestTensor<int32_t> bounds({batch + 1}, random);
    for (int64_t i = 0; i <= batch; ++i) bounds(i) = offsets[static_cast<size_t>(i)];
    const TensorArg in[] = {q.on(device()), k.on(device()), v.on(device()), bounds.on(device())};
    TLXJIT_MUST(special.launch({in[0], in[1], in[2], out.on(device()), lse.on(device()), in[3], 0.125f}));
    TLXJIT_MUST(generic->launch({in[0], in[1], in[2], again.on(device()), lse_again.on(device()), in[3], 0.125f}));
    TLXJIT_MUST(device().synchronize());
    for (auto* x : {&out, &again}) x->download();
    for (auto* x : {&lse, &lse_again}) x->download();
    for (int64_t h = 0; h < heads; ++h)
      for (int64_t s = 0; s < rows; ++s) {
        ASSERT_EQ(lse.result(h, s), lse_again.result(h, s)) << "head " << h << ", row " << s << " of " << rows;
        for (int64_t i = 0; i < 64; ++i)
          ASSERT_EQ(out.result(s, h, i), again.result(s, h, i)) << "row " << s << ", head " << h << ", column " << i;
      }
    EXPECT_EQ(out.strays() + lse.strays(), 0u);
  });
  EXPECT_EQ(special.counters().failures, 0u);
}

INSTANTIATE_TEST_SUITE_P(On, Functions, places, place_name);

}  // namespace kernels_test
