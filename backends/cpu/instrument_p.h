// backends/cpu/instrument_p.h — generated code for a plug-in that was built with a sanitizer.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <llvm/IR/Module.h>
#include <llvm/IR/PassManager.h>

#include <span>

#include "tlxjit/core/export.h"

TLXJIT_NAMESPACE_BEGIN
namespace cpu {

/// Runs the passes of the plug-in's own sanitizer over optimised code; in other builds does nothing.
void instrument(llvm::Module& code, llvm::ModuleAnalysisManager& analyses);
/// Makes a function one that they work on.
void mark_for_sanitizer(llvm::Function& function);

/// A function of the sanitizer's run time that instrumented code calls.
struct SanitizerSymbol {
  const char* name;
  void* address;
};
std::span<const SanitizerSymbol> sanitizer_symbols();

}  // namespace cpu
TLXJIT_NAMESPACE_END
