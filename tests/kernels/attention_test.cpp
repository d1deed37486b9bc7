// tests/kernels/attention_test.cpp — attention, dense and jagged, against float64.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tests/kernels/attention_fixture.h"

namespace kernels_test {

class Attention : public AttentionTest {
 protected:
  static Batch dense(int64_t batch, int64_t length, int64_t heads) {
    return Batch::self(std::vector<int64_t>(static_cast<size_t>(batch), length), heads);
  }
  static Batch jagged(std::vector<int64_t> lengths, int64_t heads, Random& r) {
    Batch batch = Batch::self(std::move(lengths), heads);
    batch.before = r.integer(0, 3), batch.after = r.integer(0, 3);
    return batch;
  }
  std::vector<int64_t> lengths(Random& r, int64_t limit) {
    std::vector<int64_t> list(static_cast<size_t>(r.integer(0, 6)));
    for (int64_t& n : list) n = r.among<int64_t>({0, 1, r.integer(0, 64), r.integer(64, limit), 64 * r.integer(1, 4)});
    return list;
  }

  template <class T>
  void sweep(int head, bool causal) {
    const int64_t limit = GetParam().fast() ? 1200 : 300;
    const int count = GetParam().fast() ? 12 : 8;
    const AttentionOptions d{.elem = elem_of<T>, .head = head, .causal = causal};
    const AttentionOptions j{.elem = elem_of<T>, .head = head, .causal = causal, .jagged = true};
    auto dense_exe = compile(attention(config(d))), jagged_exe = compile(attention(config(j)));
    TLXJIT_MUST(dense_exe);
    TLXJIT_MUST(jagged_exe);
    cases(count, [&](Random& r) {
      run<T>(*dense_exe, d, dense(r.integer(1, 3), r.integer(1, limit), r.integer(1, 3)), r);
      run<T>(*jagged_exe, j, jagged(lengths(r, limit), r.integer(1, 3), r), r);
    });
    Random r(seed_of_today());
    for (const auto& [batch, length, heads] :
         {std::array<int64_t, 3>{0, 5, 2}, {2, 0, 2}, {2, 5, 0}, {1, 1, 1}, {1, 128, 1}, {2, 129, 1}})
      run<T>(*dense_exe, d, dense(batch, length, heads), r);
    for (const std::vector<int64_t>& n :
         std::vector<std::vector<int64_t>>{{}, {0}, {0, 0, 0}, {1}, {1, 1, 1, 1}, {0, 127, 0, 1, 128, 129, 0}})
      run<T>(*jagged_exe, j, jagged(n, 2, r), r);
  }
};

TEST_P(Attention, Head64) { sweep<bf16>(64, false); }
TEST_P(Attention, Head64Causal) { sweep<bf16>(64, true); }
TEST_P(Attention, Head128) { sweep<bf16>(128, false); }
TEST_P(Attention, Head128Causal) { sweep<bf16>(128, true); }

/// Sequences whose queries, keys and values are all NaN give NaN, and their neighbours do not see it.
TEST_P(Attention, NothingOfASequenceReachesAnother) {
  for (const bool causal : {false, true}) {
    const AttentionOptions o{.head = 64, .causal = causal, .jagged = true};
    auto exe = compile(attention(config(o)));
    TLXJIT_MUST(exe);
    cases(4, [&](Random& r) {
      AttentionCall<bf16> call(o, jagged({r.integer(1, 200), r.integer(1, 200), r.integer(1, 200)}, 2, r), r);
      call.fill(r);
      for (int64_t i = 0; i < call.batch().queries[1]; ++i)
        for (int64_t h = 0; h < 2; ++h)
          for (int64_t d = 0; d < 64; ++d) call.q(1, i, h, d) = call.k(1, i, h, d) = call.v(1, i, h, d) = bf16(NAN);
      TLXJIT_MUST(call.launch(*exe, device()));
      for (const size_t b : {size_t{0}, size_t{1}, size_t{2}}) {
        const reference::Mask mask = call.mask(b);
        for (int64_t i = 0; i < call.batch().queries[b]; ++i)
          for (int64_t h = 0; h < 2; ++h) {
            if (b == 1)
              ASSERT_TRUE(std::isnan(call.out(b, i, h, 0)) && std::isnan(call.lse(b, i, h)));
            else if (i % 7 == 0)
              ASSERT_NO_FATAL_FAILURE(call.compare(mask, b, i, h));
            else
              ASSERT_FALSE(std::isnan(call.out(b, i, h, 0)) || std::isnan(call.lse(b, i, h)));
          }
      }
    });
  }
}

#ifndef TLXJIT_TEST_GPU
class AttentionF32 : public Attention {};

TEST_P(AttentionF32, Head64) { sweep<float>(64, false); }
TEST_P(AttentionF32, Head128Causal) { sweep<float>(128, true); }
INSTANTIATE_TEST_SUITE_P(On, AttentionF32, f32_places, place_name);
#endif

INSTANTIATE_TEST_SUITE_P(On, Attention, places, place_name);

}  // namespace kernels_test
