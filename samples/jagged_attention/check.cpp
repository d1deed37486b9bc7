// samples/jagged_attention/check.cpp — attention in float64, one query row at a time.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "check.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace {

/// Half a unit in the last place, relative; and half the least number of f16.
constexpr double unit_bf16 = 0x1p-8, unit_f16 = 0x1p-11, unit_f32 = 0x1p-24, least_f16 = 0x1p-25;

void note(double error, double allowed, double& largest, double& ratio) {
  if (!(error <= std::numeric_limits<double>::max())) error = std::numeric_limits<double>::infinity();  // NaN too
  largest = std::max(largest, error);
  ratio = std::max(ratio, error / allowed);
}

class Rows {
 public:
  Rows(const Batch& queries, const Batch& keys, const Tensors& t, const tlxjit::AttentionOptions& o, Verdict& verdict)
      : queries_(queries), keys_(keys), t_(t), o_(o), verdict_(verdict) {}

  void compare(int64_t document, int64_t query, int64_t head) {
    const auto row = queries_.offsets[static_cast<size_t>(document)] + query;
    const auto first = keys_.offsets[static_cast<size_t>(document)];
    const int64_t key_head = head / (t_.heads / t_.key_heads);
    const float* q = at(t_.q, row, head, t_.heads, t_.size);
    scores_.clear();
    seen_.clear();
    double most = -std::numeric_limits<double>::infinity(), magnitude = 0;
    for (int64_t j = 0; j < keys_.length(document); ++j) {
      if (!sees(queries_.length(document), keys_.length(document), query, j)) continue;
      const float* k = at(t_.k, first + j, key_head, t_.key_heads, t_.size);
      double sum = 0, absolute = 0;
      for (int64_t d = 0; d < t_.size; ++d) {
        const double p = double(q[d]) * double(k[d]);
        sum += p;
        absolute += std::abs(p);
      }
      double score = double(t_.scale) * sum;
      if (t_.cap > 0) score = double(t_.cap) * std::tanh(score / double(t_.cap));
      scores_.push_back(score);
      seen_.push_back(j);
      most = std::max(most, score);
      magnitude = std::max(magnitude, double(t_.scale) * absolute);
    }
    double total = 0;
    const auto size = static_cast<size_t>(t_.value_size);
    exact_.assign(size, 0);
    absolute_.assign(size, 0);
    values_.assign(size, 0);
    for (size_t n = 0; n < seen_.size(); ++n) {
      const float* v = at(t_.v, first + seen_[n], key_head, t_.key_heads, t_.value_size);
      const double weight = std::exp(scores_[n] - most);
      total += weight;
      for (size_t d = 0; d < size; ++d) {
        exact_[d] += weight * double(v[d]);
        absolute_[d] += weight * std::abs(double(v[d]));
        values_[d] += std::abs(double(v[d]));
      }
    }
    if (seen_.empty()) total = 1;
    // Sums over the head, each error scaled by the score it enters, and over the keys; weights and results are
    // rounded to the tensors' type.
    const bool half = o_.elem == tlxjit::Elem::f16;
    const double unit = half ? unit_f16 : o_.elem == tlxjit::Elem::bf16 ? unit_bf16 : unit_f32;
    const double sums =
        4 * unit_f32 * (double(t_.size) * (1 + magnitude) + static_cast<double>(seen_.size()) + 16 + double(t_.cap));
    const float* out = at(t_.out, row, head, t_.heads, t_.value_size);
    for (size_t d = 0; d < size; ++d) {
      const double exact = exact_[d] / total, least = half ? least_f16 * (1 + values_[d]) : 0;
      const double allowed = unit * std::abs(exact) + (unit + sums) * absolute_[d] / total + least + 1e-30;
      note(std::abs(double(out[d]) - exact), allowed, verdict_.largest_error, verdict_.largest_ratio);
    }
    ++verdict_.rows;
    if (!o_.lse) return;
    const double is = t_.lse[static_cast<size_t>(head) * queries_.tokens.size() + static_cast<size_t>(row)];
    if (seen_.empty() && is == most) return;  // both −∞
    const double lse = most + std::log(total);
    note(std::abs(is - lse), sums + 4 * unit_f32 * std::abs(lse), verdict_.largest_lse_error, verdict_.largest_ratio);
  }

 private:
  static const float* at(const std::vector<float>& x, int64_t row, int64_t head, int64_t heads, int64_t size) {
    return x.data() + (row * heads + head) * size;
  }
  /// Of m words that attend, the i-th; of n that are attended to, the j-th.
  bool sees(int64_t m, int64_t n, int64_t i, int64_t j) const {
    const int64_t beside = o_.corner == tlxjit::Corner::top_left ? i : n - (m - i);
    if (o_.causal && j > beside) return false;
    if (o_.right >= 0 && j - beside > o_.right) return false;
    return o_.left < 0 || beside - j <= o_.left;
  }

  const Batch& queries_;
  const Batch& keys_;
  const Tensors& t_;
  const tlxjit::AttentionOptions& o_;
  Verdict& verdict_;
  std::vector<int64_t> seen_;
  std::vector<double> scores_, exact_, absolute_, values_;
};

}  // namespace

Verdict check(const Batch& queries, const Batch& keys, const Tensors& t, const tlxjit::AttentionOptions& options) {
  constexpr double budget = 5e8;  // products
  double work = 0;
  for (int64_t b = 0; b < keys.documents(); ++b)
    work += static_cast<double>(queries.length(b)) *
            static_cast<double>(keys.length(b) * t.heads * (t.size + t.value_size));
  const auto step = static_cast<int64_t>(std::max(1.0, std::ceil(work / budget)));
  Verdict verdict;
  Rows rows(queries, keys, t, options, verdict);
  for (int64_t b = 0; b < keys.documents(); ++b)
    for (int64_t i = 0; i < queries.length(b); ++i)
      for (int64_t h = 0; h < t.heads; ++h)
        if (verdict.all_rows++ % step == 0) rows.compare(b, i, h);
  return verdict;
}
