// samples/jagged_attention/check.cpp — attention in float64, one query row at a time.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "check.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace {

constexpr double unit_bf16 = 0x1p-8, unit_f32 = 0x1p-24;  // half a unit in the last place, relative

void note(double error, double allowed, double& largest, double& ratio) {
  if (!(error <= std::numeric_limits<double>::max())) error = std::numeric_limits<double>::infinity();  // NaN too
  largest = std::max(largest, error);
  ratio = std::max(ratio, error / allowed);
}

class Rows {
 public:
  Rows(const Batch& batch, const Tensors& t, Verdict& verdict) : batch_(batch), t_(t), verdict_(verdict) {}

  void compare(int64_t document, int64_t query, int64_t head) {
    const int64_t first = batch_.offsets[static_cast<size_t>(document)], row = first + query;
    const int64_t keys = t_.causal ? query + 1 : batch_.length(document);
    const auto size = static_cast<size_t>(t_.head_size);
    const auto* q = &t_.q[at(row, head)];
    scores_.assign(static_cast<size_t>(keys), 0);
    double most = -std::numeric_limits<double>::infinity(), magnitude = 0;
    for (int64_t j = 0; j < keys; ++j) {
      const auto* k = &t_.k[at(first + j, head)];
      double sum = 0, absolute = 0;
      for (size_t d = 0; d < size; ++d) {
        const double p = double(float(q[d])) * double(float(k[d]));
        sum += p;
        absolute += std::abs(p);
      }
      scores_[static_cast<size_t>(j)] = t_.scale * sum;
      most = std::max(most, t_.scale * sum);
      magnitude = std::max(magnitude, double(t_.scale) * absolute);
    }
    double total = 0;
    exact_.assign(size, 0);
    absolute_.assign(size, 0);
    for (int64_t j = 0; j < keys; ++j) {
      const auto* v = &t_.v[at(first + j, head)];
      const double weight = std::exp(scores_[static_cast<size_t>(j)] - most);
      total += weight;
      for (size_t d = 0; d < size; ++d) {
        exact_[d] += weight * double(float(v[d]));
        absolute_[d] += weight * std::abs(double(float(v[d])));
      }
    }
    // Sums over the head, each error scaled by the score it enters, and over the keys; weights and results are
    // rounded to bf16.
    const double sums = 4 * unit_f32 * (static_cast<double>(size) * (1 + magnitude) + static_cast<double>(keys) + 16);
    for (size_t d = 0; d < size; ++d) {
      const double exact = exact_[d] / total;
      const double allowed = unit_bf16 * std::abs(exact) + (unit_bf16 + sums) * absolute_[d] / total + 1e-30;
      note(std::abs(double(float(t_.out[at(row, head) + d])) - exact), allowed, verdict_.largest_error,
           verdict_.largest_ratio);
    }
    const double lse = most + std::log(total);
    const double is = t_.lse[static_cast<size_t>(head) * batch_.tokens.size() + static_cast<size_t>(row)];
    note(std::abs(is - lse), sums + 4 * unit_f32 * std::abs(lse), verdict_.largest_lse_error, verdict_.largest_ratio);
    ++verdict_.rows;
  }

 private:
  size_t at(int64_t row, int64_t head) const { return static_cast<size_t>((row * t_.heads + head) * t_.head_size); }

  const Batch& batch_;
  const Tensors& t_;
  Verdict& verdict_;
  std::vector<double> scores_, exact_, absolute_;
};

}  // namespace

Verdict check(const Batch& batch, const Tensors& t) {
  constexpr double budget = 5e8;  // products
  double work = 0;
  for (int64_t b = 0; b < batch.documents(); ++b)
    work += 2.0 * static_cast<double>(batch.length(b)) * static_cast<double>(batch.length(b) * t.heads * t.head_size);
  const auto step = static_cast<int64_t>(std::max(1.0, std::ceil(work / budget)));
  Verdict verdict;
  Rows rows(batch, t, verdict);
  for (int64_t b = 0; b < batch.documents(); ++b)
    for (int64_t i = 0; i < batch.length(b); ++i)
      for (int64_t h = 0; h < t.heads; ++h)
        if (verdict.all_rows++ % step == 0) rows.compare(b, i, h);
  return verdict;
}
