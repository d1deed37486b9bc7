// include/tlxjit/core/numeric.h — 16-bit and 8-bit floating-point types for host data.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <bit>
#include <cstdint>

#include "tlxjit/core/export.h"

TLXJIT_NAMESPACE_BEGIN

/// bfloat16: the upper half of a float. Conversion rounds to nearest even and keeps NaN.
struct bf16 {
  uint16_t bits = 0;

  bf16() = default;
  bf16(float value) {
    const uint32_t u = std::bit_cast<uint32_t>(value);
    bits = (u & 0x7fffffffu) > 0x7f800000u ? static_cast<uint16_t>((u >> 16) | 0x40u)
                                           : static_cast<uint16_t>((u + 0x7fffu + ((u >> 16) & 1u)) >> 16);
  }
  operator float() const { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }
};

/// IEEE half. Conversion rounds to nearest even, overflows to infinity and keeps NaN.
struct f16 {
  uint16_t bits = 0;

  f16() = default;
  f16(float value) : bits(std::bit_cast<uint16_t>(static_cast<_Float16>(value))) {}
  operator float() const { return static_cast<float>(std::bit_cast<_Float16>(bits)); }
};

namespace detail {

/// The code of a float in 8 bits: to nearest even, beyond the largest finite number that number; NaN is 0x7f.
inline uint8_t to_f8(float value, int mantissa, int bias, uint32_t largest) {
  const uint32_t u = std::bit_cast<uint32_t>(value), m = u & 0x7fffffffu, sign = u >> 31 << 7;
  if (m > 0x7f800000u) return static_cast<uint8_t>(sign | 0x7fu);
  const int drop = 23 - mantissa;
  const auto least = static_cast<uint32_t>(128 - bias) << 23;  // the least normal number, as an f32
  uint32_t code;
  if (m < least) {
    // Adding 2^drop of the unit that all subnormal numbers have leaves their count in the low bits.
    const float unit = std::bit_cast<float>(least + (static_cast<uint32_t>(drop) << 23));
    code = std::bit_cast<uint32_t>(std::bit_cast<float>(m) + unit) - std::bit_cast<uint32_t>(unit);
  } else {
    const uint32_t half = (1u << (drop - 1)) - 1 + ((m >> drop) & 1u);
    code = ((m + half) >> drop) - (static_cast<uint32_t>(127 - bias) << mantissa);
  }
  return static_cast<uint8_t>(sign | (code < largest ? code : largest));
}

}  // namespace detail

/// 1 sign, 4 exponent and 3 mantissa bits; no infinity (e4m3fn). Conversion rounds to nearest even, saturates at ±448
/// and keeps NaN.
struct f8e4m3 {
  uint8_t bits = 0;

  f8e4m3() = default;
  f8e4m3(float value) : bits(detail::to_f8(value, 3, 7, 0x7e)) {}
  operator float() const {
    const uint32_t m = bits & 0x7fu, sign = static_cast<uint32_t>(bits) >> 7 << 31;
    const float magnitude = std::bit_cast<float>(m << 20) * 0x1p120f;
    return std::bit_cast<float>(sign | (m == 0x7fu ? 0x7fc00000u : std::bit_cast<uint32_t>(magnitude)));
  }
};

/// 1 sign, 5 exponent and 2 mantissa bits: the upper byte of an f16. Conversion rounds to nearest even, saturates at
/// ±57344 and keeps NaN.
struct f8e5m2 {
  uint8_t bits = 0;

  f8e5m2() = default;
  f8e5m2(float value) : bits(detail::to_f8(value, 2, 15, 0x7b)) {}
  operator float() const {
    return static_cast<float>(std::bit_cast<_Float16>(static_cast<uint16_t>(static_cast<unsigned>(bits) << 8)));
  }
};

TLXJIT_NAMESPACE_END
