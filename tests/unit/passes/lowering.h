// tests/unit/passes/lowering.h — kernels lowered for a target, and what is said of those that are refused.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <gtest/gtest.h>

#include "src/passes/lower_p.h"
#include "tlxjit/builder/kernel.h"

namespace tlxjit {

/// The target, with ops that its back end has no code for yet.
inline Target with_all_ops(const char* name) {
  Target target = *find_target(name);
  target.capabilities = {"*"};
  return target;
}

inline Result<Module> lowered(const Kernel& kernel, const char* target) {
  auto module = kernel.module();
  if (!module) return module.error();
  return lower(*module, with_all_ops(target));
}

/// How many ops of a kind the module has.
inline size_t count_of(const Module& module, OpCode code) {
  size_t n = 0;
  walk(module.body, [&](const Op& op) { n += op.code == code; });
  return n;
}

inline std::string refusal(const Kernel& kernel, const char* target = "sm_90a") {
  auto module = lowered(kernel, target);
  if (module) return "accepted";
  EXPECT_EQ(module.error().stage, Stage::lower);
  EXPECT_NE(module.error().location.line, 0u);
  return module.error().message;
}

}  // namespace tlxjit
