// samples/matmul_persistent/main.cpp — runs the kernel of this folder and checks its result.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "samples/common/kernels.h"
#include "samples/common/program.h"

int main(int argc, char** argv) {
  samples::Program program(argc, argv, "D = silu(A * B^T) in bf16, sizes M N K.", {400, 264, 320}, /*cpu_only=*/true);
  // The slope of silu is at most 1.1.
  return samples::run_matmul(
      program, samples::matmul_persistent({}), [](double x) { return x / (1 + std::exp(-x)); }, 1.1);
}
