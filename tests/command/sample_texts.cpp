// tests/command/sample_texts.cpp — the kernels that the tests of the command line have as text files.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cstdio>
#include <fstream>

#include "samples/common/kernels.h"
#include "tests/support/slow_kernel.h"

namespace {

int write(const std::string& path, const tlxjit::Kernel& kernel, bool with_locations) {
  auto module = kernel.module();
  if (!module) return std::fprintf(stderr, "%s\n", to_string(module.error()).c_str()), 1;
  std::ofstream file(path);
  file << print(*module, with_locations);
  file.close();
  if (!file) return std::fprintf(stderr, "cannot write %s\n", path.c_str()), 1;
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return std::fprintf(stderr, "usage: sample_texts FOLDER\n"), 2;
  const std::string folder = std::string(argv[1]) + "/";
  const samples::MatmulConfig small;
  return write(folder + "vector_add.tlx", samples::vector_add(), false) ||
         write(folder + "softmax_rows.tlx", samples::softmax_rows(64), false) ||
         write(folder + "gemm.tlx", samples::gemm(), true) ||
         write(folder + "matmul_ring.tlx", samples::matmul_ring(small), false) ||
         write(folder + "flash_attention.tlx", samples::flash_attention(64), true) ||
         write(folder + "slow.tlx", tlxjit::slow(), false);
}
