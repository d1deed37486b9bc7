// tests/reference/attention.h — one query row of attention in float64.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

namespace reference {

struct AttentionRow {
  std::vector<double> out;        ///< D
  std::vector<double> magnitude;  ///< Σ weight · |v|, D
  double lse = 0;                 ///< ln Σ exp(score)
  double score_magnitude = 0;     ///< the largest scale · Σ|q·k| of a key
};

/// softmax(scale · q·kᵀ) · v of one query over `keys` ≥ 1 keys: q(d), k(j, d), v(j, d), d < size.
template <class Q, class K, class V>
AttentionRow attention_row(int64_t keys, int64_t size, double scale, Q&& q, K&& k, V&& v) {
  AttentionRow row;
  std::vector<double> score(static_cast<size_t>(keys));
  double most = -std::numeric_limits<double>::infinity();
  for (int64_t j = 0; j < keys; ++j) {
    double sum = 0, magnitude = 0;
    for (int64_t d = 0; d < size; ++d) {
      const double p = static_cast<double>(q(d)) * static_cast<double>(k(j, d));
      sum += p;
      magnitude += std::abs(p);
    }
    score[static_cast<size_t>(j)] = scale * sum;
    most = std::max(most, scale * sum);
    row.score_magnitude = std::max(row.score_magnitude, std::abs(scale) * magnitude);
  }
  double total = 0;
  row.out.assign(static_cast<size_t>(size), 0);
  row.magnitude.assign(static_cast<size_t>(size), 0);
  for (int64_t j = 0; j < keys; ++j) {
    const double weight = std::exp(score[static_cast<size_t>(j)] - most);
    total += weight;
    for (int64_t d = 0; d < size; ++d) {
      const double x = weight * static_cast<double>(v(j, d));
      row.out[static_cast<size_t>(d)] += x;
      row.magnitude[static_cast<size_t>(d)] += std::abs(x);
    }
  }
  for (double& x : row.out) x /= total;
  for (double& x : row.magnitude) x /= total;
  row.lse = most + std::log(total);
  return row;
}

}  // namespace reference
