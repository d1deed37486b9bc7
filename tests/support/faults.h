// tests/support/faults.h — what the verifier says of modules in text.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "tlxjit/ir/text.h"
#include "tlxjit/ir/verify.h"

namespace tlxjit {

/// The faults of a module; one of the parser's when there is no module.
inline std::vector<Error> faults_of(const std::string& text) {
  auto module = parse(text);
  return module ? verify(*module) : std::vector<Error>{module.error()};
}

/// The message of the only fault, or "no fault".
inline std::string only_fault(const std::string& text) {
  const auto faults = faults_of(text);
  if (faults.empty()) return "no fault";
  EXPECT_EQ(faults[0].kind, ErrorKind::user);
  EXPECT_EQ(faults[0].code, faults[0].stage == Stage::parse ? ErrorCode::invalid_text : ErrorCode::invalid_kernel);
  if (faults.size() == 1) return faults[0].message;
  return std::to_string(faults.size()) + " faults, first: " + faults[0].message;
}

/// Each op of a text, one a line, comes from that line of user.cpp.
inline std::string with_lines(const std::string& ops) {
  std::istringstream lines(ops);
  std::string line, text;
  for (int number = 1; std::getline(lines, line); ++number) {
    const size_t first = line.find_first_not_of(' ');
    if (first != std::string::npos && line[first] != '(' && line[first] != '}')
      line.insert(std::min(line.find(" {"), line.size()), " @ \"user.cpp\" " + std::to_string(number));
    text += line + "\n";
  }
  return text;
}

/// Ops, and what is said of them: `line: message`, the line being that of the text.
using FaultCases = std::vector<std::pair<const char*, const char*>>;

/// `kernel` makes a module of the ops.
template <class Kernel>
void expect_faults(const FaultCases& cases, Kernel&& kernel) {
  for (const auto& [ops, expected] : cases) {
    const auto faults = faults_of(kernel(with_lines(ops)));
    ASSERT_FALSE(faults.empty()) << ops;
    EXPECT_EQ(std::to_string(faults[0].location.line) + ": " + faults[0].message, expected) << ops;
    EXPECT_EQ(faults.size(), 1u) << ops << "\n" << to_string(faults.back());
    EXPECT_EQ(faults[0].location.file, faults[0].location.line ? "user.cpp" : "") << ops;
  }
}

/// A portable kernel; `module_ops` stand outside tasks, `task_ops` in one.
inline std::string kernel_text(const std::string& module_ops, const std::string& task_ops) {
  return R"(tlx 1 portable
kernel "k" {
  %0 = dim [name = "N"] : i32
  %1 = tensor %0, %0 [name = "x"] : tensor<2xbf16>
  %2 = ring [fields = "a 64x64xbf16"] : ring<2>
  %3 = const [value = 0] : i32
  %4 = const [value = 1.0] : f32
  grid %0
)" + module_ops +
         R"(
  task [name = "t", warps = 4, replicas = 1] {
    %10 = splat %4 : tile<64x64xf32>
    %11 = accumulator : accumulator<64x64xf32>
    %12 = const [value = 1] : b1
)" + task_ops +
         "\n  }\n}\n";
}

/// Ops that fill and drain the ring of kernel_text: an acquired slot %20, a slot waited for %21, its field %22.
inline const std::string ring_ops = R"(    %20 = acquire %2 : slot
    load_field %20, %1, %3, %3 [field = "a"]
    publish %20
    %21 = wait_slot %2 : slot
    %22 = field %21 [field = "a"] : view<64x64xbf16>
)";

/// A lowered kernel, likewise.
inline std::string lowered_text(const std::string& module_ops, const std::string& task_ops) {
  return R"(tlx 1 lowered cpu
kernel "k" [threads = 128, shared_bytes = 65536] {
  %0 = const [value = 0] : i32
  %1 = const [value = 64] : i32
  %2 = const [value = 1.0] : f32
  %3 = tensor %1, %1 [name = "x"] : tensor<2xf32>
  %4 = buffer [swizzle = 0, offset = 0] : buffer<2, 64x64xf32>
  %5 = buffer [swizzle = 0, offset = 32768] : buffer<2, 64xf32>
  %6 = barrier [count = 1, name = "b", offset = 34816] : barrier<2>
  %7 = const [value = 2] : i32
  grid %1
)" + module_ops +
         R"(
  task [name = "t", warps = 4, replicas = 1] {
    %20 = accumulator : accumulator<64x64xf32>
    %21 = view %4, %0 : view<64x64xf32>
    %22 = splat %2 : tile<64x64xf32>
    %23 = splat %2 : tile<1x1xf32>
)" + task_ops +
         "\n  }\n}\n";
}

}  // namespace tlxjit
