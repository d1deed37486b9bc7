// include/tlxjit/kernels/gemm.h — matrix product D[M,N] = A[M,K] · B[N,K]ᵀ.
//
//     Kernel k = gemm(gemm_config(device.target(), Elem::bf16));
//     auto exe = engine.compile(k, device);
//     exe->launch(stream, {a, b, d});      // a [M,K], b [N,K], d [M,N]
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <string_view>

#include "tlxjit/builder/kernel.h"

TLXJIT_NAMESPACE_BEGIN

/// Tile sizes and task structure of the GEMM.
struct GemmConfig {
  Elem elem = Elem::bf16;  ///< of a, b and d; sums are f32
  int bm = 128;            ///< rows of a program's tile, divided among the replicas
  int bn = 256;            ///< columns of a program's tile
  int bk = 64;             ///< depth of a ring slot
  int stages = 4;          ///< slots of the ring
  int replicas = 2;        ///< consumer instances
  int slab = 64;           ///< columns that a consumer stores at once
  int group = 16;          ///< tiles of the M axis walked together for the sake of the cache
  int load_registers = 40;
  int mma_registers = 232;
};

/// The configuration for a target: `sm_90a`, `cpu`. Others get the one of `cpu`, which suits any target that
/// has the ops.
TLXJIT_API GemmConfig gemm_config(std::string_view target, Elem elem = Elem::bf16);

/// D[M,N] = A[M,K] · B[N,K]ᵀ with sums in f32, rounded once on store. Any M, N, K ≥ 0; K = 0 gives zeros.
/// None is beyond 2^31 − 1 less a tile's extent. A, B and D have unit inner stride. On Hopper, checked at launch: rows
/// of all three begin at multiples of 16 bytes, and rows of D end at one (N a multiple of 8 for 16-bit elements).
/// Structure: one producer fills a ring of K slices, `replicas` consumers sum bm / replicas rows each;
/// persistent programs walk the tiles in groups of rows.
TLXJIT_API Kernel gemm(const GemmConfig& config, std::source_location at = std::source_location::current());

TLXJIT_NAMESPACE_END
