// tests/reference/gemm.h — one element of a matrix product in float64.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cmath>
#include <cstdint>

namespace reference {

struct Sum {
  double value = 0;
  double magnitude = 0;  ///< sum of absolute values
};

/// Σ a(i)·b(i), i < k.
template <class A, class B>
Sum dot(int64_t k, A&& a, B&& b) {
  Sum sum;
  for (int64_t i = 0; i < k; ++i) {
    const double p = static_cast<double>(a(i)) * static_cast<double>(b(i));
    sum.value += p;
    sum.magnitude += std::abs(p);
  }
  return sum;
}

}  // namespace reference
