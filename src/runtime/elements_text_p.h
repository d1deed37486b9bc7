// src/runtime/elements_text_p.h — scalars and tiles in memory as text.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <string>

#include "tlxjit/ir/type.h"

TLXJIT_NAMESPACE_BEGIN
namespace runtime {

/// A scalar as `1.5`, a tile, row-major, as `[[1, 2], [3, 4]]`; of a long one the first 1024 elements and `…`.
std::string elements_text(const Type& type, const void* elements);

}  // namespace runtime
TLXJIT_NAMESPACE_END
