// samples/matmul_tiles/kernel.cpp — D = A · Bᵀ in one task: it fills a ring of slices ahead of itself and drains it.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "samples/common/kernels.h"

namespace samples {

using namespace tlxjit;

Kernel matmul_tiles(const MatmulConfig& c) {
  Kernel k{"matmul_tiles"};
  auto [m, n, kk] = k.dims("M", "N", "K");
  auto a = k.tensor<bf16>("a", {m, kk});
  auto b = k.tensor<bf16>("b", {n, kk});
  auto d = k.tensor<bf16>("d", {m, n});

  auto ring = k.ring(c.stages).slot<bf16>("a", {c.bm, c.bk}).slot<bf16>("b", {c.bn, c.bk});
  auto tiles = k.tiles(ceil_div(m, c.bm), ceil_div(n, c.bn));  // a program for each
  auto steps = ceil_div(kk, c.bk);
  const int ahead = c.stages - 1;

  k.task("matmul").warps(4).body([&](Task& t) {
    auto acc = t.accumulator<float>({c.bm, c.bn});
    tiles.each([&](Index i, Index j) {
      auto load = [&](Index s) {
        auto slot = ring.acquire();
        slot.load("a", a, {i * c.bm, s * c.bk});
        slot.load("b", b, {j * c.bn, s * c.bk});
      };
      k.range(min(steps, ahead)).each([&](Index s) { load(s); });
      k.range(steps).each([&](Index s) {
        k.when(s + ahead < steps, [&] { load(s + ahead); });  // arrives while this slice is multiplied
        auto slot = ring.wait();
        acc.dot(slot["a"], slot["b"].t());
      });
      d.store({i * c.bm, j * c.bn}, acc.read().to<bf16>());
    });
  });
  return k;
}

}  // namespace samples
