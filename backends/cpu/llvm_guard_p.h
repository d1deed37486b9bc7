// backends/cpu/llvm_guard_p.h — keeps LLVM from ending the process.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <string>

#include "tlxjit/core/export.h"

TLXJIT_NAMESPACE_BEGIN
namespace cpu {

/// Calls fn(data). A fatal error of LLVM inside it ends the call, false is returned and `message` says why. It jumps:
/// no destructor between here and there runs, so fn holds no lock and no call_once of ours, and what it had made is
/// leaked. Where LLVM has no memory: std::bad_alloc, of which the same holds. An exception of fn passes through. Calls
/// may be nested.
bool guarded(void (*fn)(void*), void* data, std::string& message);

}  // namespace cpu
TLXJIT_NAMESPACE_END
