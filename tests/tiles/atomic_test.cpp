// tests/tiles/atomic_test.cpp — atomics on tensors, from many programs at once.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <algorithm>
#include <limits>

#include "tests/tiles/fixture.h"

namespace tiles_test {
namespace {

TEST(Atomics, BL_168_EachElementCountsOnce) {
  Data<Elem::i32> word({1});
  word[0] = 0;
  Kernel k{"count"};
  const Tensor tw = k.tensor<int32_t>("w", {1});
  k.grid(1);
  k.task("main").warps(4).body([&](Task& t) { (void)tw.atomic(Atomic::add, {0}, t.full<int32_t>({32}, 1)); });
  TLXJIT_MUST(run(k, {word}));
  EXPECT_EQ(word[0], 32);
}

TEST(Atomics, AScalarOneHappensOncePerInstance) {
  Data<Elem::i64> word({2}), former({2});
  word.data = {0, 0};
  Kernel k{"count"};
  const Tensor tw = k.tensor<int64_t>("w", {2}), tf = k.tensor<int64_t>("f", {2});
  k.grid(100);
  k.task("main").warps(4).replicas(2).body([&](Task& t) {
    (void)tw.atomic(Atomic::add, {0}, 1);
    // Outside: nothing happens.
    const Scalar none = tw.atomic(Atomic::add, {2}, 1);
    tf.store({t.replica()}, t.full<int64_t>({1}, none));
  });
  TLXJIT_MUST(run(k, {word, former}));
  EXPECT_EQ(word.data, (std::vector<int64_t>{200, 0}));
  EXPECT_EQ(former.data, (std::vector<int64_t>{0, 0}));
}

/// Every kind in turn from 64 programs of 37 elements each; the words end the same in any order.
template <Elem E>
void kinds_test(Random& random) {
  using T = Host<E>;
  constexpr bool real = is_real<E>;
  const int64_t programs = 64, n = 37, words = 8;
  Data<E> values({programs, n}), add({words}), least({words}), most({words}), all({words}), any({words}), odd({words});
  Data<Elem::i32> at({programs, n});
  for (T& v : values.data) v = static_cast<T>(random.integer(is_unsigned_int(E) ? 0 : -1000, 1000));
  for (int32_t& i : at.data) i = static_cast<int32_t>(random.integer(-1, words));  // some outside
  const T low = std::numeric_limits<T>::lowest(), high = std::numeric_limits<T>::max();
  for (int64_t w = 0; w < words; ++w)
    add[w] = 0, least[w] = high, most[w] = low, all[w] = T(255), any[w] = 0, odd[w] = 0;
  auto want_add = add.data, want_least = least.data, want_most = most.data, want_all = all.data, want_any = any.data,
       want_odd = odd.data;

  Kernel k{"atomics"};
  const Tensor tv = k.tensor(E, "v", {programs, n}), ti = k.tensor<int32_t>("i", {programs, n});
  const Tensor ta = k.tensor(E, "add", {words}), tl = k.tensor(E, "least", {words}), tm = k.tensor(E, "most", {words}),
               t1 = k.tensor(E, "all", {words}), t2 = k.tensor(E, "any", {words}), t3 = k.tensor(E, "odd", {words});
  k.grid(static_cast<int>(programs));
  k.task("main").body([&](Task& t) {
    const Index p = k.program_id();
    const Tile v = reshape(tv.load_tile({p, 0}, {1, n}), {n}), i = reshape(ti.load_tile({p, 0}, {1, n}), {n});
    const Tile mask = t.iota({n}, 0) != 5;
    (void)ta.atomic(Atomic::add, {i}, v, {.mask = mask});
    (void)tl.atomic(Atomic::min, {i}, v, {.mask = mask, .order = Order::acquire});
    (void)tm.atomic(Atomic::max, {i}, v, {.mask = mask, .order = Order::release});
    if (real) return;
    (void)t1.atomic(Atomic::bit_and, {i}, v, {.mask = mask, .order = Order::acq_rel});
    (void)t2.atomic(Atomic::bit_or, {i}, v, {.mask = mask});
    (void)t3.atomic(Atomic::bit_xor, {i}, v, {.mask = mask});
  });
  TLXJIT_MUST(run(k, {values, at, add, least, most, all, any, odd}));
  for (int64_t e = 0; e < programs * n; ++e) {
    const int32_t i = at[e];
    if (i < 0 || i >= words || e % n == 5) continue;
    const auto w = static_cast<size_t>(i);
    const T v = values[e];
    want_add[w] = static_cast<T>(want_add[w] + v);
    want_least[w] = std::min(want_least[w], v);
    want_most[w] = std::max(want_most[w], v);
    if constexpr (!real) want_all[w] &= v, want_any[w] |= v, want_odd[w] ^= v;
  }
  EXPECT_EQ(add.data, want_add);
  EXPECT_EQ(least.data, want_least);
  EXPECT_EQ(most.data, want_most);
  EXPECT_EQ(all.data, want_all);
  EXPECT_EQ(any.data, want_any);
  EXPECT_EQ(odd.data, want_odd);
}

TEST(Atomics, KindsAndTypes) {
  draws(2, [](Random& random) {
    kinds_test<Elem::i32>(random);
    kinds_test<Elem::u32>(random);
    kinds_test<Elem::i64>(random);
    kinds_test<Elem::u64>(random);
    kinds_test<Elem::f32>(random);  // whole numbers: any order gives the same sum
    kinds_test<Elem::f64>(random);
  });
}

// Every former value of a counter is handed out once, and every token is exchanged for one other.
TEST(Atomics, FormerValues) {
  const int64_t programs = 50, n = 16;
  Data<Elem::i32> word({2}), seen({programs, n}), tokens({programs, n});
  word.data = {0, -1};
  Kernel k{"former"};
  const Tensor tw = k.tensor<int32_t>("w", {2}), ts = k.tensor<int32_t>("s", {programs, n}),
               tt = k.tensor<int32_t>("t", {programs, n});
  k.grid(static_cast<int>(programs));
  k.task("main").body([&](Task& t) {
    const Index p = k.program_id();
    const Tile mine = t.iota({n}, 0) + p * static_cast<int>(n);
    ts.store({p, 0}, reshape(tw.atomic(Atomic::add, {0}, t.full<int32_t>({n}, 1)), {1, n}));
    tt.store({p, 0}, reshape(tw.atomic(Atomic::exchange, {1}, mine), {1, n}));
  });
  TLXJIT_MUST(run(k, {word, seen, tokens}));
  std::vector<int32_t> order = seen.data, out = tokens.data;
  out.push_back(word[1]);
  std::sort(order.begin(), order.end());
  std::sort(out.begin(), out.end());
  for (size_t i = 0; i < order.size(); ++i) ASSERT_EQ(order[i], static_cast<int32_t>(i));
  for (size_t i = 0; i < out.size(); ++i) ASSERT_EQ(out[i], static_cast<int32_t>(i) - 1);
}

TEST(Atomics, CompareExchangeMakesALock) {
  // A product under a spin-free protocol: each program tries until its swap succeeds.
  Data<Elem::u32> word({1});
  word[0] = 1;
  const int programs = 200;
  Kernel k{"cas"};
  const Tensor tw = k.tensor<uint32_t>("w", {1});
  k.grid(programs);
  k.task("main").body([&](Task&) {
    Scalar expected = tw.atomic(Atomic::add, {0}, 0);
    Scalar found = tw.compare_exchange({0}, expected, expected * 3u + 1u, {.order = Order::acq_rel});
    k.loop([&] { return found != expected; },
           [&] {
             expected = found;
             found = tw.compare_exchange({0}, expected, expected * 3u + 1u, {.order = Order::acq_rel});
           });
  });
  TLXJIT_MUST(run(k, {word}));
  uint32_t want = 1;
  for (int i = 0; i < programs; ++i) want = want * 3 + 1;
  EXPECT_EQ(word[0], want);
}

}  // namespace
}  // namespace tiles_test
