// tests/unit/ir/verify_lowered_test.cpp — what lowered modules may say of memory.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tests/support/faults.h"

namespace tlxjit {
namespace {

std::string kernel(const std::string& module_ops, const std::string& task_ops = "",
                   const std::string& attributes = "threads = 128, shared_bytes = 1024",
                   const std::string& target = "sm_90a") {
  return "tlx 1 lowered " + target + "\nkernel \"k\" [" + attributes + "] {\n%0 = const [value = 1] : i32\ngrid %0\n" +
         module_ops + "\ntask [name = \"t\", warps = 4, replicas = 1] {\n" + task_ops + "\n}\n}\n";
}

TEST(VerifyLowered, WordsOfTheWorkspace) {
  const auto in_task = [](const std::string& ops) { return kernel("workspace [words = 2]", ops); };
  expect_faults(
      {
          {"workspace.set %0 [word = 2]", "1: workspace.set: word 2 is outside the 2 that there are"},
          {"workspace.set %0 [word = -1]", "1: workspace.set: word -1 is outside the 2 that there are"},
          {"%1 = workspace.add %0 [word = 1000000] : i32",
           "1: workspace.add: word 1000000 is outside the 2 that there are"},
          {"%1 = workspace.add %0 [word = 0] : f32", "1: workspace.add: gives the former word, i32"},
          {"%1 = workspace.add %0 [word = 0] : tile<64xi32>", "1: workspace.add: gives the former word, i32"},
      },
      in_task);
  EXPECT_EQ(only_fault(kernel("workspace [words = 2]",
                              "workspace.set %0 [word = 1]\n%1 = workspace.add %0 [word = 0] "
                              ": i32")),
            "no fault");
  for (const char* target : {"sm_90a", "cpu"})
    EXPECT_EQ(only_fault(kernel("", "workspace.set %0 [word = 0]", "threads = 128, shared_bytes = 0", target)),
              "workspace.set: the kernel has no workspace before it");
  EXPECT_EQ(only_fault(kernel("workspace [words = 2]\nworkspace [words = 3]")), "workspace: a kernel says it once");
}

TEST(VerifyLowered, PlacesInSharedMemory) {
  const FaultCases cases = {
      {"%5 = buffer [swizzle = 0] : buffer<2, 64xf32>", "1: buffer: has no offset in shared memory"},
      {"%5 = barrier [count = 1, name = \"b\"] : barrier<2>", "1: barrier: has no offset in shared memory"},
      {"%5 = buffer [swizzle = 0, offset = 528] : buffer<2, 64xf32>",
       "1: buffer: ends at byte 1040 of shared memory; the kernel has 1024"},
      {"%5 = barrier [count = 1, name = \"b\", offset = 1016] : barrier<2>",
       "1: barrier: ends at byte 1032 of shared memory; the kernel has 1024"},
      {"%5 = buffer [swizzle = 0, offset = 0] : buffer<1, 64xf32>\n"
       "%6 = buffer %5 [swizzle = 0, at = 16, offset = 512] : buffer<1, 4xf32>",
       "2: buffer: its offset is not where it begins in what it shares"},
      {"%5 = buffer [swizzle = 0, offset = 0] : buffer<1, 64xf32>\n"
       "%6 = barrier [count = 1, name = \"b\", offset = 248] : barrier<1>",
       "2: barrier: begins at byte 248 of shared memory, before the end of another, at 256"},
      {"%5 = barrier [count = 1, name = \"a\", offset = 0] : barrier<1>\n"
       "%6 = barrier [count = 1, name = \"b\", offset = 0] : barrier<1>",
       "2: barrier: begins at byte 0 of shared memory, before the end of another, at 8"},
  };
  expect_faults(cases, [](const std::string& ops) { return kernel(ops); });
  const std::string all =
      "%5 = buffer [swizzle = 0, offset = 0] : buffer<1, 64xf32>\n"
      "%6 = buffer %5 [swizzle = 0, at = 16, offset = 16] : buffer<1, 4xf32>\n"
      "%7 = barrier [count = 1, name = \"a\", offset = 256] : barrier<95>\n"
      "%8 = barrier [count = 1, name = \"b\", offset = 1016] : barrier<1>\n";
  EXPECT_EQ(only_fault(kernel(all)), "no fault");
  // The CPU finds places for what has none, and room.
  const std::string none = "%5 = barrier [count = 1, name = \"a\"] : barrier<1>";
  EXPECT_EQ(only_fault(kernel(none, "", "threads = 128, shared_bytes = 0", "cpu")), "no fault");
}

TEST(VerifyLowered, ThreadsOfADevice) {
  for (const char* attributes : {"shared_bytes = 0", "threads = 0, shared_bytes = 0", "threads = 1025"})
    EXPECT_EQ(only_fault(kernel("", "", attributes)), "kernel 'k': threads is 1 to 1024 on sm_90a");
  EXPECT_EQ(only_fault(kernel("", "", "threads = 0", "cpu")), "no fault");
}

}  // namespace
}  // namespace tlxjit
