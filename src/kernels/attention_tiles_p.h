// src/kernels/attention_tiles_p.h — which tiles there are: blocks of query rows of each head and sequence.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <optional>

#include "tlxjit/kernels/attention.h"

TLXJIT_NAMESPACE_BEGIN
namespace kernels {

/// The parameters that say which sequences there are. `batch` dense; `bounds` (B + 1) and the offsets jagged;
/// key_rows and key_offsets where keys have lengths of their own, else equal to the queries'.
struct Sequences {
  std::optional<Index> batch, bounds;
  Index rows, key_rows, heads;
  Tensor offsets, key_offsets;
};

/// How far the numbers of rows and sequences go, so that no index that is formed of them in a kernel is beyond 32 bits.
struct Limits {
  explicit Limits(const AttentionConfig& config);
  int64_t rows, sequences;
};

/// A tile's place: query rows q0 … q0 + bq − 1 of a head and sequence. `first`: the sequence's first row (jagged) or
/// its number (dense); length: its queries.
struct AttentionTile {
  const Index& q0;
  const Index& head;
  const Index& first;
  const Index& length;
  const Index& key_first;
  const Index& key_length;
};

/// The schedule, and how to read what it yields.
class AttentionTiles {
 public:
  AttentionTiles(Kernel& k, const AttentionConfig& config, const Sequences& sequences);

  template <class Fn>
  void each(Fn&& fn) const {
    tiles_.each([&](std::vector<Index>& i) {
      const bool apart = i.size() > 4;
      fn(AttentionTile{i[0], i[1], i[2], i[3], apart ? i[4] : i[2], apart ? i[5] : dense_apart_ ? key_rows_ : i[3]});
    });
  }

 private:
  Tiles tiles_;
  Index key_rows_;
  bool dense_apart_;
};

}  // namespace kernels
TLXJIT_NAMESPACE_END
