// tests/unit/cpu/attention_test.cpp — the lowered attention for Hopper, run on the CPU against float64.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tests/reference/tolerance.h"
#include "tests/unit/cpu/plugin_p.h"

namespace cpu_test {
namespace {

constexpr int width = 128;

void check(Kernel& kernel, Random& random, int heads, int length, int grid) {
  SCOPED_TRACE(std::to_string(heads) + " heads of " + std::to_string(length));
  Tensor<bf16> q({heads, length, width}), k = q, v = q, o = q;
  Tensor<float> lse({heads, length});
  for (auto* t : {&q, &k, &v}) t->fill(random);
  for (bf16& x : q.data) x = bf16(float(x) * 4);  // so that some weights are large
  std::vector<int32_t> workspace(2, 0);
  const float scale = 1 / std::sqrt(float(width));
  Launch launch;
  launch.dims = {heads, length};
  launch.tensors = {q, k, v, o, lse};
  launch.scalars = {bits_of(scale * float(M_LOG2E))};
  launch.workspace = workspace.data();
  launch.grid = grid;
  ASSERT_EQ(kernel.launch(launch), TLXJIT_CPU_OK) << kernel.failure.message;
  EXPECT_EQ(workspace, (std::vector<int32_t>{0, 0}));
  std::vector<double> weight(static_cast<size_t>(length));
  for (int h = 0; h < heads; ++h) {
    auto row = [&](const Tensor<bf16>& t, int i) { return t.data.data() + size_t(h * length + i) * width; };
    for (int i = 0; i < length; ++i) {
      double largest = -INFINITY, sum = 0;
      for (int j = 0; j < length; ++j) {
        double s = 0;
        for (int d = 0; d < width; ++d) s += double(float(row(q, i)[d])) * double(float(row(k, j)[d]));
        weight[size_t(j)] = s * scale;
        largest = std::max(largest, weight[size_t(j)]);
      }
      for (double& w : weight) sum += w = std::exp(w - largest);
      const double exact = largest + std::log(sum), terms = width + length;
      ASSERT_NEAR(lse.data[size_t(h * length + i)], exact,
                  reference::tolerance(exact, std::abs(largest) + 1, terms, 4 * reference::roundoff_f32));
      for (int d = 0; d < width; ++d) {
        double want = 0, magnitude = 0;
        for (int j = 0; j < length; ++j) {
          const double term = weight[size_t(j)] / sum * double(float(row(v, j)[d]));
          want += term;
          magnitude += std::abs(term);
        }
        // The weights are rounded to bf16 before they meet v.
        ASSERT_NEAR(float(row(o, i)[d]), want,
                    reference::tolerance(want, magnitude, terms, reference::roundoff_bf16, reference::roundoff_bf16))
            << "row " << i << " column " << d;
      }
    }
  }
}

TEST(Attention, LengthsWithTails) {
  Random random;
  Kernel kernel(read(TLXJIT_IR_TEXTS "/attention_sm_90a.tlx"));
  ASSERT_COMPILED(kernel);
  check(kernel, random, 1, 128, 1);
  check(kernel, random, 2, 1, 2);
  check(kernel, random, 2, 64, 1);
  check(kernel, random, 3, 129, 2);
  check(kernel, random, 1, 400, 3);
  check(kernel, random, 2, random.integer(1, 300), 2);
}

}  // namespace
}  // namespace cpu_test
