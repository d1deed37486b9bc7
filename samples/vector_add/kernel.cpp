// samples/vector_add/kernel.cpp — z = x + y: a program per piece, a ring with one slot that brings the pieces.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "samples/common/kernels.h"

namespace samples {

using namespace tlxjit;

Kernel vector_add() {
  constexpr int piece = 1024;
  Kernel k{"vector_add"};
  auto n = k.dim("N");
  auto x = k.tensor<float>("x", {n});
  auto y = k.tensor<float>("y", {n});
  auto z = k.tensor<float>("z", {n});
  auto ring = k.ring(1).slot<float>("x", {piece}).slot<float>("y", {piece});
  k.grid(ceil_div(n, piece));
  k.task("add").warps(4).body([&] {
    const Index at = k.program_id() * piece;
    auto empty = ring.acquire();
    empty.load("x", x, {at});  // what lies behind the end reads as 0 …
    empty.load("y", y, {at});
    auto slot = ring.wait();
    z.store({at}, slot["x"].load() + slot["y"].load());  // … and is not written
  });
  return k;
}

}  // namespace samples
