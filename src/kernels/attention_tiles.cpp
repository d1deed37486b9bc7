// src/kernels/attention_tiles.cpp — dense and jagged schedules of attention.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "src/kernels/attention_tiles_p.h"

#include <algorithm>
#include <limits>

TLXJIT_NAMESPACE_BEGIN
namespace kernels {

namespace {

/// Splits tile number t into (row block, head): head by head, or in sections of heads with the last rows first. Late
/// rows of a causal head see the most keys; taken first, they leave short tiles to fill the gaps at the end.
std::pair<Index, Index> split(const AttentionConfig& c, Index t, const Index& blocks, const Index& heads) {
  if (!c.options.causal) return {t % blocks, t / blocks};
  const Index in_section = c.heads_together * blocks;
  const Index section = t / in_section, rest = t % in_section;
  const Index first = section * c.heads_together;
  const Index width = min(heads - first, c.heads_together);
  return {blocks - 1 - rest / width, first + rest % width};
}

Tiles dense_tiles(Kernel& k, const AttentionConfig& c, const Sequences& s) {
  const Index blocks = ceil_div(s.rows, c.bq), all = *s.batch * s.heads;
  return k.dynamic(blocks * all, [&](Index t) -> TileAt {
    auto [block, head] = split(c, std::move(t), blocks, all);
    const Index q0 = block * c.bq;
    return {q0 < s.rows, {q0, head % s.heads, head / s.heads, s.rows}};
  });
}

/// Offsets are data: clamped, so that wrong ones give wrong numbers and no access outside.
Index clamped(const Tensor& offsets, Index b, const Index& rows) {
  const Scalar offset = offsets.load({b});
  if (offset.elem() != Elem::i64) return min(max(offset, 0), rows);
  return min(max(offset, 0), rows.to(Elem::i64)).to(Elem::i32);
}

/// Row blocks of all sequences are numbered without a prefix sum: sequence b owns the numbers from
/// ⌊offset[b] / bq⌋ + b on, which is strictly increasing and leaves room for ⌈length / bq⌉ blocks; a number
/// past a sequence's last block is skipped.
Tiles jagged_tiles(Kernel& k, const AttentionConfig& c, const Sequences& s) {
  const Index sequences = *s.bounds - 1;
  const Index blocks = (s.rows / c.bq + sequences) * min(sequences, 1);
  return k.dynamic(blocks * s.heads, [&](Index t) -> TileAt {
    auto [number, head] = split(c, std::move(t), blocks, s.heads);
    const auto offset = [&](Index b) { return clamped(s.offsets, std::move(b), s.rows); };
    Index low = number * 0, high = low + sequences;
    k.loop([&] { return high - low > 1; },
           [&] {
             Index middle = (low + high) / 2;
             const Tile before = offset(middle) / c.bq + middle <= number;
             low = select(before, middle, low);
             high = select(before, high, middle);
           });
    const Index first = offset(low), end = max(offset(low + 1), first);
    const Index q0 = max(number - (first / c.bq + low), 0) * c.bq;
    TileAt tile{q0 < end - first, {q0, head, first, end - first}};
    if (!c.options.self) {
      const Index key_first = clamped(s.key_offsets, low, s.key_rows);
      const Index key_end = max(clamped(s.key_offsets, low + 1, s.key_rows), key_first);
      tile.indices.push_back(key_first);
      tile.indices.push_back(key_end - key_first);
    }
    return tile;
  });
}

}  // namespace

Limits::Limits(const AttentionConfig& c) {
  constexpr int64_t most = std::numeric_limits<int32_t>::max();
  // The ends of a tile of rows and of the band beside its last row, one block of keys further on.
  rows = most - 2 * c.bq - c.bkv - std::max({c.options.left, c.options.right, 0});
  // split() multiplies the row blocks by heads_together; dense, they are ⌈rows / bq⌉, jagged ⌊rows / bq⌋ + sequences.
  const int64_t blocks = most / (c.options.causal ? c.heads_together : 1) / (c.options.jagged ? 2 : 1);
  rows = std::min(rows, blocks * c.bq);
  sequences = std::min(blocks, most / 2);  // their search adds two numbers of sequences
}

AttentionTiles::AttentionTiles(Kernel& k, const AttentionConfig& c, const Sequences& s)
    : tiles_(c.options.jagged ? jagged_tiles(k, c, s) : dense_tiles(k, c, s)),
      key_rows_(s.key_rows),
      dense_apart_(!c.options.jagged && !c.options.self) {}

}  // namespace kernels
TLXJIT_NAMESPACE_END
