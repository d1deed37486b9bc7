// tests/unit/runtime/numbers_kernel.h — a small kernel whose result says which one ran.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <source_location>
#include <string>

#include "tlxjit/tlxjit.h"

namespace tlxjit::runtime_test {

/// x[p] = p + salt, one program an element.
inline Kernel numbers(int salt = 0, const std::string& name = "numbers", int warps = 1,
                      std::source_location at = std::source_location::current()) {
  Kernel k{name};
  const Index n = k.dim("N", 0, at);
  auto x = k.tensor<int32_t>("x", {n}, at);
  k.grid(n);
  k.task("main", at).warps(warps).body([&](Task& t) {
    const Index p = k.program_id();
    x.store({p}, t.full<int32_t>({1}, p + salt));
  });
  return k;
}

}  // namespace tlxjit::runtime_test
