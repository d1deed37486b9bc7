// samples/vector_add/main.cpp — runs the kernel of this folder and checks its result.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "samples/common/kernels.h"
#include "samples/common/program.h"

int main(int argc, char** argv) {
  using namespace samples;
  Program program(argc, argv, "z = x + y in f32, size N.", {10000}, /*cpu_only=*/true);
  const int64_t n = program.size(0);
  const Executable exe = program.compile(vector_add());
  const auto x = random_numbers<float>(n, 1), y = random_numbers<float>(n, 2);
  auto z = poisoned<float>(n);
  const Device& device = program.device();
  const Buffer dx = must(device.upload(x)), dy = must(device.upload(y)), dz = must(device.upload(z));
  must(exe.launch({dx.tensor<float>({n}), dy.tensor<float>({n}), dz.tensor<float>({n})}));
  must(device.synchronize());
  must(dz.download(z));
  Check check;
  for (size_t i = 0; i < z.size(); ++i) {
    const double sum = double(x[i]) + double(y[i]);
    check.element(z[i], sum, std::abs(sum) * half_ulp_f32 + 1e-45);
  }
  return check.report();
}
