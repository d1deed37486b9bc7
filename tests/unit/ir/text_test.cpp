// tests/unit/ir/text_test.cpp — modules print and parse back; bad text is refused with its line.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tlxjit/ir/text.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <random>
#include <sstream>

#include "src/passes/lower_p.h"
#include "tlxjit/ir/verify.h"
#include "tlxjit/kernels/attention.h"
#include "tlxjit/kernels/gemm.h"

namespace tlxjit {
namespace {

void expect_round_trip(const Module& module) {
  const std::string text = print(module);
  auto parsed = parse(text);
  ASSERT_TRUE(parsed.ok()) << to_string(parsed.error());
  EXPECT_EQ(print(*parsed), text);
  const std::string located = print(module, true);
  auto again = parse(located);
  ASSERT_TRUE(again.ok()) << to_string(again.error());
  EXPECT_EQ(print(*again, true), located);
  EXPECT_EQ(print(*again), text);
}

TEST(Text, LibraryKernelsRoundTripAtBothLevels) {
  for (const char* target : {"cpu", "sm_90a"})
    for (int variant = 0; variant < 5; ++variant) {
      AttentionOptions options;
      options.causal = variant & 1;
      options.jagged = variant & 2;
      const Kernel kernel = variant == 4 ? gemm(gemm_config(target)) : attention(attention_config(target, options));
      auto module = kernel.module();
      ASSERT_TRUE(module.ok()) << to_string(module.error());
      expect_round_trip(*module);
      auto lowered = lower(*module, *find_target(target));
      ASSERT_TRUE(lowered.ok()) << to_string(lowered.error());
      expect_round_trip(*lowered);
    }
}

TEST(Text, EqualKernelsPrintAlike) {
  auto a = gemm(gemm_config("sm_90a")).module();
  auto b = gemm(gemm_config("sm_90a")).module();
  EXPECT_EQ(print(*a), print(*b));
}

TEST(Text, AttributesOfEveryKind) {
  const std::string text =
      "tlx 1 portable\nkernel \"a \\\"b\\\\ c\\n\" [list = <1, -2, 3>, none = <>] {\n"
      "  %0 = const [value = -inf] : f32\n  %1 = const [value = nan] : f32\n  %2 = const [value = 0.1] : f32\n"
      "  %3 = const [value = -5] : i64\n  %4 = const [value = 1e+30] : f64\n}\n";
  auto module = parse(text);
  ASSERT_TRUE(module.ok()) << to_string(module.error());
  EXPECT_EQ(module->name, "a \"b\\ c\n");
  EXPECT_EQ(module->attrs.list("list"), (std::vector<int64_t>{1, -2, 3}));
  EXPECT_TRUE(std::isnan(std::get<double>(*module->body.ops[1]->attrs.find("value"))));
  expect_round_trip(*module);
}

TEST(Text, CommentsAndBlankLinesDoNotCount) {
  auto module = parse("# first\ntlx 1 portable\n\nkernel \"k\" { # here\n  %0 = sms : i32 # and here\n}\n");
  ASSERT_TRUE(module.ok()) << to_string(module.error());
  EXPECT_EQ(module->body.ops.size(), 1u);
}

TEST(Text, FaultsNameTheirLine) {
  const std::pair<const char*, const char*> cases[] = {
      {"", "line 1: expected a word"},
      {"tlx 2 portable", "line 1: expected 'tlx 1'"},
      {"tlx 1 raised", "line 1: expected 'portable' or 'lowered'"},
      {"tlx 1 portable\nmodule \"k\" {", "line 2: expected 'kernel'"},
      {"tlx 1 portable\nkernel \"k\\", "line 2: a string does not end"},
      {"tlx 1 portable\nkernel \"k\" [list = <1, two>] {", "line 2: expected an integer"},
      {"tlx 1 portable\nkernel \"k\" {\n  %0 = const [value = 1.2.3] : f32\n}", "line 3: expected a number"},
      {"tlx 1 portable\nkernel \"k\" {\n  %0 = fly : i32\n}", "line 3: 'fly' is no op"},
      {"tlx 1 portable\nkernel \"k\" {\n  %0 = tmem.load : i32\n}", "line 3: 'tmem.load' is not there yet"},
      {"tlx 1 portable\nkernel \"k\" {\n  %0 = sms : i99\n}", "line 3: 'i99' is no type"},
      {"tlx 1 portable\nkernel \"k\" {\n  %0 = sms : i32\n  %0 = sms : i32\n}", "line 4: %0 is defined twice"},
      {"tlx 1 portable\nkernel \"k\" {\n  grid %7\n}", "line 3: %7 is used but never defined"},
      {"tlx 1 portable\nkernel \"k\" {\n  grid %1\n  %2 = neg %3 : i32\n}", "line 3: %1 is used but never defined"},
      {"tlx 1 portable\nkernel \"k\" {\n  %0 = sms : i32 @\"a.cpp\" 4294967296\n}",
       "line 3: a line number is 1 to 2^32 − 1"},
      {"tlx 1 portable\nkernel \"k\" {\n  %0 = sms : i32 @\"a.cpp\" -1\n}", "line 3: a line number is 1 to 2^32 − 1"},
      {"tlx 1 portable\nkernel \"k\" {\n  grid %99999999\n}", "line 3: a value number is out of range"},
      {"tlx 1 portable\nkernel \"k\" {\n  %0 = dim [name = \"a\", name = \"b\"] : i32\n}",
       "line 3: attribute 'name' is given twice"},
      {"tlx 1 portable\nkernel \"k", "line 2: a string does not end"},
      {"tlx 1 portable\nkernel \"k\" {", "line 2: expected '}'"},
      {"tlx 1 portable\nkernel \"k\" {\n}\nmore", "line 4: text after the kernel"},
  };
  for (const auto& [text, message] : cases) {
    auto module = parse(text);
    ASSERT_FALSE(module.ok()) << text;
    EXPECT_EQ(module.error().message, message) << text;
    EXPECT_EQ(module.error().code, ErrorCode::invalid_text);
    EXPECT_EQ(module.error().stage, Stage::parse);
  }
}

TEST(Text, FaultsOfAFileAreLocated) {
  auto module = parse("tlx 1 portable\nkernel \"k\" {\n  %0 = fly : i32\n}", "k.tlx");
  ASSERT_FALSE(module.ok());
  EXPECT_EQ(module.error().location, Location("k.tlx", 3));
  EXPECT_EQ(module.error().message, "'fly' is no op");
  module = parse("tlx 1 portable\nkernel \"k\" {\n  grid %1\n  %2 = neg %3 : i32\n}", "k.tlx");  // found at the end
  ASSERT_FALSE(module.ok());
  EXPECT_EQ(module.error().location, Location("k.tlx", 3));
}

TEST(Text, OpsOfAFileAreLocated) {
  const std::string text =
      "tlx 1 portable\nkernel \"k\" {\n  %0 = sms : i32\n  %1 = neg %0 : i32 @\"k.cpp\" 7\n\n  grid %0\n}\n";
  auto module = parse(text, "k.tlx");
  ASSERT_TRUE(module.ok()) << to_string(module.error());
  const auto& ops = module->body.ops;
  EXPECT_EQ(module->location(*ops[0]), Location("k.tlx", 3));
  EXPECT_EQ(module->location(*ops[1]), Location("k.cpp", 7));
  EXPECT_EQ(module->location(*ops[2]), Location("k.tlx", 6));
  EXPECT_EQ(print(*module), print(*parse(text)));
}

TEST(Text, DeepNestingIsRefused) {
  std::string text = "tlx 1 portable\nkernel \"k\" {\n";
  for (int i = 0; i < 100000; ++i) text += "task {";
  auto module = parse(text);
  ASSERT_FALSE(module.ok());
  EXPECT_EQ(module.error().message, "line 3: regions are nested too deeply");
}

/// A kernel whose regions nest so deep, each `if` on a line of its number.
std::string nested(int depth, const char* level) {
  std::string text = std::string("tlx 1 ") + level + "\nkernel \"k\" {\n%0 = const [value = 1] : i32\ngrid %0\n" +
                     "task [name = \"t\", warps = 1, replicas = 1] {\n%1 = cmp %0, %0 [pred = \"eq\"] : b1\n";
  for (int i = 2; i <= depth; ++i) text += "if %1 @ \"k.cpp\" " + std::to_string(i) + " {\n";
  for (int i = 2; i <= depth; ++i) text += "} {\n}\n";
  return text + "}\n}\n";
}

TEST(Text, WhatTheVerifierLetsNestIsRead) {
  for (const auto& [level, most] : {std::pair{"portable", max_nesting}, {"lowered cpu", max_lowered_nesting}}) {
    const auto deepest = parse(nested(most, level));
    ASSERT_TRUE(deepest.ok()) << to_string(deepest.error());
    EXPECT_TRUE(verify(*deepest).empty());
    EXPECT_TRUE(parse(print(*deepest)).ok());
  }
  const auto deeper = parse(nested(max_nesting + 3, "portable"));
  ASSERT_TRUE(deeper.ok());
  const auto faults = verify(*deeper);
  ASSERT_EQ(faults.size(), 1u) << "of all that are too deep the outermost";
  EXPECT_EQ(faults[0].message, "if: regions nest at most 64 deep, that of the task included");
  EXPECT_EQ(faults[0].location.line, 65u);
  EXPECT_FALSE(parse(nested(max_lowered_nesting + 1, "lowered cpu")).ok());
}

TEST(Text, DamagedTextNeverCrashes) {
  const std::string good = print(*gemm(gemm_config("cpu")).module());
  std::mt19937 random(7);
  int accepted = 0;
  for (int round = 0; round < 3000; ++round) {
    std::string text = good;
    for (int k = 0; k < 1 + round % 3; ++k) {
      const size_t at = random() % text.size();
      switch (random() % 3) {
        case 0: text[at] = static_cast<char>(random() % 128); break;
        case 1: text.erase(at, 1 + random() % 20); break;
        default: text.insert(at, text.substr(random() % text.size(), random() % 30)); break;
      }
    }
    if (auto module = parse(text)) {
      ++accepted;
      expect_round_trip(*module);
    }
  }
  EXPECT_GT(accepted, 0) << "some damage hits names and numbers only";
}

}  // namespace
}  // namespace tlxjit
