// tests/reference/tolerance.h — how far a result may be from the exact one.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cmath>

namespace reference {

/// Half a unit in the last place, relative to the number.
inline constexpr double roundoff_f32 = 0x1p-24, roundoff_f16 = 0x1p-11, roundoff_tf32 = 0x1p-11, roundoff_bf16 = 0x1p-8;
/// Half the least number of f16.
inline constexpr double underflow_f16 = 0x1p-25;

/// A sum of `terms` products, accumulated in f32 and rounded once to a type of roundoff `out`; the factors carry a
/// relative error `factors` of their own. `exact` is the result and `magnitude` the sum of the products' absolute
/// values. f32 sums are allowed their worst case, and four times it, since hardware may truncate. `least` is an error
/// that does not shrink with the numbers: of types whose subnormals are met, half the least one times what it scales.
inline double tolerance(double exact, double magnitude, double terms, double out, double factors = 0,
                        double least = 0) {
  return out * std::abs(exact) + (factors + 4 * terms * roundoff_f32) * magnitude + least + 1e-30;
}

/// Whether a result is as near the exact one as allowed. An infinity agrees with itself alone; a NaN with nothing,
/// unless `nan` says that two of them agree.
inline bool agrees(double is, double exact, double allowed, bool nan = false) {
  if (std::isnan(is) || std::isnan(exact)) return nan && std::isnan(is) && std::isnan(exact);
  if (std::isinf(is) || std::isinf(exact)) return is == exact;
  return std::abs(is - exact) <= allowed;
}

}  // namespace reference
