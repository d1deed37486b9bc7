// samples/matmul_persistent/kernel.cpp — D = silu(A · Bᵀ): as many programs as run at once, each over many tiles; a
// task of its own applies the activation to one tile while the next is multiplied.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "samples/common/kernels.h"

namespace samples {

using namespace tlxjit;

Kernel matmul_persistent(const MatmulConfig& c) {
  Kernel k{"matmul_persistent"};
  auto [m, n, kk] = k.dims("M", "N", "K");
  auto a = k.tensor<bf16>("a", {m, kk});
  auto b = k.tensor<bf16>("b", {n, kk});
  auto d = k.tensor<bf16>("d", {m, n});

  auto slices = k.ring(c.stages).slot<bf16>("a", {c.bm, c.bk}).slot<bf16>("b", {c.bn, c.bk});
  auto sums = k.ring(2).slot<float>("x", {c.bm, c.bn});  // filled from tiles, read as tiles
  auto tiles = k.persistent(ceil_div(m, c.bm), ceil_div(n, c.bn), {.group = 8});
  auto steps = ceil_div(kk, c.bk);

  k.task(Producer).warps(1).body([&] {
    tiles.each([&](Index i, Index j) {
      k.range(steps).each([&](Index s) {
        auto slot = slices.acquire();
        slot.load("a", a, {i * c.bm, s * c.bk});
        slot.load("b", b, {j * c.bn, s * c.bk});
      });
    });
  });
  k.task("multiply").warps(4).body([&](Task& t) {
    auto acc = t.accumulator<float>({c.bm, c.bn});
    tiles.each([&](Index, Index) {
      acc.clear();
      k.range(steps).each([&] {
        auto slot = slices.wait();
        acc.dot(slot["a"], slot["b"].t());
      });
      sums.acquire().store("x", acc.read());
    });
  });
  k.task("activate").warps(4).body([&] {
    tiles.each([&](Index i, Index j) {
      auto slot = sums.wait();
      const Tile x = slot["x"].load();
      d.store({i * c.bm, j * c.bn}, (x * rcp(1 + exp2(x * -1.4426950408889634))).to<bf16>());
    });
  });
  return k;
}

}  // namespace samples
