// tests/unit/passes/large_test.cpp — kernels so large that steps whose number is the square of theirs never end.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <gtest/gtest.h>

#include "tests/unit/passes/lowering.h"
#include "tlxjit/ir/text.h"

namespace tlxjit {
namespace {

/// Each location was looked for up to the end of its line: 10^11 bytes.
TEST(Large, TextOnOneLine) {
  constexpr uint32_t ops = 100000;
  std::string text = "tlx 1 portable kernel \"k\" { ";
  for (uint32_t i = 0; i < ops; ++i)
    text += "%" + std::to_string(i) + " = sms : i32 @ \"a.cpp\" " + std::to_string(i % 50000 + 1) + " ";
  auto module = parse(text + "}");
  ASSERT_TRUE(module.ok()) << to_string(module.error());
  ASSERT_EQ(module->body.ops.size(), ops);
  EXPECT_EQ(module->locations.size() - Module().locations.size(), 50000u) << "equal ones are one";
  EXPECT_EQ(module->location(*module->body.ops[70000]), Location("a.cpp", 20001));
}

/// What is known of all variables was copied for each branch: 3 · 10^9 of them.
TEST(Large, VariablesAndBranches) {
  constexpr int many = 40000;
  Kernel k{"k"};
  const Scalar n = k.scalar<int32_t>("n");
  const Tensor x = k.tensor<int32_t>("x", {8});
  k.grid(1);
  k.task("t").body([&](Task& t) {
    std::vector<Scalar> variables;
    for (int i = 0; i < many; ++i) variables.push_back(k.variable(n + i));
    for (int i = 0; i < many; ++i) k.when(n > i, [&] { variables[static_cast<size_t>(i)] = n; });
    x.store({0}, t.full<int32_t>({1}, variables[0] + variables[1]));
  });
  auto module = k.module();
  ASSERT_TRUE(module.ok()) << to_string(module.error());
  EXPECT_EQ(count_of(*module, OpCode::if_), size_t{many});
  EXPECT_EQ(count_of(*module, OpCode::var), 2u) << "the others are never read";
  EXPECT_EQ(count_of(*module, OpCode::set), 2u);
}

}  // namespace
}  // namespace tlxjit
