// tests/kernels/order_test.cpp — what an instance does by hand acts in program order, whichever threads do it.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tests/kernels/order_kernels.h"

#include "tests/kernels/fixture.h"

namespace kernels_test {

class Order : public KernelTest {
 protected:
  static constexpr int64_t e = order_edge;
  /// The GPU gets more rounds, each a chance for threads to be late.
  int64_t rounds() const { return GetParam().fast() ? 2000 : 20; }

  /// Runs a kernel of one output; every element of rows 64·i … + 64 is `value(i)`.
  template <class T, class Value>
  void check_rows(const Kernel& kernel, int64_t rounds, Value&& value, std::vector<Argument> scalars = {}) {
    auto exe = compile(kernel);
    TLXJIT_MUST(exe);
    Random random(seed_of_today());
    TestTensor<T> y({rounds * e, e}, random);
    scalars.insert(scalars.begin(), y.on(device()));
    TLXJIT_MUST(exe->launch(scalars));
    TLXJIT_MUST(device().synchronize());
    y.download();
    for (int64_t i = 0; i < rounds * e; ++i)
      for (int64_t j = 0; j < e; ++j) ASSERT_EQ(y.result(i, j), value(i / e)) << "row " << i << ", column " << j;
    EXPECT_EQ(y.strays(), 0u);
  }
};

TEST_P(Order, ADotReadsWhatAllThreadsStored) {
  for (const bool fenced : {false, true}) {
    auto exe = compile(stores_then_dots(fenced));
    TLXJIT_MUST(exe);
    Random random(seed_of_today());
    const int64_t m = rounds() * e;
    TestTensor<bf16> a({m, e}, random), b({e, e}, random), c({e, e}, random);
    TestTensor<float> d({m, e}, random);
    // Whole numbers whose sums have at most 8 bits, so that nothing is rounded.
    const auto fill = [&](TestTensor<bf16>& x, int64_t rows) {
      for (int64_t i = 0; i < rows; ++i)
        for (int64_t j = 0; j < e; ++j) x(i, j) = bf16(static_cast<float>(random.integer(-2, 2)));
    };
    fill(a, m), fill(b, e), fill(c, e);
    TLXJIT_MUST(exe->launch({a.on(device()), b.on(device()), c.on(device()), d.on(device())}));
    TLXJIT_MUST(device().synchronize());
    d.download();
    for (int64_t i = 0; i < m; ++i) {
      std::array<int64_t, e> p{};
      for (int64_t j = 0; j < e; ++j)
        for (int64_t x = 0; x < e; ++x) p[j] += static_cast<int64_t>(float(a(i, x)) * float(b(j, x)));
      for (int64_t j = 0; j < e; ++j) {
        int64_t sum = 0;
        for (int64_t x = 0; x < e; ++x) sum += p[x] * static_cast<int64_t>(float(c(j, x)));
        ASSERT_EQ(d.result(i, j), static_cast<double>(sum)) << "row " << i << ", column " << j;
      }
    }
    EXPECT_EQ(d.strays(), 0u);
  }
}

TEST_P(Order, AllThreadsReadWhatOneWrote) {
  const int64_t n = std::min<int64_t>(rounds(), 1000);  // squares that f32 has
  check_rows<float>(puts_then_gets(), n, [](int64_t i) { return static_cast<double>(i * i + 5); }, {int32_t{5}});
}

TEST_P(Order, AllThreadsStoreAfterWhatOneWaitedFor) {
  const int64_t n = std::min<int64_t>(rounds(), 257);  // numbers that bf16 has
  for (const bool fenced : {false, true})
    check_rows<bf16>(copies_then_stores(fenced), n, [](int64_t i) { return static_cast<double>(i); });
}

TEST_P(Order, EachWarpOfATaskWithoutTilesArrives) {
  check_rows<float>(arrivals_of_warps(), rounds(), [](int64_t i) { return static_cast<double>(i); });
}

TEST_P(Order, AllThreadsTakePartInSlotsThatNobodyReads) {
  auto exe = compile(slots_that_nobody_reads());
  TLXJIT_MUST(exe);
  Random random(seed_of_today());
  const int64_t m = rounds() * e;
  TestTensor<bf16> x({m, e}, random);
  TestTensor<float> y({m, e}, random), z({m, e}, random);
  TLXJIT_MUST(exe->launch({x.on(device()), y.on(device()), z.on(device())}));
  TLXJIT_MUST(device().synchronize());
  for (TestTensor<float>* out : {&y, &z}) {
    out->download();
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = 0; j < e; ++j) ASSERT_EQ(out->result(i, j), i / e) << "row " << i << ", column " << j;
    EXPECT_EQ(out->strays(), 0u);
  }
}

INSTANTIATE_TEST_SUITE_P(On, Order, places, place_name);

}  // namespace kernels_test
