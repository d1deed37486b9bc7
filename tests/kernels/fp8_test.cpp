// tests/kernels/fp8_test.cpp — products of fp8, by the rules of the CPU and of tensor maps.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tests/kernels/fixture.h"
#include "tests/reference/gemm.h"
#include "tests/reference/tolerance.h"

namespace kernels_test {
namespace {

constexpr int b = 64, depth = 128;  // rows and columns of a tile, and what a slot has of K

// Y[M,N] = A[M,K] · B[N,K]ᵀ
Kernel product() {
  Kernel k{"fp8"};
  auto [m, n, kk] = k.dims("M", "N", "K");
  const Tensor a = k.tensor<f8e4m3>("a", {m, kk}), c = k.tensor<f8e4m3>("b", {n, kk}), y = k.tensor<float>("y", {m, n});
  Ring ring = k.ring(2).slot<f8e4m3>("a", {b, depth}).slot<f8e4m3>("b", {b, depth});
  auto tiles = k.persistent(ceil_div(m, b), ceil_div(n, b));
  const Index steps = ceil_div(kk, depth);
  k.task(Producer).warps(1).body([&] {
    tiles.each([&](Index i, Index j) {
      k.range(steps).each([&](Index s) {
        auto slot = ring.acquire();
        slot.load("a", a, {i * b, s * depth});
        slot.load("b", c, {j * b, s * depth});
      });
    });
  });
  k.task(Consumer).warps(4).body([&](Task& t) {
    auto acc = t.accumulator<float>({b, b});
    tiles.each([&](Index i, Index j) {
      acc.clear();
      k.range(steps).each([&] {
        auto slot = ring.wait();
        acc.dot(slot["a"], slot["b"].t());
      });
      y.store({i * b, j * b}, acc.read());
    });
  });
  return k;
}

class Fp8 : public KernelTest {};

TEST_P(Fp8, BL_123_RowStrides) {
  auto exe = compile(product());
  TLXJIT_MUST(exe);
  const int64_t m = 70, n = 36, k = 100;
  for (const int64_t stride : {100, 112}) {
    SCOPED_TRACE(stride);
    Random random(seed_of_today());
    // What is behind a row is NaN.
    TestTensor<f8e4m3> a({m, stride}, random, /*packed=*/true), c({n, stride}, random, /*packed=*/true);
    TestTensor<float> y({m, n}, random);
    for (int64_t l = 0; l < k; ++l) {
      for (int64_t i = 0; i < m; ++i) a(i, l) = f8e4m3(random.real());
      for (int64_t j = 0; j < n; ++j) c(j, l) = f8e4m3(random.real());
    }
    const auto rows = [&](TestTensor<f8e4m3>& x) {
      TensorArg t = x.on(device());
      t.dims[1] = k;
      return t;
    };
    const auto done = exe->launch({rows(a), rows(c), y.on(device())});
    if (GetParam().tensor_maps() && stride % 16) {
      ASSERT_FALSE(done.ok());
      EXPECT_EQ(done.error().message,
                "argument `a` has a stride of 100 bytes in dimension 0, no multiple of 16, which the copies of this "
                "target need: pad the rows");
      continue;
    }
    TLXJIT_MUST(done);
    TLXJIT_MUST(device().synchronize());
    y.download();
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = 0; j < n; ++j) {
        const auto sum =
            reference::dot(k, [&](int64_t l) { return float(a(i, l)); }, [&](int64_t l) { return float(c(j, l)); });
        const double allowed =
            reference::tolerance(sum.value, sum.magnitude, static_cast<double>(k), reference::roundoff_f32);
        ASSERT_TRUE(reference::agrees(y.result(i, j), sum.value, allowed))
            << "row " << i << ", column " << j << " is " << y.result(i, j) << ", exact " << sum.value;
      }
    EXPECT_EQ(y.strays(), 0u);
  }
}

INSTANTIATE_TEST_SUITE_P(On, Fp8, places, place_name);

}  // namespace
}  // namespace kernels_test
