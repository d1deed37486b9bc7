// backends/nvidia/emit/emit_p.h — lowered IR to CUDA C++.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <string>

#include "src/codegen/abi_p.h"
#include "tlxjit/core/result.h"
#include "tlxjit/ir/module.h"

TLXJIT_NAMESPACE_BEGIN
namespace nvidia {

struct EmittedKernel {
  std::string source;  ///< header-free CUDA C++ for NVRTC, C++17
  std::string entry;   ///< the kernel's symbol
  Abi abi;
};

/// Writes the kernel of a module that was lowered for sm_90a. What the back end cannot do is refused
/// with the location of the op.
Result<EmittedKernel> emit_cuda(const tlxjit::Module& lowered);

}  // namespace nvidia
TLXJIT_NAMESPACE_END
