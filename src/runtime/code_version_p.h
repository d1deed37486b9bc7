// src/runtime/code_version_p.h — which sources make code of kernels.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <string_view>

#include "tlxjit/core/export.h"

TLXJIT_NAMESPACE_BEGIN
namespace runtime {

/// A hash, made by the build, of all sources that decide what code is made of a kernel.
std::string_view code_version();

}  // namespace runtime
TLXJIT_NAMESPACE_END
