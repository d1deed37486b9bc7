// samples/common/kernels.h — the kernels of the samples, each in its sample's folder.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "tlxjit/tlxjit.h"

namespace samples {

/// z = x + y, of any length.
tlxjit::Kernel vector_add();

/// y[i, :] = softmax(x[i, :]) for rows of `columns` numbers.
tlxjit::Kernel softmax_rows(int columns);

/// D[M,N] = A[M,K] · B[N,K]ᵀ in bf16, in tiles that are large enough for a GPU.
tlxjit::Kernel gemm();

/// The same four times more: in one task; with a producer and consumers that meet in a ring; with buffers and barriers
/// by hand; persistent, with an activation in a task of its own.
struct MatmulConfig {
  int bm = 64, bn = 64, bk = 64;  ///< rows, columns and depth of a tile
  int stages = 3;
};
tlxjit::Kernel matmul_tiles(const MatmulConfig& config);
tlxjit::Kernel matmul_ring(const MatmulConfig& config);
tlxjit::Kernel matmul_barriers(const MatmulConfig& config);
/// The sums x go through silu(x) = x / (1 + 2^(−x · log2 e)).
tlxjit::Kernel matmul_persistent(const MatmulConfig& config);

/// O[i] = Σ_j softmax_j(Q[i] · K[j] · scale) V[j] for heads of `head_size`, a multiple of 64; q, o [N, D], k, v [M, D].
tlxjit::Kernel flash_attention(int head_size);

}  // namespace samples
