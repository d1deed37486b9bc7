// tests/kernels/gemm_test.cpp — the GEMM against float64.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tests/reference/gemm.h"

#include <array>
#include <thread>

#include "tests/kernels/fixture.h"
#include "tests/reference/tolerance.h"

namespace kernels_test {

class Gemm : public KernelTest {
 protected:
  /// `runs` times the same inputs: the first result against float64, those after it bit for bit against the first.
  template <class T>
  void check(const Executable& exe, int64_t m, int64_t n, int64_t k, Random& random, bool packed = false,
             int runs = 1) {
    // Tensor maps store rows in multiples of 16 bytes; that other extents are refused is tested in signature_test.
    if (GetParam().tensor_maps()) n = (n + 7) / 8 * 8;
    SCOPED_TRACE("M " + std::to_string(m) + ", N " + std::to_string(n) + ", K " + std::to_string(k));
    TestTensor<T> a({m, k}, random, packed), b({n, k}, random, packed), d({m, n}, random, packed);
    for (int64_t i = 0; i < m; ++i)
      for (int64_t x = 0; x < k; ++x) a(i, x) = T(random.real());
    for (int64_t j = 0; j < n; ++j)
      for (int64_t x = 0; x < k; ++x) b(j, x) = T(random.real());
    TLXJIT_MUST(exe.launch({a.on(device()), b.on(device()), d.on(device())}));
    TLXJIT_MUST(device().synchronize());
    d.download();
    const double out = elem_of<T> == Elem::f32   ? reference::roundoff_f32
                       : elem_of<T> == Elem::f16 ? reference::roundoff_f16
                                                 : reference::roundoff_bf16;
    const double least = elem_of<T> == Elem::f16 ? reference::underflow_f16 : 0;
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = 0; j < n; ++j) {
        const double is = d.result(i, j);
        // All elements of a small product, and a sample of a large one.
        if (m * n * k > 30'000'000 && !random.chance(30e6 / static_cast<double>(m * n * k))) {
          ASSERT_FALSE(std::isnan(is)) << "row " << i << ", column " << j;
          continue;
        }
        const auto sum =
            reference::dot(k, [&](int64_t x) { return float(a(i, x)); }, [&](int64_t x) { return float(b(j, x)); });
        const double allowed = reference::tolerance(sum.value, sum.magnitude, static_cast<double>(k), out, 0, least);
        ASSERT_TRUE(reference::agrees(is, sum.value, allowed))
            << "row " << i << ", column " << j << " is " << is << ", exact " << sum.value;
      }
    EXPECT_EQ(d.strays(), 0u) << "elements outside the tensor were written";
    for (int run = 1; run < runs; ++run) {
      TestTensor<T> again({m, n}, random, packed);
      TLXJIT_MUST(exe.launch({a.on(device()), b.on(device()), again.on(device())}));
      TLXJIT_MUST(device().synchronize());
      again.download();
      for (int64_t i = 0; i < m; ++i)
        for (int64_t j = 0; j < n; ++j) {
          const double is = again.result(i, j);
          ASSERT_EQ(std::memcmp(&again(i, j), &d(i, j), sizeof(T)), 0)
              << "run " << run << ", row " << i << ", column " << j << ": " << is << ", at first " << d.result(i, j);
        }
      EXPECT_EQ(again.strays(), 0u) << "elements outside the tensor were written";
    }
  }
};

TEST_P(Gemm, EdgesBf16) {
  auto exe = compile(gemm(gemm_config(GetParam().target())));
  TLXJIT_MUST(exe);
  Random random(seed_of_today());
  const int64_t sizes[][3] = {{1, 1, 1},   {128, 256, 64}, {129, 257, 65}, {64, 128, 128}, {5, 300, 0},   {0, 40, 40},
                              {40, 0, 40}, {0, 0, 0},      {1, 8, 1000},   {300, 1, 24},   {257, 40, 512}};
  for (const auto& [m, n, k] : sizes) check<bf16>(*exe, m, n, k, random);
  check<bf16>(*exe, 96, 200, 136, random, /*packed=*/true);
}

TEST_P(Gemm, BL_007_AnExtentOfZero) {
  auto exe = compile(gemm(gemm_config(GetParam().target())));
  TLXJIT_MUST(exe);
  Random random(seed_of_today());
  for (const auto& [m, n, k] : {std::array{0, 64, 32}, {64, 0, 32}, {64, 64, 0}}) check<bf16>(*exe, m, n, k, random);
}

TEST_P(Gemm, BL_012_AnEmptyGridColdAndWarm) {
  auto exe = compile(gemm(gemm_config(GetParam().target())));
  TLXJIT_MUST(exe);
  Random random(seed_of_today());
  for (int call = 0; call < 3; ++call) check<bf16>(*exe, 0, 8, 8, random);
  check<bf16>(*exe, 8, 8, 8, random);
  check<bf16>(*exe, 8, 0, 8, random);
}

TEST_P(Gemm, BL_026_RaggedRowsLeaveWhatFollowsAlone) {
  Random random(seed_of_today());
  const auto run = [&]<class T>(T) {
    auto exe = compile(gemm(gemm_config(GetParam().target(), elem_of<T>)));
    TLXJIT_MUST(exe);
    check<T>(*exe, 513, 1000, 256, random, /*packed=*/false, /*runs=*/3);
  };
  run(bf16());
  run(f16());
}

TEST_P(Gemm, BL_070_FewColumnsOrOneRow) {
  auto exe = compile(gemm(gemm_config(GetParam().target())));
  TLXJIT_MUST(exe);
  Random random(seed_of_today());
  for (const auto& [m, n, k] : {std::array{16, 1, 128}, {16, 17, 128}, {1, 16, 128}, {1, 1, 128}})
    check<bf16>(*exe, m, n, k, random);
}

TEST_P(Gemm, BL_224_AThreadThatTheLibraryHasNotSeen) {
  auto exe = compile(gemm(gemm_config(GetParam().target())));
  TLXJIT_MUST(exe);
  Random random(seed_of_today());
  check<bf16>(*exe, 40, 40, 40, random);
  std::thread([&] { check<bf16>(*exe, 48, 40, 40, random); }).join();
}

TEST_P(Gemm, RandomBf16) {
  auto exe = compile(gemm(gemm_config(GetParam().target())));
  TLXJIT_MUST(exe);
  const int64_t limit = GetParam().fast() ? 1500 : 400;
  cases(GetParam().fast() ? 40 : 20,
        [&](Random& r) { check<bf16>(*exe, r.integer(1, limit), r.integer(1, limit), r.integer(0, limit), r); });
}

TEST_P(Gemm, OtherTiles) {
  GemmConfig c = gemm_config(GetParam().target());
  c.bn = 128, c.stages = 3, c.group = 3;
  if (GetParam().tensor_maps()) c.bm = 64, c.replicas = 1;
  auto exe = compile(gemm(c));
  TLXJIT_MUST(exe);
  cases(6, [&](Random& r) { check<bf16>(*exe, r.integer(1, 300), r.integer(1, 300), r.integer(1, 300), r); });
}

#ifndef TLXJIT_TEST_GPU
class GemmF32 : public Gemm {};

TEST_P(GemmF32, Random) {
  auto exe = compile(gemm(gemm_config("cpu", Elem::f32)));
  TLXJIT_MUST(exe);
  cases(12, [&](Random& r) { check<float>(*exe, r.integer(0, 300), r.integer(0, 300), r.integer(0, 300), r); });
}

INSTANTIATE_TEST_SUITE_P(On, GemmF32, f32_places, place_name);
#endif

INSTANTIATE_TEST_SUITE_P(On, Gemm, places, place_name);

}  // namespace kernels_test
