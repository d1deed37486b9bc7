// samples/softmax_rows/main.cpp — runs the kernel of this folder and checks its result.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "samples/common/kernels.h"
#include "samples/common/program.h"

int main(int argc, char** argv) {
  using namespace samples;
  Program program(argc, argv, "y = softmax(x), row by row, in f32, sizes ROWS COLUMNS.", {100, 640}, /*cpu_only=*/true);
  const int64_t n = program.size(0), columns = program.size(1);
  if (columns == 0) return std::fprintf(stderr, "a row has a column or more\n"), 2;
  const Executable exe = program.compile(softmax_rows(static_cast<int>(columns)));
  const auto x = random_numbers<float>(n * columns, 1);
  auto y = poisoned<float>(n * columns);
  const Device& device = program.device();
  const Buffer dx = must(device.upload(x)), dy = must(device.upload(y));
  must(exe.launch({dx.tensor<float>({n, columns}), dy.tensor<float>({n, columns})}));
  must(device.synchronize());
  must(dy.download(y));
  Check check;
  for (int64_t i = 0; i < n; ++i) {
    const float* row = &x[size_t(i * columns)];
    double sum = 0;
    for (int64_t j = 0; j < columns; ++j) sum += std::exp(double(row[j]));
    // A sum of as many positive numbers, and a few roundings and approximations beside it.
    const double relative = double(4 * columns + 32) * half_ulp_f32;
    for (int64_t j = 0; j < columns; ++j) {
      const double p = std::exp(double(row[j])) / sum;
      check.element(y[size_t(i * columns + j)], p, p * relative);
    }
  }
  return check.report();
}
