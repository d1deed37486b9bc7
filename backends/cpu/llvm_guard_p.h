// backends/cpu/llvm_guard_p.h — keeps LLVM from ending the process.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <string>

#include "tlxjit/core/export.h"

TLXJIT_NAMESPACE_BEGIN
namespace cpu {

/// Calls fn(data). A fatal error of LLVM inside it ends the call, false is returned and `message` says why;
/// what fn had made is leaked then.
bool guarded(void (*fn)(void*), void* data, std::string& message);

}  // namespace cpu
TLXJIT_NAMESPACE_END
