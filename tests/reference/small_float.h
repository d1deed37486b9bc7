// tests/reference/small_float.h — floats of 16 bits and fewer by their definition: a table of values, and a search in
// it.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <vector>

namespace reference {

/// A sign bit, `exponent` and `mantissa` bits. Codes of one sign stand in the order of their values.
class SmallFloat {
 public:
  /// `specials`: how many of the last codes are no numbers; the first of them is inf where `has_inf`, the others NaN.
  SmallFloat(int exponent, int mantissa, uint32_t specials, bool has_inf)
      : sign_bit_(exponent + mantissa), has_inf_(has_inf) {
    const int bias = (1 << (exponent - 1)) - 1;
    const uint32_t codes = 1u << sign_bit_;
    for (uint32_t code = 0; code <= codes; ++code) {  // one more than there are: where an overflow begins
      const int e = static_cast<int>(code >> mantissa);
      const double fraction = std::ldexp(code & ((1u << mantissa) - 1), -mantissa);
      values_.push_back(e == 0 ? std::ldexp(fraction, 1 - bias) : std::ldexp(1 + fraction, e - bias));
    }
    largest_ = codes - specials - 1;
  }

  uint32_t largest() const { return largest_; }
  uint32_t sign() const { return 1u << sign_bit_; }
  bool has_inf() const { return has_inf_; }

  double value(uint32_t code) const {
    const uint32_t m = code & (sign() - 1);
    double x = values_[m];
    if (m > largest_) x = has_inf_ && m == largest_ + 1 ? INFINITY : NAN;
    return code & sign() ? -x : x;
  }

  /// The code of the greatest value at most |x|; `largest() + 1` or more beyond.
  uint32_t below(double x) const {
    x = std::abs(x);
    uint32_t low = 0, high = static_cast<uint32_t>(values_.size());  // values_[low] <= x < values_[high]
    while (high - low > 1) {
      const uint32_t middle = (low + high) / 2;
      (values_[middle] <= x ? low : high) = middle;
    }
    return low;
  }

  /// To nearest, ties to the even code; the magnitude's code, `largest() + 1` or more beyond.
  uint32_t nearest(double x) const {
    const uint32_t code = below(x);
    if (code + 1 >= values_.size()) return code;
    const double half = (values_[code] + values_[code + 1]) / 2;  // exact
    x = std::abs(x);
    return x > half || (x == half && code % 2) ? code + 1 : code;
  }

  /// The part of a unit by which |x| is beyond below(x).
  double rest(double x) const {
    const uint32_t code = below(x);
    return (std::abs(x) - values_[code]) / (values_[code + 1] - values_[code]);
  }

 private:
  int sign_bit_;
  bool has_inf_;
  uint32_t largest_;
  std::vector<double> values_;
};

inline const SmallFloat& small_float(const std::string& name) {
  static const std::map<std::string, SmallFloat> all = {
      {"f16", {5, 10, 1024, true}}, {"bf16", {8, 7, 128, true}},  {"f8e4m3", {4, 3, 1, false}},
      {"f8e5m2", {5, 2, 4, true}},  {"f4e2m1", {2, 1, 0, false}},
  };
  return all.at(name);
}

/// e8m0 has no sign and no zero.
inline double e8m0_value(uint32_t code) { return code == 255 ? NAN : std::ldexp(1.0, static_cast<int>(code) - 127); }

}  // namespace reference
