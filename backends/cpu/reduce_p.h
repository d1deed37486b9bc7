// backends/cpu/reduce_p.h — stores that combine with what is there, each element atomically.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>

#include "backends/cpu/context_p.h"
#include "src/ir/words_p.h"
#include "tlxjit/ir/type.h"

TLXJIT_NAMESPACE_BEGIN
namespace cpu {

/// to[i] = to[i] ∘ from[i] for n elements; other programs may do the same meanwhile. The elements of `to` are aligned.
void reduce(Elem elem, CopyReduction how, void* to, const void* from, int64_t n);

}  // namespace cpu
TLXJIT_NAMESPACE_END
