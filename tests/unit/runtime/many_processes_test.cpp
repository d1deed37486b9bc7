// tests/unit/runtime/many_processes_test.cpp — fresh processes that share a directory of compiled kernels.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <chrono>
#include <filesystem>
#include <set>
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

// BL-183: processes that begin at once, on an empty cache, wait for each other's compiles, for as long as it takes: in
// memory, where no process waits for a disk with the lock held.
TEST(ManyProcesses, BL_183_EachKernelIsCompiledAtMostTwice) {
  constexpr bool slow = cpu::asan || cpu::tsan;
  constexpr int processes = slow ? 8 : 32, kernels = slow ? 5 : 20;
  const TemporaryDirectory place(memory_disk());
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

/// Names of the files that entries are kept in: their keys.
std::set<std::string> keys_in(const std::string& directory) {
  std::set<std::string> keys;
  for (const auto& file : std::filesystem::recursive_directory_iterator(directory))
    if (file.is_regular_file() && file.path().filename().string().size() == 32) keys.insert(file.path().filename());
  return keys;
}

// Programs that are started anew, at other addresses: a key that an address or a random name had part in would differ.
TEST(ManyProcesses, BL_209_BL_203_KeysAreThoseOfEveryProcess) {
  constexpr int kernels = 3;
  const TemporaryDirectory place;
  for (const char* directory : {"one", "two"}) {
    const Told told = KeepKernels(place / directory, "cpu", kernels).wait();
    EXPECT_EQ(told.compiles, kernels);
    EXPECT_EQ(told.wrong, 0);
  }
  EXPECT_EQ(keys_in(place / "one").size(), size_t{kernels});
  EXPECT_EQ(keys_in(place / "one"), keys_in(place / "two"));
  const Told again = KeepKernels(place / "one", "cpu", kernels).wait();
  EXPECT_EQ(again.compiles, 0);
  EXPECT_EQ(again.disk_hits, kernels);
  EXPECT_EQ(again.wrong, 0);
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
