// tests/kernels/attention_fixture.h — calls of attention with tensors in many layouts, compared with float64.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <numeric>

#include "tests/kernels/fixture.h"
#include "tests/reference/attention.h"
#include "tests/reference/tolerance.h"

namespace kernels_test {

/// The sequences of a call; dense: all alike.
struct Batch {
  std::vector<int64_t> queries, keys;
  int64_t key_heads = 1;
  float cap = 0;
  /// Rows of no sequence at the ends of jagged tensors.
  int64_t before = 0, after = 0;
  /// q, k and v in one tensor, where they have the same rows.
  bool fused = false;
  /// Heads outside of rows in memory: of q, k, v, out.
  std::array<bool, 4> heads_first = {};
  bool packed = false;  ///< no gaps between rows

  static Batch self(std::vector<int64_t> lengths, int64_t heads = 1) { return {lengths, lengths, heads}; }
  static Batch cross(std::vector<int64_t> queries, std::vector<int64_t> keys, int64_t heads = 1) {
    return {std::move(queries), std::move(keys), heads};
  }
  size_t size() const { return queries.size(); }
  std::string text() const {
    std::string out = std::to_string(key_heads) + " key heads, queries:keys";
    for (size_t b = 0; b < size(); ++b) out += " " + std::to_string(queries[b]) + ":" + std::to_string(keys[b]);
    return out;
  }
};

inline std::string text(const AttentionOptions& o) {
  return std::string(to_string(o.elem)) + " D " + std::to_string(o.head) + "/" + std::to_string(o.value_head) +
         (o.causal ? " causal" : "") + (o.jagged ? " jagged" : " dense") + (o.self ? "" : " cross") + " group " +
         std::to_string(o.group) + " left " + std::to_string(o.left) + " right " + std::to_string(o.right) +
         (o.corner == Corner::top_left ? " top-left" : " bottom-right") + (o.soft_cap ? " capped" : "") +
         (o.lse ? "" : " no lse") + " offsets " + to_string(o.offsets);
}

/// Storage of [rows, heads, size] of one tensor of a call, dense with a batch axis in front.
template <class T>
class Activations {
 public:
  Activations(bool dense, int64_t batch, int64_t rows, int64_t heads, int64_t size, bool heads_first, bool packed,
              Random& r)
      : dense_(dense), heads_first_(heads_first), heads_(heads), data_(dims(batch, rows, heads, size), r, packed) {}

  /// Row s of batch entry b (jagged: b is not looked at, s counts from the tensor's start).
  T& operator()(int64_t b, int64_t s, int64_t h, int64_t d) {
    if (dense_) return heads_first_ ? data_(b, h, s, d) : data_(b, s, h, d);
    return heads_first_ ? data_(h, s, d) : data_(s, h, d);
  }
  double result(int64_t b, int64_t s, int64_t h, int64_t d) {
    if (dense_) return heads_first_ ? data_.result(b, h, s, d) : data_.result(b, s, h, d);
    return heads_first_ ? data_.result(h, s, d) : data_.result(s, h, d);
  }
  void upload(const Device& device) {
    arg_ = data_.on(device);
    if (heads_first_) {
      const size_t row = dense_ ? 1 : 0;
      std::swap(arg_.dims[row], arg_.dims[row + 1]);
      std::swap(arg_.strides[row], arg_.strides[row + 1]);
    }
  }
  /// Heads first … first + count − 1, as a tensor.
  TensorArg heads(int64_t first, int64_t count) const {
    TensorArg t = arg_;
    const size_t axis = dense_ ? 2 : 1;
    const int64_t skipped = first * t.strides[axis];
    t.dims[axis] = count;
    t.data = static_cast<T*>(t.data) + skipped;
    t.capacity -= skipped * static_cast<int64_t>(sizeof(T));
    return t;
  }
  TensorArg all() const { return heads(0, heads_); }
  void download() { data_.download(); }
  size_t strays() const { return data_.strays(); }

 private:
  std::vector<int64_t> dims(int64_t batch, int64_t rows, int64_t heads, int64_t size) const {
    std::vector<int64_t> d = heads_first_ ? std::vector{heads, rows, size} : std::vector{rows, heads, size};
    if (dense_) d.insert(d.begin(), batch);
    return d;
  }

  bool dense_, heads_first_;
  int64_t heads_;
  TestTensor<T> data_;
  TensorArg arg_;
};

/// One call: tensors of NaN, filled where a query or key is.
template <class T>
class AttentionCall {
 public:
  AttentionCall(const AttentionOptions& options, Batch batch, Random& r)
      : o(options), batch_(std::move(batch)), scale(attention_scale(options)) {
    const auto n = static_cast<int64_t>(batch_.size());
    const int64_t total_queries = sum(batch_.queries), total_keys = sum(batch_.keys);
    const auto longest = [](const std::vector<int64_t>& x) { return x.empty() ? 0 : x[0]; };
    const int64_t margin = batch_.before + batch_.after;
    const int64_t rows = o.jagged ? total_queries + margin : longest(batch_.queries);
    const int64_t key_rows = o.jagged ? total_keys + margin : longest(batch_.keys);
    fused_ = batch_.fused && o.self && value_size() == o.head;
    const auto make = [&](int64_t row_count, int64_t head_count, int64_t size, size_t which) {
      return std::make_unique<Activations<T>>(!o.jagged, n, row_count, head_count, size, batch_.heads_first[which],
                                              batch_.packed, r);
    };
    if (fused_) {
      q_ = make(rows, heads() + 2 * batch_.key_heads, o.head, 0);
    } else {
      q_ = make(rows, heads(), o.head, 0);
      k_ = make(key_rows, batch_.key_heads, o.head, 1);
      v_ = make(key_rows, batch_.key_heads, value_size(), 2);
    }
    out_ = make(rows, heads(), value_size(), 3);
    lse_ = std::make_unique<TestTensor<float>>(o.jagged ? std::vector{heads(), rows} : std::vector{n, heads(), rows}, r,
                                               batch_.packed);
    first_ = starts(batch_.queries);
    key_first_ = starts(batch_.keys);
    if (o.offsets == Elem::i64)
      fill_offsets(long_offsets_, r);
    else
      fill_offsets(short_offsets_, r);
  }

  int64_t heads() const { return batch_.key_heads * o.group; }
  int64_t value_size() const { return o.value_head ? o.value_head : o.head; }
  const Batch& batch() const { return batch_; }
  /// Elements by sequence, row in it, head.
  T& q(size_t b, int64_t i, int64_t h, int64_t d) { return (*q_)(int64_t(b), row(first_, b) + i, h, d); }
  T& k(size_t b, int64_t j, int64_t h, int64_t d) {
    return fused_ ? q(b, j, heads() + h, d) : (*k_)(int64_t(b), row(key_first_, b) + j, h, d);
  }
  T& v(size_t b, int64_t j, int64_t h, int64_t d) {
    return fused_ ? q(b, j, heads() + batch_.key_heads + h, d) : (*v_)(int64_t(b), row(key_first_, b) + j, h, d);
  }
  double out(size_t b, int64_t i, int64_t h, int64_t d) { return out_->result(int64_t(b), row(first_, b) + i, h, d); }
  double lse(size_t b, int64_t i, int64_t h) {
    return o.jagged ? lse_->result(h, row(first_, b) + i) : lse_->result(int64_t(b), h, i);
  }
  /// The mask of sequence b, by the reference's rules.
  reference::Mask mask(size_t b) const {
    const int64_t behind = o.causal ? 0 : o.right;
    return reference::band_mask(batch_.queries[b], batch_.keys[b], o.corner == Corner::bottom_right, o.left, behind);
  }

  /// Random queries, and keys and values from (−range, range). What no query sees stays NaN where the kernel says
  /// that it is not read.
  void fill(Random& r, float range = 1) {
    for (size_t b = 0; b < batch_.size(); ++b) {
      const reference::Mask seen = mask(b);
      int64_t used_before = 0;
      while (used_before < seen.keys && !seen.used(used_before)) ++used_before;
      each(batch_.queries[b], heads(), o.head, [&](int64_t i, int64_t h, int64_t d) { q(b, i, h, d) = T(r.real()); });
      for (int64_t j = 0; j < seen.keys; ++j) {
        const bool used = seen.used(j);
        for (int64_t h = 0; h < batch_.key_heads; ++h) {
          for (int64_t d = 0; d < o.head && used; ++d) k(b, j, h, d) = T(range * r.real());
          // Dense: values behind the last that is seen may be read.
          for (int64_t d = 0; d < value_size() && (used || (!o.jagged && j >= used_before)); ++d)
            v(b, j, h, d) = T(range * r.real());
        }
      }
    }
  }

  Result<void> launch(const Executable& exe, const Device& device) {
    read_ = {0, -1};
    std::vector<Argument> arguments;
    q_->upload(device);
    if (!fused_) k_->upload(device), v_->upload(device);
    out_->upload(device);
    arguments.emplace_back(q_->heads(0, heads()));
    arguments.emplace_back(fused_ ? q_->heads(heads(), batch_.key_heads) : k_->all());
    arguments.emplace_back(fused_ ? q_->heads(heads() + batch_.key_heads, batch_.key_heads) : v_->all());
    arguments.emplace_back(out_->all());
    const TensorArg lse = lse_->on(device);
    if (o.lse) arguments.emplace_back(lse);
    for (auto& x : short_offsets_) arguments.emplace_back(x.on(device));
    for (auto& x : long_offsets_) arguments.emplace_back(x.on(device));
    arguments.emplace_back(scale);
    if (o.soft_cap) arguments.emplace_back(batch_.cap);
    TLXJIT_TRY(exe.launch(Stream(), arguments));
    TLXJIT_TRY(device.synchronize());
    out_->download();
    lse_->download();
    return {};
  }

  /// Compares one row with float64. Terms of the tolerance: sums over the head and over the keys, scaled by how large
  /// the scores are, since an error of a score is a relative error of its weight.
  void compare(const reference::Mask& seen, size_t b, int64_t i, int64_t h) {
    std::vector<double> query;
    for (int64_t d = 0; d < o.head; ++d) query.push_back(double(float(q(b, i, h, d))));
    read_keys(b, h / o.group, seen.keys);
    const auto exact = reference::attention_row(seen, i, double(scale), o.soft_cap ? double(batch_.cap) : 0.0, query,
                                                key_rows_, value_rows_);
    const double unit = o.elem == Elem::f32   ? reference::roundoff_f32
                        : o.elem == Elem::f16 ? reference::roundoff_f16
                                              : reference::roundoff_bf16;
    const int64_t keys = seen.count(i);
    const double terms =
        double(o.head) * (1 + exact.score_magnitude) + double(keys) + 16 + (o.soft_cap ? double(batch_.cap) : 0);
    for (int64_t d = 0; d < value_size(); ++d) {
      const auto at = static_cast<size_t>(d);
      const double is = out(b, i, h, d);
      // f16: the weights, of which the largest is 1, and the result may be subnormal.
      const double least = o.elem == Elem::f16 ? reference::underflow_f16 * (1 + exact.values[at]) : 0;
      const double allowed = reference::tolerance(exact.out[at], exact.magnitude[at], terms, unit, unit, least);
      ASSERT_TRUE(reference::agrees(is, exact.out[at], keys ? allowed : 0))
          << "column " << d << " is " << is << ", exact " << exact.out[at];
    }
    if (!o.lse) return;
    const double log_sum = lse(b, i, h);
    const double allowed = reference::tolerance(exact.lse, 1, terms, 4 * reference::roundoff_f32);
    ASSERT_TRUE(reference::agrees(log_sum, exact.lse, allowed)) << "lse is " << log_sum << ", exact " << exact.lse;
  }

  /// All rows up to a budget of work, then a sample; every element is looked at for NaN, and what is no result must
  /// be as it was.
  void check(Random& r, double budget = 4e7) {
    double work = 0;
    for (size_t b = 0; b < batch_.size(); ++b)
      work += double(batch_.queries[b]) * double(batch_.keys[b] * heads() * (o.head + value_size()));
    for (size_t b = 0; b < batch_.size(); ++b) {
      const reference::Mask seen = mask(b);
      for (int64_t h = 0; h < heads(); ++h)
        for (int64_t i = 0; i < batch_.queries[b]; ++i) {
          for (int64_t d = 0; d < value_size(); ++d)
            ASSERT_FALSE(std::isnan(out(b, i, h, d)))
                << "sequence " << b << ", query " << i << ", head " << h << ", column " << d;
          if (o.lse) (void)lse(b, i, h);
          if (work > budget && !r.chance(budget / work)) continue;
          SCOPED_TRACE("sequence " + std::to_string(b) + ", query " + std::to_string(i) + ", head " +
                       std::to_string(h));
          ASSERT_NO_FATAL_FAILURE(compare(seen, b, i, h));
        }
    }
    EXPECT_EQ(out_->strays() + lse_->strays(), 0u) << "rows of no sequence, or elements outside, were written";
  }

  const AttentionOptions o;

 private:
  static int64_t sum(const std::vector<int64_t>& x) { return std::accumulate(x.begin(), x.end(), int64_t{0}); }
  std::vector<int64_t> starts(const std::vector<int64_t>& lengths) const {
    std::vector<int64_t> first(1, batch_.before);
    for (int64_t n : lengths) first.push_back(first.back() + n);
    return first;
  }
  int64_t row(const std::vector<int64_t>& first, size_t b) const { return o.jagged ? first[b] : 0; }
  /// What the reference reads of one head, which many rows are compared with.
  void read_keys(size_t b, int64_t head, int64_t keys) {
    if (std::pair(b, head) == read_) return;
    read_ = {b, head};
    key_rows_ = {o.head, {}}, value_rows_ = {value_size(), {}};
    for (int64_t j = 0; j < keys; ++j) {
      for (int64_t d = 0; d < o.head; ++d) key_rows_.elements.push_back(double(float(k(b, j, head, d))));
      for (int64_t d = 0; d < value_size(); ++d) value_rows_.elements.push_back(double(float(v(b, j, head, d))));
    }
  }
  template <class Fn>
  static void each(int64_t rows, int64_t heads, int64_t size, Fn&& fn) {
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t h = 0; h < heads; ++h)
        for (int64_t d = 0; d < size; ++d) fn(i, h, d);
  }
  template <class I>
  void fill_offsets(std::vector<TestTensor<I>>& list, Random& r) {
    if (!o.jagged) return;
    for (const auto* first : {&first_, &key_first_}) {
      if (first == &key_first_ && o.self) break;
      TestTensor<I>& x = list.emplace_back(std::vector{static_cast<int64_t>(first->size())}, r);
      for (size_t b = 0; b < first->size(); ++b) x(int64_t(b)) = static_cast<I>((*first)[b]);
    }
  }

  Batch batch_;
  bool fused_ = false;
  std::unique_ptr<Activations<T>> q_, k_, v_, out_;
  std::unique_ptr<TestTensor<float>> lse_;
  std::vector<TestTensor<int32_t>> short_offsets_;
  std::vector<TestTensor<int64_t>> long_offsets_;
  std::vector<int64_t> first_, key_first_;
  std::pair<size_t, int64_t> read_{0, -1};  ///< the sequence and head of
  reference::Rows key_rows_, value_rows_;

 public:
  float scale;
};

class AttentionTest : public KernelTest {
 protected:
  AttentionConfig config(const AttentionOptions& o) const { return attention_config(GetParam().target(), o); }

  /// Compiles for the options, runs on random numbers, compares.
  template <class T>
  void run(const AttentionOptions& o, const Batch& batch, Random& r) {
    auto exe = compile(attention(config(o)));
    TLXJIT_MUST(exe);
    run<T>(*exe, o, batch, r);
  }
  template <class T>
  void run(const Executable& exe, const AttentionOptions& o, const Batch& batch, Random& r) {
    SCOPED_TRACE(text(o) + "; " + batch.text());
    AttentionCall<T> call(o, batch, r);
    call.fill(r);
    TLXJIT_MUST(call.launch(exe, device()));
    ASSERT_NO_FATAL_FAILURE(call.check(r));
  }
};

}  // namespace kernels_test
