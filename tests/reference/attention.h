// tests/reference/attention.h — masks as matrices of 0 and 1, and one query row of attention in float64.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

namespace reference {

/// Which keys each query sees, written out.
struct Mask {
  Mask(int64_t rows, int64_t columns) : queries(rows), keys(columns), seen(static_cast<size_t>(rows * columns), 1) {}
  uint8_t& operator()(int64_t i, int64_t j) { return seen[static_cast<size_t>(i * keys + j)]; }
  bool operator()(int64_t i, int64_t j) const { return seen[static_cast<size_t>(i * keys + j)] != 0; }
  int64_t count(int64_t i) const {
    return std::count(seen.begin() + i * keys, seen.begin() + (i + 1) * keys, uint8_t{1});
  }
  /// Whether any query sees key j.
  bool used(int64_t j) const {
    for (int64_t i = 0; i < queries; ++i)
      if ((*this)(i, j)) return true;
    return false;
  }

  int64_t queries, keys;
  std::vector<uint8_t> seen;
};

/// `behind` and `before`: how many keys on either side of its own a query sees; −1: all. The query's own key is the
/// one as far from the end (from_the_end) or from the start as itself.
inline Mask band_mask(int64_t queries, int64_t keys, bool from_the_end, int64_t before, int64_t behind) {
  Mask mask(queries, keys);
  for (int64_t i = 0; i < queries; ++i)
    for (int64_t j = 0; j < keys; ++j) {
      int64_t ahead = j - i;  // how many keys behind the query's own this one stands
      if (from_the_end) {
        const int64_t queries_after = queries - 1 - i, keys_after = keys - 1 - j;
        ahead = queries_after - keys_after;
      }
      if (behind >= 0 && ahead > behind) mask(i, j) = 0;
      if (before >= 0 && -ahead > before) mask(i, j) = 0;
    }
  return mask;
}

struct AttentionRow {
  std::vector<double> out;        ///< value size
  std::vector<double> magnitude;  ///< Σ weight · |v|
  std::vector<double> values;     ///< Σ |v|
  double lse = 0;                 ///< ln Σ exp(score)
  double score_magnitude = 0;     ///< the largest scale · Σ|q·k| of a key
};

/// Keys or values of one head of a sequence: row-major, size columns.
struct Rows {
  int64_t size = 0;
  std::vector<double> elements;
};

/// Σ softmax(scale · q·kᵀ)[j] · v[j] of query i over the keys it sees. `cap` > 0: scores become
/// cap · tanh(score / cap). Without keys: 0, and lse −∞.
inline AttentionRow attention_row(const Mask& mask, int64_t i, double scale, double cap, const std::vector<double>& q,
                                  const Rows& k, const Rows& v) {
  AttentionRow row;
  const auto size = static_cast<size_t>(k.size), value_size = static_cast<size_t>(v.size);
  row.out.assign(value_size, 0);
  row.magnitude.assign(value_size, 0);
  row.values.assign(value_size, 0);
  row.lse = -std::numeric_limits<double>::infinity();
  std::vector<double> score(static_cast<size_t>(mask.keys));
  double most = -std::numeric_limits<double>::infinity();
  for (int64_t j = 0; j < mask.keys; ++j) {
    if (!mask(i, j)) continue;
    const double* key = k.elements.data() + static_cast<size_t>(j) * size;
    double sum = 0, magnitude = 0;
    for (size_t d = 0; d < size; ++d) {
      const double p = q.data()[d] * key[d];
      sum += p;
      magnitude += std::abs(p);
    }
    double& s = score[static_cast<size_t>(j)];
    s = scale * sum;
    if (cap > 0) s = cap * std::tanh(s / cap);
    most = std::max(most, s);
    row.score_magnitude = std::max(row.score_magnitude, std::abs(scale) * magnitude);
  }
  if (mask.count(i) == 0) return row;
  double total = 0;
  for (int64_t j = 0; j < mask.keys; ++j) {
    if (!mask(i, j)) continue;
    const double weight = std::exp(score[static_cast<size_t>(j)] - most);
    total += weight;
    const double* value = v.elements.data() + static_cast<size_t>(j) * value_size;
    for (size_t d = 0; d < value_size; ++d) {
      const double x = weight * value[d];
      row.out.data()[d] += x;
      row.magnitude.data()[d] += std::abs(x);
      row.values.data()[d] += std::abs(value[d]);
    }
  }
  for (double& x : row.out) x /= total;
  for (double& x : row.magnitude) x /= total;
  row.lse = most + std::log(total);
  return row;
}

}  // namespace reference
