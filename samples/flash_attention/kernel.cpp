// samples/flash_attention/kernel.cpp — attention of one head: keys and values pass block by block, and what was summed
// before is scaled whenever a larger score appears.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <limits>

#include "samples/common/kernels.h"

namespace samples {

using namespace tlxjit;

Kernel flash_attention(int head_size) {
  constexpr int bq = 64, bkv = 64;
  constexpr float minus_infinity = -std::numeric_limits<float>::infinity();
  Kernel k{"flash_attention"};
  auto n = k.dim("N");
  auto m = k.dim("M", 1);  // a key at least
  auto q = k.tensor<bf16>("q", {n, head_size});
  auto key = k.tensor<bf16>("k", {m, head_size});
  auto value = k.tensor<bf16>("v", {m, head_size});
  auto o = k.tensor<bf16>("o", {n, head_size});
  auto scale = k.scalar<float>("scale");

  auto queries = k.ring(1).slot<bf16>("q", {bq, head_size});
  auto pairs = k.ring(2).slot<bf16>("k", {bkv, head_size}).slot<bf16>("v", {bkv, head_size});
  auto tiles = k.tiles(ceil_div(n, bq), 1);
  auto blocks = ceil_div(m, bkv);

  k.task(Producer).warps(1).registers(40).body([&] {
    tiles.each([&](Index i, Index) {
      queries.acquire().load("q", q, {i * bq, 0});
      k.range(blocks).each([&](Index j) {
        auto slot = pairs.acquire();
        slot.load("k", key, {j * bkv, 0});
        slot.load("v", value, {j * bkv, 0});
      });
    });
  });
  k.task(Consumer).warps(4).registers(232).body([&](Task& t) {
    auto scores = t.accumulator<float>({bq, bkv});
    auto out = t.accumulator<float>({bq, head_size});
    tiles.each([&](Index i, Index) {
      auto query = queries.wait();
      Tile largest = t.full<float>({bq}, minus_infinity), total = t.full<float>({bq}, 0);
      out.clear();
      k.range(blocks).each([&](Index j) {
        auto pair = pairs.wait();
        scores.clear();
        scores.dot(query["q"], pair["k"].t());
        Tile s = scores.read() * (scale * 1.4426950408889634);
        k.when(j == blocks - 1, [&] {  // behind the last key there is none
          s = select(t.iota({bq, bkv}, 1) < m - j * bkv, s, minus_infinity);
        });
        const Tile now = max(largest, maximum(s, 1));
        const Tile p = exp2(s - now.expand(1)), shrink = exp2(largest - now);
        total = total * shrink + sum(p, 1);
        largest = now;
        out.update([&](Tile x) { return x * shrink.expand(1); });
        out.dot(p.to<bf16>(), pair["v"]);
      });
      o.store({i * bq, 0}, (out.read() * rcp(total).expand(1)).to<bf16>());
    });
  });
  return k;
}

}  // namespace samples
