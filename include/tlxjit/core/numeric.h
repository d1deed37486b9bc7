// include/tlxjit/core/numeric.h — 16-bit floating-point types for host data.
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

TLXJIT_NAMESPACE_END
