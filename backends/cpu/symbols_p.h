// backends/cpu/symbols_p.h — what compiled code may call.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <string_view>

#include "tlxjit/core/export.h"

TLXJIT_NAMESPACE_BEGIN
namespace cpu {

/// The address of a function that compiled code may call; null: there is none of this name.
const void* symbol(std::string_view name);

}  // namespace cpu
TLXJIT_NAMESPACE_END
