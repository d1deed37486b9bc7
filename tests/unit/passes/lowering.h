// tests/unit/passes/lowering.h — kernels lowered for a target, and what is said of those that are refused.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <gtest/gtest.h>

#include "src/passes/lower_p.h"
#include "tlxjit/builder/kernel.h"

namespace tlxjit {

inline Result<Module> lowered(const Kernel& kernel, const char* target) {
  auto module = kernel.module();
  if (!module) return module.error();
  return lower(*module, *find_target(target));
}

inline std::string refusal(const Kernel& kernel, const char* target = "sm_90a") {
  auto module = lowered(kernel, target);
  if (module) return "accepted";
  EXPECT_EQ(module.error().stage, Stage::lower);
  EXPECT_NE(module.error().location.line, 0u);
  return module.error().message;
}

}  // namespace tlxjit
