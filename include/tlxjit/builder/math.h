// include/tlxjit/builder/math.h — conversions and mathematical functions of tiles and scalars.
//
//     Tile p = exp2(x * scale - m.expand(1));
//     Tile q = cast<f8e4m3>(p, {.rounding = Rounding::towards_zero});
//
// What each does with NaN, infinities and numbers that its type cannot hold: docs/reference/numbers.md; how exact the
// functions are: the op table, docs/reference/ops.md. f16 and bf16 are computed in f32 and rounded once.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <optional>

#include "tlxjit/builder/tile.h"

TLXJIT_NAMESPACE_BEGIN

enum class Rounding { nearest_even, towards_zero };

struct CastOptions {
  Rounding rounding = Rounding::nearest_even;  ///< between floats
  /// Numbers that the type cannot hold become its largest or least finite one. Not given: for floats that become
  /// integers, f8 or f4.
  std::optional<bool> saturate = {};
};

/// Converts to another element type.
TLXJIT_API Tile cast(Operand x, Elem to, CastOptions options = {});
template <Element T>
Tile cast(Operand x, CastOptions options = {}) {
  return cast(x, elem_of<T>, options);
}
/// Converts f32 to f16, bf16, f8 or f4; rounds up or down by chance, so that the mean stays. `random`: a u32 of random
/// bits per element.
TLXJIT_API Tile cast_stochastic(Operand x, Elem to, Operand random);
template <Element T>
Tile cast_stochastic(Operand x, Operand random) {
  return cast_stochastic(x, elem_of<T>, random);
}
/// The same bits as another element type of that size. f4e2m1 counts as a byte: its code in the low four bits.
TLXJIT_API Tile bitcast(Operand x, Elem to);
template <Element T>
Tile bitcast(Operand x) {
  return bitcast(x, elem_of<T>);
}

TLXJIT_API Tile exp(Operand a);
TLXJIT_API Tile exp2(Operand a);  ///< 2^a
TLXJIT_API Tile log(Operand a);   ///< natural
TLXJIT_API Tile log2(Operand a);
TLXJIT_API Tile rcp(Operand a);  ///< 1/a
TLXJIT_API Tile sqrt(Operand a);
TLXJIT_API Tile rsqrt(Operand a);  ///< 1/√a
TLXJIT_API Tile sin(Operand a);    ///< of radians
TLXJIT_API Tile cos(Operand a);
TLXJIT_API Tile tanh(Operand a);
TLXJIT_API Tile erf(Operand a);
TLXJIT_API Tile floor(Operand a);
TLXJIT_API Tile ceil(Operand a);
TLXJIT_API Tile trunc(Operand a);
TLXJIT_API Tile round(Operand a);                             ///< of two whole numbers as near, the even one
TLXJIT_API Tile pow(Operand a, Operand b);                    ///< a^b
TLXJIT_API Tile copysign(Operand a, Operand b);               ///< |a| with the sign of b
TLXJIT_API Tile fma(Operand a, Operand b, Operand c);         ///< a · b + c, rounded once
TLXJIT_API Tile sigmoid(Operand a);                           ///< 1 / (1 + e^−a)
TLXJIT_API Tile silu(Operand a);                              ///< a · sigmoid(a)
TLXJIT_API Tile clamp(Operand a, Operand low, Operand high);  ///< max(low, min(a, high)); NaN becomes high
TLXJIT_API Tile is_nan(Operand a);                            ///< b1
TLXJIT_API Tile is_inf(Operand a);                            ///< b1, of either sign

TLXJIT_API Tile min_nan(Operand a, Operand b);  ///< NaN wins, and −0 is less than 0
TLXJIT_API Tile max_nan(Operand a, Operand b);

TLXJIT_API Tile floor_div(Operand a, Operand b);  ///< ⌊a / b⌋ of integers
TLXJIT_API Tile floor_mod(Operand a, Operand b);  ///< goes with floor_div: has the sign of b
TLXJIT_API Tile mulhi(Operand a, Operand b);      ///< the upper half of the product's bits
TLXJIT_API Tile popcount(Operand a);
TLXJIT_API Tile clz(Operand a);  ///< zero bits above the highest set one

TLXJIT_NAMESPACE_END
