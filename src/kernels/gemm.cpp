// src/kernels/gemm.cpp — matrix product with a producer and replicated consumers.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tlxjit/kernels/gemm.h"

#include <limits>

TLXJIT_NAMESPACE_BEGIN

GemmConfig gemm_config(std::string_view target, Elem elem) {
  GemmConfig c;
  c.elem = elem;
  if (target.starts_with("sm_90")) return c;
  // One consumer whose sums and slots stay in the core's second-level cache. A panel of 32 columns, bk deep, stays in
  // the first, and what packing b costs is shared by bm rows.
  c.bm = 128, c.bn = 128, c.bk = 256, c.stages = 2, c.replicas = 1, c.slab = 128;
  return c;
}

Kernel gemm(const GemmConfig& c, std::source_location at) {
  Kernel k = Kernel::generated("gemm", at);
  if (c.bm < 1 || c.bn < 1 || c.bk < 1 || c.replicas < 1 || c.slab < 1 || c.bm % c.replicas || c.bn % c.slab) {
    k.fault("gemm: bm, bn, bk, replicas and slab are at least 1, replicas divides bm and slab divides bn");
    return k;
  }
  // Where the last tile ends is a number of 32 bits too.
  const auto dim = [&](const char* name, int tile) {
    return k.dim(name, 0, std::numeric_limits<int32_t>::max() - tile);
  };
  const Index m = dim("M", c.bm), n = dim("N", c.bn), kk = dim("K", c.bk);
  auto a = k.tensor(c.elem, "a", {m, kk});
  auto b = k.tensor(c.elem, "b", {n, kk});
  auto d = k.tensor(c.elem, "d", {m, n});

  auto ring = k.ring(c.stages).slot("a", c.elem, {c.bm, c.bk}).slot("b", c.elem, {c.bn, c.bk});
  auto tiles = k.persistent(ceil_div(m, c.bm), ceil_div(n, c.bn), {.group = c.group});
  auto steps = ceil_div(kk, c.bk);

  k.task(Producer).warps(1).registers(c.load_registers).body([&] {
    tiles.each([&](Index i, Index j) {
      k.range(steps).each([&](Index s) {
        auto slot = ring.acquire();
        slot.load("a", a, {i * c.bm, s * c.bk});
        slot.load("b", b, {j * c.bn, s * c.bk});
      });
    });
  });
  k.task(Consumer).warps(4).replicas(c.replicas).registers(c.mma_registers).body([&](Task& t) {
    auto acc = t.accumulator<float>({c.bm / c.replicas, c.bn});
    tiles.each([&](Index i, Index j) {
      acc.clear();
      k.range(steps).each([&] {
        auto slot = ring.wait();
        acc.dot(slot["a"].part(t), slot["b"].t());
      });
      acc.slabs(c.slab, [&](Index col, Tile x) { d.store({i * c.bm + t.offset(c.bm), j * c.bn + col}, x.to(c.elem)); });
    });
  });
  return k;
}

TLXJIT_NAMESPACE_END
