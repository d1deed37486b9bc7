// tools/tlxjit/tensor_use.h — which tensors a kernel reads and writes.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <vector>

#include "src/codegen/abi_p.h"

namespace tlxjit::cli {

struct TensorUse {
  bool read = false;
  bool written = false;
};

/// In the order of `abi.tensors`.
std::vector<TensorUse> tensor_uses(const Module& lowered, const Abi& abi);

}  // namespace tlxjit::cli
