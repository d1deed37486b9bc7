// samples/jagged_attention/check.h — attention in float64, and how far the kernel's result is from it.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>
#include <vector>

#include "batch.h"

/// q, out: [queries, heads, size]; k, v: [keys, heads / group, size]; lse [heads, queries], or none.
struct Tensors {
  std::vector<float> q, k, v, out, lse;
  int64_t heads = 0, key_heads = 0, size = 0, value_size = 0;
  float scale = 1, cap = 0;
};

struct Verdict {
  int64_t rows = 0;  ///< query rows compared, of
  int64_t all_rows = 0;
  double largest_error = 0;  ///< of `out`, absolute
  double largest_ratio = 0;  ///< error over what rounding and summing in f32 may cost; ≤ 1 is right
  double largest_lse_error = 0;
};

/// Compares all query rows, or an even sample when they are too many to do in a moment.
Verdict check(const Batch& queries, const Batch& keys, const Tensors& t, const tlxjit::AttentionOptions& options);
