// tools/tlxjit/promises.h — what a kernel counts on in its calls.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <string>

#include "tlxjit/ir/module.h"

namespace tlxjit::cli {

/// As a manifest says it, `K = 4096, M % 16 = 0, a aligned to 16, a narrow`, with what the kernel itself asks for;
/// `nothing`.
std::string promises_of(const Module& module);

}  // namespace tlxjit::cli
