// tests/unit/runtime/many_processes_test.cpp — fresh processes that share a directory of compiled kernels.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <gmock/gmock.h>

#include <chrono>
#include <cstdio>
#include <string>
#include <vector>

#include "backends/cpu/sanitizers_p.h"
#include "tests/unit/runtime/temporary_directory.h"

namespace tlxjit::runtime_test {
namespace {

struct Told {
  int compiles = -1, disk_hits = -1, wrong = -1, nvrtc = -1;
};

/// A runtime_keep_kernels that runs.
class Process {
 public:
  Process(const std::string& directory, const char* device, int kernels, int64_t begin_ms = 0) {
    const std::string command = std::string(TLXJIT_KEEP_KERNELS) + " " + directory + " " + device + " " +
                                std::to_string(kernels) + " " + std::to_string(begin_ms);
    output_ = popen(command.c_str(), "r");
  }
  Told wait() {
    Told told;
    char line[256] = "";
    if (!output_ || !std::fgets(line, sizeof line, output_)) return told;
    EXPECT_EQ(std::sscanf(line, "compiles=%d disk_hits=%d wrong=%d nvrtc=%d", &told.compiles, &told.disk_hits,
                          &told.wrong, &told.nvrtc),
              4)
        << line;
    EXPECT_EQ(pclose(output_), 0);
    return told;
  }

 private:
  FILE* output_ = nullptr;
};

int64_t now_ms() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::system_clock::now().time_since_epoch())
      .count();
}

// BL-183: processes that begin at once, on an empty cache. They wait for each other's compiles, or, where a lock cannot
// be had in time, compile themselves: never more than twice a kernel.
TEST(ManyProcesses, BL_183_EachKernelIsCompiledAtMostTwice) {
  constexpr bool slow = cpu::asan || cpu::tsan;
  constexpr int processes = slow ? 8 : 32, kernels = slow ? 5 : 20;
  const TemporaryDirectory place;
  std::vector<Process> all;
  const int64_t begin = now_ms() + (slow ? 2000 : 1000);
  for (int i = 0; i < processes; ++i) all.emplace_back(place / "cache", "cpu", kernels, begin);
  int compiles = 0, hits = 0;
  for (Process& process : all) {
    const Told told = process.wait();
    EXPECT_EQ(told.wrong, 0);
    EXPECT_EQ(told.compiles + told.disk_hits, kernels);
    compiles += told.compiles, hits += told.disk_hits;
  }
  EXPECT_GE(compiles, kernels);
  EXPECT_LE(compiles, 2 * kernels);
  EXPECT_EQ(compiles + hits, processes * kernels);
  RecordProperty("compiles", compiles);
  const Told late = Process(place / "cache", "cpu", kernels).wait();
  EXPECT_EQ(late.compiles, 0);
  EXPECT_EQ(late.wrong, 0);
}

}  // namespace
}  // namespace tlxjit::runtime_test
