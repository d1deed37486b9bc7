// tests/kernels/rows_test.cpp — softmax and layer norm over rows of any width.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tests/kernels/fixture.h"
#include "tests/reference/tolerance.h"

namespace kernels_test {
namespace {

constexpr int64_t together = 4;  // rows of a program

/// y[i, :] = softmax(x[i, :]); a tile is `width` ≥ N columns wide.
Kernel softmax(int64_t width) {
  Kernel k{"softmax"};
  auto [m, n] = k.dims("M", "N");
  const Tensor x = k.tensor<float>("x", {m, n}), y = k.tensor<float>("y", {m, n});
  k.grid(ceil_div(m, static_cast<int>(together)));
  k.task("rows").body([&] {
    const Index row = k.program_id() * static_cast<int>(together);
    const Tile a = x.load_tile({row, 0}, {together, width}, {.other = -INFINITY});
    const Tile p = exp2((a - maximum(a, 1).expand(1)) * 1.44269504f);
    y.store({row, 0}, p * rcp(sum(p, 1)).expand(1));
  });
  return k;
}

/// y[i, :] = (x[i, :] − mean) / √(variance + eps). What lies behind the row counts for neither.
Kernel layer_norm(int64_t width) {
  Kernel k{"layer_norm"};
  auto [m, n] = k.dims("M", "N");
  const Tensor x = k.tensor<float>("x", {m, n}), y = k.tensor<float>("y", {m, n});
  const Scalar eps = k.scalar<float>("eps");
  k.grid(ceil_div(m, static_cast<int>(together)));
  k.task("rows").body([&](Task& t) {
    const Index row = k.program_id() * static_cast<int>(together);
    const Tile there = t.iota({together, width}, 1) < n;
    const Scalar share = rcp(n.to<float>());
    const auto centred = [&](const Tile& a) { return select(there, a - (sum(a, 1) * share).expand(1), 0.0f); };
    // Twice: the first mean is rounded at the size of x, what is left of it at the size of the differences.
    const Tile d = centred(centred(x.load_tile({row, 0}, {together, width})));
    const Tile variance = sum(d * d, 1) * share;
    y.store({row, 0}, d * exp2(log2(variance + eps) * -0.5f).expand(1));
  });
  return k;
}

class Rows : public KernelTest {};

TEST_P(Rows, SoftmaxOfAnyWidth) {
  const std::pair<int64_t, int64_t> widths[] = {{781, 1024}, {781, 781}, {1000, 1024}, {1000, 1000}, {1, 1}, {3, 16}};
  for (const auto& [n, width] : widths) {
    SCOPED_TRACE(std::to_string(n) + " in " + std::to_string(width));
    auto exe = compile(softmax(width));
    TLXJIT_MUST(exe);
    cases(1, [&, n = n](Random& random) {
      const int64_t m = random.integer(1, 9);
      TestTensor<float> x({m, n}, random), y({m, n}, random);
      const double range = 16 * 1.4427;  // of arguments of exp2
      for (int64_t i = 0; i < m; ++i)
        for (int64_t j = 0; j < n; ++j) x(i, j) = 8 * random.real();
      TLXJIT_MUST(exe->launch({x.on(device()), y.on(device())}));
      y.download();
      for (int64_t i = 0; i < m; ++i) {
        double most = -INFINITY, total = 0;
        for (int64_t j = 0; j < n; ++j) most = std::max(most, static_cast<double>(x(i, j)));
        for (int64_t j = 0; j < n; ++j) total += std::exp(x(i, j) - most);
        // exp2 is within 2 ulp, of an argument that was rounded twice; above and below the line.
        const double factors = 2 * (4 + 2 * range) * reference::roundoff_f32;
        for (int64_t j = 0; j < n; ++j) {
          const double exact = std::exp(x(i, j) - most) / total;
          ASSERT_NEAR(y.result(i, j), exact,
                      reference::tolerance(exact, exact, static_cast<double>(n), reference::roundoff_f32, factors))
              << i << " " << j;
        }
      }
      EXPECT_EQ(y.strays(), 0u);
    });
  }
}

TEST_P(Rows, BL_077_NormOverPaddedWidths) {
  for (int64_t n : {3, 17, 127, 255})
    for (int64_t width : {n, int64_t{256}}) {
      SCOPED_TRACE(std::to_string(n) + " in " + std::to_string(width));
      auto exe = compile(layer_norm(width));
      TLXJIT_MUST(exe);
      cases(1, [&](Random& random) {
        const int64_t m = random.integer(1, 9);
        const float eps = 1e-5f;
        TestTensor<float> x({m, n}, random), y({m, n}, random);
        for (int64_t i = 0; i < m; ++i)
          for (int64_t j = 0; j < n; ++j) x(i, j) = 100 + random.real();
        TLXJIT_MUST(exe->launch({x.on(device()), y.on(device()), eps}));
        y.download();
        for (int64_t i = 0; i < m; ++i) {
          double mean = 0, variance = 0;
          for (int64_t j = 0; j < n; ++j) mean += x(i, j);
          mean /= static_cast<double>(n);
          for (int64_t j = 0; j < n; ++j) variance += std::pow(x(i, j) - mean, 2);
          const double scale = 1 / std::sqrt(variance / static_cast<double>(n) + eps);
          for (int64_t j = 0; j < n; ++j) {
            const double exact = (x(i, j) - mean) * scale;
            // The differences carry the rounding of what is left of the mean; log2 and exp2 are within 2 ulp.
            ASSERT_NEAR(y.result(i, j), exact,
                        reference::tolerance(exact, std::abs(exact) + scale, static_cast<double>(n),
                                             reference::roundoff_f32, 16 * reference::roundoff_f32))
                << i << " " << j;
          }
        }
        EXPECT_EQ(y.strays(), 0u);
      });
    }
}

INSTANTIATE_TEST_SUITE_P(On, Rows, ::testing::Values(Where{"cpu", "", "cpu"}), place_name);

}  // namespace
}  // namespace kernels_test
