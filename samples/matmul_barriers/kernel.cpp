// samples/matmul_barriers/kernel.cpp — what matmul_ring does, with the buffers, barriers and phases written by hand.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "samples/common/kernels.h"

namespace samples {

using namespace tlxjit;

Kernel matmul_barriers(const MatmulConfig& c) {
  Kernel k{"matmul_barriers"};
  auto [m, n, kk] = k.dims("M", "N", "K");
  auto a = k.tensor<bf16>("a", {m, kk});
  auto b = k.tensor<bf16>("b", {n, kk});
  auto d = k.tensor<bf16>("d", {m, n});

  auto a_slots = k.buffer<bf16>(c.stages, {c.bm, c.bk});
  auto b_slots = k.buffer<bf16>(c.stages, {c.bn, c.bk});
  auto full = k.barrier(c.stages, 1, "full");  // one arrival, of the producer, and the bytes of its copies
  auto free = k.barrier(c.stages, 1, "free");  // one arrival, of the consumer
  auto tiles = k.tiles(ceil_div(m, c.bm), ceil_div(n, c.bn));
  auto steps = ceil_div(kk, c.bk);

  k.task(Producer).warps(1).registers(40).body([&] {
    auto c0 = k.cursor(c.stages);  // slot and phase
    tiles.each([&](Index i, Index j) {
      k.range(steps).each([&](Index s) {
        free[c0.slot].wait(c0.former());  // at first every slot is free
        full[c0.slot].expect(a_slots.bytes() + b_slots.bytes());
        full[c0.slot].load(a_slots[c0.slot], a, {i * c.bm, s * c.bk});
        full[c0.slot].load(b_slots[c0.slot], b, {j * c.bn, s * c.bk});
        c0.next();
      });
    });
  });
  k.task(Consumer).warps(4).registers(232).body([&](Task& t) {
    auto acc = t.accumulator<float>({c.bm, c.bn});
    auto c1 = k.cursor(c.stages);
    tiles.each([&](Index i, Index j) {
      k.range(steps).each([&] {
        full[c1.slot].wait(c1.phase);
        acc.dot(a_slots[c1.slot], b_slots[c1.slot].t());
        free[c1.slot].arrive();  // an arrival comes after what this task did before: the dot has read the slot
        c1.next();
      });
      d.store({i * c.bm, j * c.bn}, acc.read().to<bf16>());
    });
  });
  return k;
}

}  // namespace samples
