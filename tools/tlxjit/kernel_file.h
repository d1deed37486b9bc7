// tools/tlxjit/kernel_file.h — kernels read from .tlx files, and what is made of them without a compiler.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <memory>
#include <string>

#include "src/passes/lower_p.h"
#include "src/runtime/call_plan_p.h"

namespace tlxjit::cli {

/// The verified kernel of a text file, or of standard input where `path` is `-`. Errors have its lines where the text
/// names no others.
Result<Module> read_kernel(const std::string& path);

/// A kernel as a target gets it.
struct Lowered {
  Module module;
  Target target;
  Abi abi;
  runtime::CallPlan plan;  // points to the two before it
  StageTimes times;
};

/// The target that a kernel is for: `name`, else its own where it is lowered already, else `otherwise`.
std::string target_of(const Module& module, const std::string& name, const std::string& otherwise);

/// `module` is verified; lowered ones are taken as they are.
Result<std::unique_ptr<Lowered>> lower_for(const Module& module, const std::string& target);

}  // namespace tlxjit::cli
