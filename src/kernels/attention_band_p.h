// src/kernels/attention_band_p.h — which keys the rows of a tile see.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <optional>

#include "src/kernels/attention_tiles_p.h"

TLXJIT_NAMESPACE_BEGIN
namespace kernels {

/// Row i sees keys i + shift − left … i + shift + right of those that there are; an absent limit is none.
class Band {
 public:
  explicit Band(const AttentionConfig& config);

  /// Whether more blocks than the last may hold keys behind those that a row sees (no tile of rows whose own keys lie
  /// in one block has two), and whether any may hold keys before them.
  bool crossed_above() const { return right_ && (!plain() || c_.bkv % c_.bq != 0); }
  bool crossed_below() const { return left_.has_value(); }
  /// Whether the last block may reach past the last key that the tile sees.
  bool overhangs() const { return right_ && (!plain() || c_.bq % c_.bkv != 0); }

 private:
  friend class BandTile;
  bool shifted() const { return !c_.options.self && c_.options.corner == Corner::bottom_right && (left_ || right_); }
  /// Row i sees keys 0 … i, and there are as many keys as rows.
  bool plain() const { return c_.options.self && !left_ && right_ == 0; }

  const AttentionConfig& c_;
  std::optional<int> left_, right_;
};

/// The band in one tile: blocks of bkv keys from some key on. There is always one, though it may hold no key that is
/// seen. Ops are appended where they are needed: a limit that is absent costs none.
class BandTile {
 public:
  BandTile(const Band& band, const AttentionTile& tile);

  Index blocks() const;
  /// First key of block j.
  Index key(const Index& j) const { return begin_ ? *begin_ + j * c_.bkv : j * c_.bkv; }
  /// Keys from here on are loaded for no row.
  const Index& end() const { return end_ ? *end_ : tile_.key_length; }
  /// How many blocks from the last one down may hold keys behind those that a row sees.
  Index crossed_above(const Index& blocks) const;
  /// How many blocks from the first one up may hold keys before those that a row sees.
  Index crossed_below() const;
  /// Which keys of block j a tile of rows from `row0` on does not see.
  Tile hidden(Task& t, const Shape& shape, const Index& row0, const Index& j) const;

 private:
  /// The key that `row` stands beside, and `by` more.
  Index beside(const Index& row, int by) const { return shift_ ? row + *shift_ + by : row + by; }

  const Band& band_;
  const AttentionConfig& c_;
  const AttentionTile& tile_;
  std::optional<Index> shift_, begin_, end_;
};

}  // namespace kernels
TLXJIT_NAMESPACE_END
