// tests/kernels/attention_test.cpp — attention, dense and jagged, against float64.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <array>
#include <numeric>

#include "tests/kernels/fixture.h"
#include "tests/reference/attention.h"
#include "tests/reference/tolerance.h"

namespace kernels_test {

/// Compares one query row. `terms` of the tolerance: sums over the head and over the keys, scaled by how large
/// the scores are, since an error of a score is a relative error of its weight.
inline void compare(const reference::AttentionRow& row, int64_t keys, double out_roundoff, double weight_roundoff,
                    const std::vector<double>& is, double lse) {
  const auto size = static_cast<double>(row.out.size());
  const double terms = size * (1 + row.score_magnitude) + static_cast<double>(keys) + 16;
  for (size_t d = 0; d < is.size(); ++d)
    ASSERT_LE(std::abs(is[d] - row.out[d]),
              reference::tolerance(row.out[d], row.magnitude[d], terms, out_roundoff, weight_roundoff))
        << "column " << d << " is " << is[d] << ", exact " << row.out[d];
  ASSERT_LE(std::abs(lse - row.lse), reference::tolerance(row.lse, 1, terms, 4 * reference::roundoff_f32))
      << "lse is " << lse << ", exact " << row.lse;
}

class Attention : public KernelTest {
 protected:
  AttentionOptions options(int head, bool causal, bool jagged, Elem elem = Elem::bf16) const {
    AttentionOptions o;
    o.elem = elem, o.head = head, o.causal = causal, o.jagged = jagged;
    return o;
  }
  static double roundoff(Elem elem) { return elem == Elem::f32 ? reference::roundoff_f32 : reference::roundoff_bf16; }

  /// Exact rows are dear: all of them up to a budget, then a sample.
  bool chosen(double work, Random& r) const { return work < 4e7 || r.chance(4e7 / work); }

  template <class T>
  void dense(const Executable& exe, const AttentionOptions& o, int64_t batch, int64_t seq, int64_t heads, Random& r) {
    SCOPED_TRACE("B " + std::to_string(batch) + ", S " + std::to_string(seq) + ", H " + std::to_string(heads));
    const std::vector<int64_t> dims{batch, seq, heads, o.head};
    TestTensor<T> q(dims, r), k(dims, r), v(dims, r), out(dims, r);
    TestTensor<float> lse({batch, heads, seq}, r);
    for (auto* x : {&q, &k, &v})
      for (int64_t b = 0; b < batch; ++b)
        for (int64_t s = 0; s < seq; ++s)
          for (int64_t h = 0; h < heads; ++h)
            for (int64_t d = 0; d < o.head; ++d) (*x)(b, s, h, d) = T(r.real());
    const float scale = 1 / std::sqrt(static_cast<float>(o.head));
    TLXJIT_MUST(
        exe.launch({q.on(device()), k.on(device()), v.on(device()), out.on(device()), lse.on(device()), scale}));
    TLXJIT_MUST(device().synchronize());
    out.download();
    lse.download();
    const double work = static_cast<double>(batch * heads * seq) * static_cast<double>(seq * o.head);
    std::vector<double> is(static_cast<size_t>(o.head));
    for (int64_t b = 0; b < batch; ++b)
      for (int64_t h = 0; h < heads; ++h)
        for (int64_t s = 0; s < seq; ++s) {
          for (int64_t d = 0; d < o.head; ++d) {
            is[static_cast<size_t>(d)] = out.result(b, s, h, d);
            ASSERT_FALSE(std::isnan(is[static_cast<size_t>(d)])) << b << " " << s << " " << h << " " << d;
          }
          const double log_sum = lse.result(b, h, s);
          if (!chosen(work, r)) continue;
          const int64_t keys = o.causal ? s + 1 : seq;
          const auto row = reference::attention_row(
              keys, o.head, scale, [&](int64_t d) { return float(q(b, s, h, d)); },
              [&](int64_t j, int64_t d) { return float(k(b, j, h, d)); },
              [&](int64_t j, int64_t d) { return float(v(b, j, h, d)); });
          SCOPED_TRACE("batch " + std::to_string(b) + ", query " + std::to_string(s) + ", head " + std::to_string(h));
          ASSERT_NO_FATAL_FAILURE(compare(row, keys, roundoff(o.elem), roundoff(o.elem), is, log_sum));
        }
    EXPECT_EQ(out.strays() + lse.strays(), 0u) << "elements outside the tensors were written";
  }

  template <class T>
  void jagged(const Executable& exe, const AttentionOptions& o, const std::vector<int64_t>& lengths, int64_t heads,
              Random& r) {
    std::string text = "H " + std::to_string(heads) + ", lengths";
    for (int64_t n : lengths) text += " " + std::to_string(n);
    SCOPED_TRACE(text);
    const auto batch = static_cast<int64_t>(lengths.size());
    const int64_t before = r.integer(0, 3), behind = r.integer(0, 3);  // rows of no sequence
    const int64_t rows = std::accumulate(lengths.begin(), lengths.end(), before + behind);
    const std::vector<int64_t> dims{rows, heads, o.head};
    TestTensor<T> q(dims, r), k(dims, r), v(dims, r), out(dims, r);
    TestTensor<float> lse({heads, rows}, r);
    TestTensor<int32_t> offsets({batch + 1}, r);
    std::vector<int64_t> first(1, before);
    for (int64_t n : lengths) first.push_back(first.back() + n);
    // Some sequences stay NaN: nothing of them may reach another.
    std::vector<bool> spoilt;
    for (int64_t b = 0; b < batch; ++b) spoilt.push_back(r.chance(0.2));
    for (int64_t b = 0; b <= batch; ++b) offsets(b) = static_cast<int32_t>(first[static_cast<size_t>(b)]);
    for (auto* x : {&q, &k, &v})
      for (int64_t b = 0; b < batch; ++b)
        for (int64_t s = first[size_t(b)]; s < first[size_t(b) + 1] && !spoilt[size_t(b)]; ++s)
          for (int64_t h = 0; h < heads; ++h)
            for (int64_t d = 0; d < o.head; ++d) (*x)(s, h, d) = T(r.real());
    const float scale = 1 / std::sqrt(static_cast<float>(o.head));
    TLXJIT_MUST(exe.launch({q.on(device()), k.on(device()), v.on(device()), out.on(device()), lse.on(device()),
                            offsets.on(device()), scale}));
    TLXJIT_MUST(device().synchronize());
    out.download();
    lse.download();
    double work = 0;
    for (int64_t n : lengths) work += static_cast<double>(n) * static_cast<double>(n * heads * o.head);
    std::vector<double> is(static_cast<size_t>(o.head));
    for (int64_t b = 0; b < batch; ++b)
      for (int64_t h = 0; h < heads; ++h)
        for (int64_t s = first[size_t(b)]; s < first[size_t(b) + 1]; ++s) {
          for (int64_t d = 0; d < o.head; ++d) {
            is[static_cast<size_t>(d)] = out.result(s, h, d);
            ASSERT_TRUE(spoilt[size_t(b)] || !std::isnan(is[static_cast<size_t>(d)]))
                << "sequence " << b << ", row " << s << ", head " << h << ", column " << d;
          }
          const double log_sum = lse.result(h, s);
          if (spoilt[size_t(b)] || !chosen(work, r)) continue;
          const int64_t base = first[size_t(b)], keys = o.causal ? s - base + 1 : lengths[size_t(b)];
          const auto row = reference::attention_row(
              keys, o.head, scale, [&](int64_t d) { return float(q(s, h, d)); },
              [&](int64_t j, int64_t d) { return float(k(base + j, h, d)); },
              [&](int64_t j, int64_t d) { return float(v(base + j, h, d)); });
          SCOPED_TRACE("sequence " + std::to_string(b) + ", query " + std::to_string(s - base) + ", head " +
                       std::to_string(h));
          ASSERT_NO_FATAL_FAILURE(compare(row, keys, roundoff(o.elem), roundoff(o.elem), is, log_sum));
        }
    EXPECT_EQ(out.strays() + lse.strays(), 0u) << "rows of no sequence, or elements outside the tensors, were written";
  }

  std::vector<int64_t> lengths(Random& r, int64_t limit) {
    std::vector<int64_t> list(static_cast<size_t>(r.integer(0, 6)));
    for (int64_t& n : list) n = r.among<int64_t>({0, 1, r.integer(0, 64), r.integer(64, limit), 64 * r.integer(1, 4)});
    return list;
  }

  template <class T>
  void sweep(int head, bool causal, Elem elem = Elem::bf16) {
    const int64_t limit = GetParam().fast() ? 1200 : 300;
    const int count = GetParam().fast() ? 12 : 8;
    const AttentionOptions d = options(head, causal, false, elem), j = options(head, causal, true, elem);
    auto dense_exe = compile(attention(attention_config(GetParam().target(), d)));
    TLXJIT_MUST(dense_exe);
    auto jagged_exe = compile(attention(attention_config(GetParam().target(), j)));
    TLXJIT_MUST(jagged_exe);
    cases(count, [&](Random& r) {
      dense<T>(*dense_exe, d, r.integer(1, 3), r.integer(1, limit), r.integer(1, 3), r);
      jagged<T>(*jagged_exe, j, lengths(r, limit), r.integer(1, 3), r);
    });
    Random r(base_seed());
    for (const auto& [batch, seq, heads] :
         {std::array<int64_t, 3>{0, 5, 2}, {2, 0, 2}, {2, 5, 0}, {1, 1, 1}, {1, 128, 1}, {2, 129, 1}})
      dense<T>(*dense_exe, d, batch, seq, heads, r);
    for (const std::vector<int64_t>& n :
         std::vector<std::vector<int64_t>>{{}, {0}, {0, 0, 0}, {1}, {1, 1, 1, 1}, {0, 127, 0, 1, 128, 129, 0}})
      jagged<T>(*jagged_exe, j, n, 2, r);
  }
};

TEST_P(Attention, Head64) { sweep<bf16>(64, false); }
TEST_P(Attention, Head64Causal) { sweep<bf16>(64, true); }
TEST_P(Attention, Head128) { sweep<bf16>(128, false); }
TEST_P(Attention, Head128Causal) { sweep<bf16>(128, true); }

#ifndef TLXJIT_TEST_GPU
class AttentionF32 : public Attention {};

TEST_P(AttentionF32, Head64) { sweep<float>(64, false, Elem::f32); }
TEST_P(AttentionF32, Head128Causal) { sweep<float>(128, true, Elem::f32); }
INSTANTIATE_TEST_SUITE_P(On, AttentionF32, f32_places, place_name);
#endif

INSTANTIATE_TEST_SUITE_P(On, Attention, places, place_name);

}  // namespace kernels_test
