// include/tlxjit/kernels/attention.h — attention forward, dense and jagged.
//
//     Kernel k = attention(attention_config(device.target(), {.head = 128, .causal = true, .jagged = true}));
//     exe->launch(stream, {q, k, v, out, lse, offsets, scale});
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <string_view>

#include "tlxjit/builder/kernel.h"

TLXJIT_NAMESPACE_BEGIN

/// What to compute.
struct AttentionOptions {
  Elem elem = Elem::bf16;  ///< of q, k, v and out; bf16 or f16, on the CPU f32 too
  int head = 128;          ///< D, a multiple of 16
  bool causal = false;     ///< query i sees keys 0 … i
  bool jagged = false;     ///< sequences of different lengths, one after the other
};

/// How to compute it.
struct AttentionConfig {
  AttentionOptions options;
  int bq = 128;            ///< query rows of a program's tile, divided among the replicas
  int bkv = 128;           ///< keys of a ring slot
  int stages = 2;          ///< slots of the key and of the value ring
  int replicas = 2;        ///< consumer instances
  int heads_together = 8;  ///< causal: heads walked together, longest rows first, so that their keys stay in the cache
  int load_registers = 24;
  int mma_registers = 240;
};

/// The configuration for a target. `sequence` (keys per head, an estimate) sets heads_together: those whose
/// keys and values fill 32 MB of cache.
TLXJIT_API AttentionConfig attention_config(std::string_view target, const AttentionOptions& options = {},
                                            int64_t sequence = 4096);

/// out = softmax(scale · q·kᵀ + mask) · v and lse = ln Σ exp(scale · q·kᵀ), with online softmax
/// (Milakov and Gimelshein, 2018) in base 2.
///
/// Dense: q, k, v, out [B, S, H, D], lse [B, H, S] f32. Jagged: q, k, v, out [T, H, D], lse [H, T] f32,
/// offsets [B + 1] i32, not decreasing, 0 ≤ offset ≤ T: sequence b is rows offsets[b] … offsets[b + 1] − 1, may
/// be empty. Scalar: scale (f32), often 1/√D, finite and above 0. The innermost stride is 1, other strides are free
/// (NVIDIA: multiples of 16 bytes). A row's sums are over at least one key: the masks here leave every query its own.
TLXJIT_API Kernel attention(const AttentionConfig& config);

TLXJIT_NAMESPACE_END
