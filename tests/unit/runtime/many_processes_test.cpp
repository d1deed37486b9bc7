// tests/unit/runtime/many_processes_test.cpp — fresh processes that share a directory of compiled kernels.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <chrono>
#include <vector>

#include "backends/cpu/sanitizers_p.h"
#include "tests/unit/runtime/keep_kernels.h"
#include "tests/unit/runtime/temporary_directory.h"

namespace tlxjit::runtime_test {
namespace {

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
  std::vector<KeepKernels> all;
  const int64_t begin = now_ms() + (slow ? 2000 : 1000);
  for (int i = 0; i < processes; ++i) all.emplace_back(place / "cache", "cpu", kernels, begin);
  int compiles = 0, hits = 0;
  for (KeepKernels& process : all) {
    const Told told = process.wait();
    EXPECT_EQ(told.wrong, 0);
    EXPECT_EQ(told.compiles + told.disk_hits, kernels);
    compiles += told.compiles, hits += told.disk_hits;
  }
  EXPECT_GE(compiles, kernels);
  EXPECT_LE(compiles, 2 * kernels);
  EXPECT_EQ(compiles + hits, processes * kernels);
  RecordProperty("compiles", compiles);
  const Told late = KeepKernels(place / "cache", "cpu", kernels).wait();
  EXPECT_EQ(late.compiles, 0);
  EXPECT_EQ(late.wrong, 0);
}

// Neither to compile nor to load is another program needed.
TEST(ManyProcesses, BL_240_NoToolIsNeededColdOrWarm) {
  const TemporaryDirectory place;
  for (const int compiles : {2, 0}) {
    const Told told = KeepKernels(place / "cache", "cpu", 2, 0, "env -i PATH=/nonexistent ").wait();
    EXPECT_EQ(told.compiles, compiles);
    EXPECT_EQ(told.wrong, 0);
  }
}

}  // namespace
}  // namespace tlxjit::runtime_test
