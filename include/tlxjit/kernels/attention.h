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

/// Where the diagonal of a mask lies when queries and keys differ in number: query i stands beside key i, or the last
/// query beside the last key (the queries are the last of the sequence, as when tokens are generated).
enum class Corner { top_left, bottom_right };

/// What to compute. A sequence of Nq queries and Nk keys: query i stands beside key p = i (top_left) or
/// p = i + Nk − Nq (bottom_right), and sees the keys j < Nk with p − left ≤ j ≤ p + right.
struct AttentionOptions {
  Elem elem = Elem::bf16;  ///< of q, k, v and out; bf16 or f16, on the CPU f32 too
  int head = 128;          ///< D, a multiple of 8 from 16 to 256; on Hopper a multiple of 64
  bool causal = false;     ///< right = 0
  bool jagged = false;     ///< sequences of different lengths, one after the other
  bool self = true;        ///< there are as many keys as queries; false: each have lengths (and offsets) of their own
  int group = 1;           ///< query heads per key head: query head h reads key head h / group
  int value_head = 0;      ///< D of v and out, as `head`; 0: that of q and k
  int left = -1;           ///< the window: keys before p that a query sees; −1: all
  int right = -1;          ///< and keys behind it
  Corner corner = Corner::bottom_right;
  bool soft_cap = false;     ///< scores become cap · tanh(score / cap), with a scalar `cap`
  bool lse = true;           ///< also write lse
  Elem offsets = Elem::i32;  ///< of the offsets; i32 or i64
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

/// The usual scale: 1/√D.
TLXJIT_API float attention_scale(const AttentionOptions& options);

/// out = softmax(score + mask) · v and lse = ln Σ exp(score), score = scale · q·kᵀ, capped if asked for, over the keys
/// that the query sees; with online softmax (Milakov and Gimelshein, 2018) in base 2. A query that sees no key has
/// out 0 and lse −∞.
///
/// Parameters in order, [] with the options' names: q [T, H, D], k [T, H / group, D], v [T, H / group, Dv],
/// out [T, H, Dv], lse f32 [H, T], offsets [B + 1], scale and cap f32, finite and above 0, cap
/// below 2^127. Offsets do not decrease,
/// 0 ≤ offset ≤ T: sequence b is rows offsets[b] … offsets[b + 1] − 1, may be empty; other offsets give wrong
/// numbers and no access outside. Without `self`: q and out have Tq rows, k and v Tk, and instead of offsets there are
/// q_offsets and k_offsets. Dense: [B, S, H, D] and lse [B, H, S], S apart as Sq and Sk without `self`; no offsets.
/// The innermost stride is 1, other strides are free (NVIDIA: multiples of 16 bytes). The launch refuses heads that
/// are not `group` times those of k.
///
/// A graph that a launch was captured into keeps T, B and scale; lengths it does not: it is right for all offsets
/// that a call of that T and B may have, however long the sequences of the capture were.
///
/// What is not finite: a row that sees a score of NaN or +∞ is NaN; scores of −∞ count as masked or make it NaN.
/// Weights of keys that a row does not see are 0, but rows are computed bq at a time: a value that is not finite
/// reaches the rows of a tile of which one sees it. What no row of the tile sees stays out (dense: what stands
/// less than bkv keys behind the last that one sees may not).
TLXJIT_API Kernel attention(const AttentionConfig& config, std::source_location at = std::source_location::current());

TLXJIT_NAMESPACE_END
