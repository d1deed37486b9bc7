// tests/kernels/order_kernels.h — kernels whose results hang on the order inside one instance of four warps.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "tlxjit/tlxjit.h"

namespace kernels_test {

using namespace tlxjit;

inline constexpr int64_t order_edge = 64;  // of every tile

/// A tile of one number, spread over the threads as sums are.
inline Tile filled(Task& t, Accumulator& sums, Operand number) {
  sums.update([&](Tile) { return t.full<float>({order_edge, order_edge}, number); });
  return sums.read();
}

/// D = (A · Bᵀ, as bf16) · Cᵀ for A of 64·n rows, B and C of 64 × 64: all threads store, then a dot reads; `fenced`:
/// the author orders it too.
inline Kernel stores_then_dots(bool fenced) {
  constexpr int64_t e = order_edge;
  Kernel k{"stores_then_dots"};
  auto m = k.dim("M");
  auto a = k.tensor<bf16>("a", {m, e}), b = k.tensor<bf16>("b", {e, e}), c = k.tensor<bf16>("c", {e, e});
  auto d = k.tensor<float>("d", {m, e});
  auto as = k.buffer<bf16>(1, {e, e}), bs = k.buffer<bf16>(1, {e, e}), cs = k.buffer<bf16>(1, {e, e});
  auto ps = k.buffer<bf16>(1, {e, e});
  auto full = k.barrier(1, 1, "full"), next = k.barrier(1, 1, "next");
  k.grid(1);
  k.task("all").warps(4).body([&](Task& t) {
    auto p = t.accumulator<float>({e, e}), sum = t.accumulator<float>({e, e});
    full[0].expect(bs.bytes() + cs.bytes());
    full[0].load(bs[0], b, {0, 0});
    full[0].load(cs[0], c, {0, 0});
    full[0].wait(0);
    k.range(ceil_div(m, e)).each([&](Index i) {
      next[0].expect(as.bytes());
      next[0].load(as[0], a, {i * e, 0});
      next[0].wait(i % 2);
      p.clear();
      p.dot(as[0], bs[0].t());
      ps[0].store(p.read().to<bf16>());
      if (fenced) {
        k.fence();
        t.sync();
      }
      sum.clear();
      sum.dot(ps[0], cs[0].t());
      d.store({i * e, 0}, sum.read());
    });
  });
  return k;
}

/// y[64·i … + 64, *] = i·i + start, by way of a word of shared memory that one thread writes and all read, and which
/// decides what they do next.
inline Kernel puts_then_gets() {
  constexpr int64_t e = order_edge;
  Kernel k{"puts_then_gets"};
  auto m = k.dim("M");
  auto start = k.scalar<int32_t>("start");
  auto y = k.tensor<float>("y", {m, e});
  auto word = k.buffer<int32_t>(1, {4});
  k.grid(1);
  k.task("all").warps(4).body([&](Task& t) {
    auto sums = t.accumulator<float>({e, e});
    word.put(0, 0, start);
    k.range(ceil_div(m, e)).each([&](Index i) {
      const Scalar former = word.get(0, 0);
      // (i + 1)² = i² + 2i + 1
      word.put(0, 0, former + i * 2 + 1);
      k.when(word.get(0, 0) == former + i * 2 + 1, [&] { y.store({i * e, 0}, filled(t, sums, former.to<float>())); });
    });
  });
  return k;
}

/// y[64·i … + 64, *] = i: all threads store to the one slot that a copy has just read.
inline Kernel copies_then_stores(bool fenced) {
  constexpr int64_t e = order_edge;
  Kernel k{"copies_then_stores"};
  auto m = k.dim("M");
  auto y = k.tensor<bf16>("y", {m, e});
  auto slot = k.buffer<bf16>(1, {e, e});
  k.grid(1);
  k.task("all").warps(4).body([&](Task& t) {
    auto sums = t.accumulator<float>({e, e});
    k.range(ceil_div(m, e)).each([&](Index i) {
      slot[0].store(filled(t, sums, i.to<float>()).to<bf16>());
      if (fenced) k.fence();
      slot[0].copy_to(y, {i * e, 0});
      k.copies_drain(0, true);
    });
  });
  return k;
}

/// y[64·i … + 64, *] = i, each after `turn(i)`.
template <class Turn>
void store_in_turn(Kernel& k, Task& t, Index m, const Tensor& y, Turn&& turn) {
  auto sums = t.accumulator<float>({order_edge, order_edge});
  k.range(ceil_div(m, order_edge)).each([&](Index i) {
    turn(i);
    y.store({i * order_edge, 0}, filled(t, sums, i.to<float>()));
  });
}

/// y[64·i … + 64, *] = i, each after a task of four warps that has nothing else to do has said so, warp by warp.
inline Kernel arrivals_of_warps() {
  constexpr int64_t e = order_edge;
  Kernel k{"arrivals_of_warps"};
  auto m = k.dim("M");
  auto y = k.tensor<float>("y", {m, e});
  auto asked = k.barrier(1, 1, "asked"), said = k.barrier(1, 4, "said");
  k.grid(1);
  k.task("asks").warps(4).body([&](Task& t) {
    store_in_turn(k, t, m, y, [&](Index i) {
      asked[0].arrive();
      said[0].wait(i % 2);
    });
  });
  k.task("says").warps(4).body([&] {
    k.range(ceil_div(m, e)).each([&](Index i) {
      asked[0].wait(i % 2);
      said[0].arrive({.per = Arrive::per_warp});
    });
  });
  return k;
}

/// y and z[64·i … + 64, *] = i, by two tasks of four warps that only take turns with the one slot of a ring.
inline Kernel slots_that_nobody_reads() {
  constexpr int64_t e = order_edge;
  Kernel k{"slots_that_nobody_reads"};
  auto m = k.dim("M");
  auto x = k.tensor<bf16>("x", {m, e});
  auto y = k.tensor<float>("y", {m, e}), z = k.tensor<float>("z", {m, e});
  auto ring = k.ring(1).slot<bf16>("x", {e, e});
  k.grid(1);
  k.task("fills").warps(4).body(
      [&](Task& t) { store_in_turn(k, t, m, y, [&](Index i) { ring.acquire().load("x", x, {i * e, 0}); }); });
  k.task("drains").warps(4).body([&](Task& t) { store_in_turn(k, t, m, z, [&](Index) { ring.wait(); }); });
  return k;
}

}  // namespace kernels_test
