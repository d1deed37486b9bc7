// src/kernels/attention_band.cpp — causal masks and sliding windows as blocks of keys.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "src/kernels/attention_band_p.h"

TLXJIT_NAMESPACE_BEGIN
namespace kernels {

Band::Band(const AttentionConfig& config) : c_(config) {
  const AttentionOptions& o = config.options;
  if (o.left >= 0) left_ = o.left;
  if (o.right >= 0) right_ = o.right;
  if (o.causal) right_ = 0;
}

BandTile::BandTile(const Band& band, const AttentionTile& tile) : band_(band), c_(band.c_), tile_(tile) {
  const bool self = c_.options.self;
  if (band.shifted()) shift_ = tile.key_length - tile.length;
  if (band.overhangs()) {
    // Rows past the sequence's end see nothing that is loaded for them; where keys are as many, those end there too.
    const Index last_row = (self ? tile.q0 + c_.bq : min(tile.q0 + c_.bq, tile.length)) - 1;
    end_ = min(tile.key_length, max(beside(last_row, *band.right_) + 1, 0));
  }
  if (band.left_) begin_ = max(beside(tile.q0, -*band.left_), 0);
  // A tile that sees nothing reads what stands past the last key: zeros.
  if (!self && (band.left_ || band.right_)) {
    if (!begin_) begin_ = tile.q0 * 0;
    begin_ = select(*begin_ < end(), *begin_, tile.key_length);
  }
}

Index BandTile::blocks() const {
  if (band_.overhangs() || begin_ || !c_.options.self) {
    const Index keys = begin_ ? max(end() - *begin_, 0) : end();
    return max(ceil_div(keys, c_.bkv), 1);
  }
  const Index all = ceil_div(tile_.key_length, c_.bkv);
  return band_.right_ ? min(all, ceil_div(tile_.q0 + c_.bq, c_.bkv)) : all;
}

Index BandTile::crossed_above(const Index& blocks) const {
  if (band_.plain()) return blocks - tile_.q0 / c_.bkv;
  const Index last = beside(tile_.q0, *band_.right_);  // that the first row sees
  return blocks - max(begin_ ? last - *begin_ : last, 0) / c_.bkv;
}

Index BandTile::crossed_below() const {
  const Index first = beside(tile_.q0, c_.bq - 1 - *band_.left_);  // that the last row sees
  return ceil_div(max(first - *begin_, 0), c_.bkv);
}

Tile BandTile::hidden(Task& t, const Shape& shape, const Index& row0, const Index& j) const {
  const Tile key = t.iota(shape, 1) + this->key(j);
  Tile hidden = key >= tile_.key_length;
  if (band_.right_)
    hidden =
        hidden | (band_.plain() ? key > t.iota(shape, 0) + row0 : key > t.iota(shape, 0) + beside(row0, *band_.right_));
  if (band_.left_) hidden = hidden | (key < t.iota(shape, 0) + beside(row0, -*band_.left_));
  return hidden;
}

}  // namespace kernels
TLXJIT_NAMESPACE_END
