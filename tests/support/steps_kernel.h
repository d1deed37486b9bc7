// tests/support/steps_kernel.h — a small kernel that every back end has code for, GPUs included.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "tlxjit/tlxjit.h"

namespace tlxjit {

/// out[i] = 3 · (i / 64) + n for i < N.
inline Kernel steps(const Signature&, const Config&) {
  Kernel k{"steps"};
  const Index size = k.dim("N");
  const Tensor out = k.tensor<float>("out", {size});
  const Scalar n = k.scalar<int32_t>("n");
  const Tiles tiles = k.tiles(ceil_div(size, 64), 1);
  k.task("main").body([&](Task& t) {
    tiles.each(
        [&](Index i, Index) { out.store({i * 64}, maximum(t.full<float>({64, 8}, (i * 3 + n).to<float>()), 1)); });
  });
  return k;
}

}  // namespace tlxjit
