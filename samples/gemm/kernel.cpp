// samples/gemm/kernel.cpp — D = A · Bᵀ as fast as it goes: two consumers, a persistent schedule, stores in slabs.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "samples/common/kernels.h"

namespace samples {

using namespace tlxjit;

Kernel gemm() {
  Kernel k{"gemm"};
  auto [m, n, kk] = k.dims("M", "N", "K");
  auto a = k.tensor<bf16>("a", {m, kk});
  auto b = k.tensor<bf16>("b", {n, kk});
  auto d = k.tensor<bf16>("d", {m, n});

  auto ring = k.ring(4).slot<bf16>("a", {128, 64}).slot<bf16>("b", {256, 64});
  auto tiles = k.persistent(ceil_div(m, 128), ceil_div(n, 256), {.group = 16});
  auto steps = ceil_div(kk, 64);

  k.task(Producer).warps(1).registers(40).body([&] {
    tiles.each([&](Index i, Index j) {
      k.range(steps).each([&](Index s) {
        auto slot = ring.acquire();            // waits until the slot is free
        slot.load("a", a, {i * 128, s * 64});  // asynchronous; completes on the slot
        slot.load("b", b, {j * 256, s * 64});
      });
    });
  });
  k.task(Consumer).warps(4).replicas(2).registers(232).body([&](Task& t) {
    auto acc = t.accumulator<float>({64, 256});
    tiles.each([&](Index i, Index j) {
      acc.clear();
      k.range(steps).each([&] {
        auto slot = ring.wait();
        acc.dot(slot["a"].part(t), slot["b"].t());  // the slot is released once the dots that read it are done
      });
      acc.slabs(64, [&](Index col, Tile x) { d.store({i * 128 + t.offset(128), j * 256 + col}, x.to<bf16>()); });
    });
  });
  return k;
}

}  // namespace samples
