// src/runtime/code_version.cpp — which sources make code of kernels; the one file that a change of them compiles anew.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "src/runtime/code_version_p.h"

#include <tlxjit_code_hash.h>

TLXJIT_NAMESPACE_BEGIN
namespace runtime {

std::string_view code_version() { return TLXJIT_CODE_HASH; }

}  // namespace runtime
TLXJIT_NAMESPACE_END
