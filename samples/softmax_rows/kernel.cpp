// samples/softmax_rows/kernel.cpp — the softmax of each row: 16 rows at once, the next ones on their way meanwhile.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "samples/common/kernels.h"

namespace samples {

using namespace tlxjit;

Kernel softmax_rows(int columns) {
  constexpr int rows = 16;
  Kernel k{"softmax_rows"};
  auto n = k.dim("N");
  auto x = k.tensor<float>("x", {n, columns});
  auto y = k.tensor<float>("y", {n, columns});
  auto ring = k.ring(2).slot<float>("x", {rows, columns});
  auto tiles = k.persistent(ceil_div(n, rows), 1);
  k.task(Producer).warps(1).body(
      [&] { tiles.each([&](Index i, Index) { ring.acquire().load("x", x, {i * rows, 0}); }); });
  k.task(Consumer).warps(4).body([&] {
    tiles.each([&](Index i, Index) {
      const Tile row = ring.wait()["x"].load();
      const Tile p = exp2((row - maximum(row, 1).expand(1)) * 1.4426950408889634);  // e^x = 2^(x · log2 e)
      y.store({i * rows, 0}, p * rcp(sum(p, 1)).expand(1));
    });
  });
  return k;
}

}  // namespace samples
