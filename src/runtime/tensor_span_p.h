// src/runtime/tensor_span_p.h — how far the elements of a tensor lie from its first.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "tlxjit/runtime/argument.h"

TLXJIT_NAMESPACE_BEGIN
namespace runtime {

/// Whether all elements lie less than 2^31 elements from the first: their offsets are i32.
inline bool is_narrow(const TensorArg& t) {
  int64_t reach = 0;
  for (size_t axis = 0; axis < static_cast<size_t>(t.rank); ++axis) {
    if (t.dims[axis] == 0) return true;
    int64_t span = 0;
    if (__builtin_mul_overflow(t.dims[axis] - 1, t.strides[axis], &span)) return false;
    if (span < 0 || __builtin_add_overflow(reach, span, &reach)) return false;
  }
  return reach <= INT32_MAX;
}

}  // namespace runtime
TLXJIT_NAMESPACE_END
