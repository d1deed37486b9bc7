// tools/tlxjit/policies.h — how a JitFunction classes its calls, read from a manifest.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <string_view>

#include "tlxjit/ir/module.h"
#include "tlxjit/runtime/jit_function.h"

namespace tlxjit::cli {

/// The options under which a function of this kernel says of its policies `M divisible(16); K exact; a aligned narrow;
/// `.
Result<JitOptions> options_of(const Module& kernel, std::string_view policies);

}  // namespace tlxjit::cli
