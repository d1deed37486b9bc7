// tests/unit/runtime/keep_kernels.h — runs the program runtime_keep_kernels.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdio>
#include <string>

namespace tlxjit::runtime_test {

/// What it tells of itself.
struct Told {
  int compiles = -1, disk_hits = -1, wrong = -1, nvrtc = -1;
};

/// One that runs.
class KeepKernels {
 public:
  KeepKernels(const std::string& directory, const char* device, int kernels, int64_t begin_ms = 0,
              const std::string& before = {}) {
    const std::string command = before + TLXJIT_KEEP_KERNELS + " " + directory + " " + device + " " +
                                std::to_string(kernels) + " " + std::to_string(begin_ms);
    output_ = popen(command.c_str(), "r");
  }
  Told wait() {
    Told told;
    char line[256] = "";
    if (!output_) return told;
    if (!std::fgets(line, sizeof line, output_) ||
        std::sscanf(line, "compiles=%d disk_hits=%d wrong=%d nvrtc=%d", &told.compiles, &told.disk_hits, &told.wrong,
                    &told.nvrtc) != 4)
      ADD_FAILURE() << "it said: " << line;
    EXPECT_EQ(pclose(output_), 0);
    return told;
  }

 private:
  FILE* output_ = nullptr;
};

}  // namespace tlxjit::runtime_test
