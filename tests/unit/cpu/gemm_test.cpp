// tests/unit/cpu/gemm_test.cpp — the lowered GEMM for Hopper, run on the CPU against float64.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tests/reference/tolerance.h"
#include "tests/unit/cpu/plugin_p.h"

namespace cpu_test {
namespace {

void check(Kernel& kernel, Random& random, int m, int n, int k, int grid, int threads) {
  SCOPED_TRACE(std::to_string(m) + "×" + std::to_string(n) + "×" + std::to_string(k) + " grid " + std::to_string(grid));
  Tensor<bf16> a({m, k}), b({n, k}), d({m, n});
  a.fill(random);
  b.fill(random);
  Launch launch;
  launch.dims = {m, n, k};
  launch.tensors = {a, b, d};
  launch.grid = grid;
  launch.threads = threads;
  ASSERT_EQ(kernel.launch(launch), TLXJIT_CPU_OK) << kernel.failure.message;
  for (int i = 0; i < m; ++i)
    for (int j = 0; j < n; ++j) {
      double sum = 0, size = 0;
      for (int x = 0; x < k; ++x) {
        const double p = double(float(a.data[size_t(i) * k + x])) * double(float(b.data[size_t(j) * k + x]));
        sum += p;
        size += std::abs(p);
      }
      const double got = float(d.data[size_t(i) * n + j]);
      ASSERT_LE(std::abs(got - sum), reference::tolerance(sum, size, k, reference::roundoff_bf16))
          << "at " << i << ", " << j;
    }
}

TEST(Gemm, SmallShapesWithTails) {
  Random random;
  Kernel kernel(read(TLXJIT_IR_TEXTS "/gemm_sm_90a.tlx"));
  ASSERT_COMPILED(kernel);
  check(kernel, random, 128, 256, 64, 1, 1);
  check(kernel, random, 1, 1, 1, 1, 1);
  check(kernel, random, 130, 300, 100, 4, 2);
  check(kernel, random, 64, 8, 520, 1, 2);
  check(kernel, random, 300, 257, 7, 3, 2);
  for (int i = 0; i < 8; ++i)
    check(kernel, random, random.integer(1, 400), random.integer(1, 600), random.integer(1, 300), random.integer(1, 5),
          2);
}

TEST(Gemm, EmptySumIsZero) {
  Random random;
  Kernel kernel(read(TLXJIT_IR_TEXTS "/gemm_sm_90a.tlx"));
  ASSERT_COMPILED(kernel);
  check(kernel, random, 100, 70, 0, 1, 1);
}

}  // namespace
}  // namespace cpu_test
