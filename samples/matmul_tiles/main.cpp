// samples/matmul_tiles/main.cpp — runs the kernel of this folder and checks its result.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "samples/common/kernels.h"
#include "samples/common/program.h"

int main(int argc, char** argv) {
  samples::Program program(argc, argv, "D = A * B^T in one task in bf16, sizes M N K.", {200, 136, 320});
  return samples::run_matmul(program, samples::matmul_tiles({}), [](double x) { return x; }, 1);
}
