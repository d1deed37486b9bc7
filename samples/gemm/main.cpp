// samples/gemm/main.cpp — runs the kernel of this folder and checks its result.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "samples/common/kernels.h"
#include "samples/common/program.h"

int main(int argc, char** argv) {
  samples::Program program(argc, argv, "D = A * B^T in bf16, sizes M N K; K and N are multiples of 8 on a GPU.",
                           {500, 384, 320});
  return samples::run_matmul(program, samples::gemm(), [](double x) { return x; }, 1);
}
