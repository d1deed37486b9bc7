// samples/matmul_ring/kernel.cpp — D = A · Bᵀ: one task loads, another multiplies; a ring of slots between them.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "samples/common/kernels.h"

namespace samples {

using namespace tlxjit;

Kernel matmul_ring(const MatmulConfig& c) {
  Kernel k{"matmul_ring"};
  auto [m, n, kk] = k.dims("M", "N", "K");
  auto a = k.tensor<bf16>("a", {m, kk});
  auto b = k.tensor<bf16>("b", {n, kk});
  auto d = k.tensor<bf16>("d", {m, n});

  auto ring = k.ring(c.stages).slot<bf16>("a", {c.bm, c.bk}).slot<bf16>("b", {c.bn, c.bk});
  auto tiles = k.tiles(ceil_div(m, c.bm), ceil_div(n, c.bn));
  auto steps = ceil_div(kk, c.bk);

  k.task(Producer).warps(1).registers(40).body([&] {
    tiles.each([&](Index i, Index j) {
      k.range(steps).each([&](Index s) {
        auto slot = ring.acquire();  // waits until the slot is free
        slot.load("a", a, {i * c.bm, s * c.bk});
        slot.load("b", b, {j * c.bn, s * c.bk});
      });
    });
  });
  k.task(Consumer).warps(4).registers(232).body([&](Task& t) {
    auto acc = t.accumulator<float>({c.bm, c.bn});
    tiles.each([&](Index i, Index j) {
      k.range(steps).each([&] {
        auto slot = ring.wait();  // waits until both fields are full
        acc.dot(slot["a"], slot["b"].t());
      });
      d.store({i * c.bm, j * c.bn}, acc.read().to<bf16>());
    });
  });
  return k;
}

}  // namespace samples
