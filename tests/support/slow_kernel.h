// tests/support/slow_kernel.h — a kernel whose compile is under way for long, however late a thread looks at it.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "tlxjit/tlxjit.h"

namespace tlxjit {

/// Takes LLVM seconds.
inline Kernel slow() {
  Kernel k{"slow"};
  auto x = k.tensor<float>("x", {1});
  k.grid(1);
  k.task("main").warps(1).body([&](Task& t) {
    Tile row = t.iota({1, 32}, 1).to<float>();
    Tile sums = t.full<float>({1}, 0.0f);
    for (int i = 0; i < 1500; ++i) {
      sums = sums + sum(row, 1);
      row = row + 1.0f;
    }
    x.store({0}, sums);
  });
  return k;
}

}  // namespace tlxjit
