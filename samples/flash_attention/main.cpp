// samples/flash_attention/main.cpp — runs the kernel of this folder and checks its result.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "samples/common/kernels.h"
#include "samples/common/program.h"

int main(int argc, char** argv) {
  using namespace samples;
  Program program(argc, argv, "Attention of one head in bf16, sizes QUERIES KEYS HEAD_SIZE.", {150, 200, 64});
  const int64_t n = program.size(0), m = program.size(1), d = program.size(2);
  const Executable exe = program.compile(flash_attention(static_cast<int>(d)));
  const auto q = random_numbers<bf16>(n * d, 1), k = random_numbers<bf16>(m * d, 2), v = random_numbers<bf16>(m * d, 3);
  auto o = poisoned<bf16>(n * d);
  const Device& device = program.device();
  const Buffer dq = must(device.upload(q)), dk = must(device.upload(k)), dv = must(device.upload(v)),
               out = must(device.upload(o));
  const float scale = 1 / std::sqrt(static_cast<float>(d));
  must(exe.launch(
      {dq.tensor<bf16>({n, d}), dk.tensor<bf16>({m, d}), dv.tensor<bf16>({m, d}), out.tensor<bf16>({n, d}), scale}));
  must(device.synchronize());
  must(out.download(o));

  Check check;
  std::vector<double> p(static_cast<size_t>(m));
  for (int64_t i = 0; i < n; ++i) {
    double total = 0, score_error = 0;
    for (int64_t j = 0; j < m; ++j) {
      double s = 0, magnitude = 0;
      for (int64_t x = 0; x < d; ++x) {
        const double product = double(float(q[size_t(i * d + x)])) * double(float(k[size_t(j * d + x)]));
        s += product, magnitude += std::abs(product);
      }
      score_error = std::max(score_error, magnitude * scale * double(4 * d + 8) * half_ulp_f32);
      total += p[size_t(j)] = std::exp(s * scale);
    }
    for (int64_t x = 0; x < d; ++x) {
      double sum = 0, magnitude = 0;
      for (int64_t j = 0; j < m; ++j) {
        const double term = p[size_t(j)] / total * double(float(v[size_t(j * d + x)]));
        sum += term, magnitude += std::abs(term);
      }
      // The weights are rounded to bf16 and carry the scores' errors; the result is rounded once more.
      const double allowed = std::abs(sum) * half_ulp_bf16 +
                             magnitude * (half_ulp_bf16 + 2 * score_error + double(8 * m + 64) * half_ulp_f32) + 1e-30;
      check.element(float(o[size_t(i * d + x)]), sum, allowed);
    }
  }
  return check.report();
}
