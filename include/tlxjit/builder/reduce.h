// include/tlxjit/builder/reduce.h — reductions and scans of tiles along an axis.
//
//     Tile row = sum(x * x, 1);                                              // [64, 781] → [64]
//     Tile most = reduce(x, 1, [](Tile a, Tile b) { return max(a, b); });    // any associative function
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <functional>
#include <initializer_list>
#include <vector>

#include "tlxjit/builder/tile.h"

TLXJIT_NAMESPACE_BEGIN

/// How elements are joined. Sums and products are of numbers: integers wrap, those of f16 and bf16 are rounded once,
/// from f32. Maxima and minima: a number wins over NaN. The last three are of integers and b1.
enum class Reduction { sum, prod, max, min, bit_and, bit_or, bit_xor };

struct ReduceOptions {
  /// Leaves each lane its share (sums and maxima of f32, of rank 2 and more), which `finish` joins. Until then a sum
  /// may be added to or subtracted from another or 0, and be scaled by a row value; a maximum may be joined by `max`
  /// with any, and row values be added or subtracted. The verifier refuses whatever else is done with one.
  bool partial = false;
};

/// The axis disappears; a tile of rank 1 gives a scalar. The order in which sums are taken is fixed per binary.
TLXJIT_API Tile reduce(Operand x, int axis, Reduction kind);
TLXJIT_API Tile sum(Operand x, int axis, ReduceOptions options = {});
TLXJIT_API Tile finish(Operand x);  ///< of a partial sum or maximum
TLXJIT_API Tile prod(Operand x, int axis);
TLXJIT_API Tile maximum(Operand x, int axis, ReduceOptions options = {});  ///< a number wins over NaN
TLXJIT_API Tile minimum(Operand x, int axis);                              ///< a number wins over NaN
TLXJIT_API Tile any(Operand x, int axis);                                  ///< of b1
TLXJIT_API Tile all(Operand x, int axis);                                  ///< of b1
/// Where the greatest (least) element stands, i32: the lowest index among equals. A number wins over NaN; 0 where all
/// are NaN.
TLXJIT_API Tile argmax(Operand x, int axis);
TLXJIT_API Tile argmin(Operand x, int axis);

/// Joins two elements, the first from earlier along the axis. It is called once, while the kernel is built, and sees
/// scalars; it may use scalars from outside, not tiles, and assign to none of them.
using Join = std::function<Tile(Tile, Tile)>;
/// The same for several tiles that are reduced together, say values and their indices.
using JoinMany = std::function<std::vector<Tile>(const std::vector<Tile>&, const std::vector<Tile>&)>;

/// Reduces by an associative function.
TLXJIT_API Tile reduce(Operand x, int axis, const Join& join);
TLXJIT_API std::vector<Tile> reduce(std::initializer_list<Operand> xs, int axis, const JoinMany& join);

struct ScanOptions {
  bool exclusive = false;  ///< of the elements before; where there are none: 0, 1, −∞, ∞ or their like
  bool reverse = false;    ///< from the last element to the first
};
/// What `reduce` gives of each prefix along the axis.
TLXJIT_API Tile scan(Operand x, int axis, Reduction kind, ScanOptions options = {});
TLXJIT_API Tile cumsum(Operand x, int axis, ScanOptions options = {});
TLXJIT_API Tile cumprod(Operand x, int axis, ScanOptions options = {});
/// By an associative function; never exclusive. Its first argument is what was met first.
TLXJIT_API Tile scan(Operand x, int axis, const Join& join, ScanOptions options = {});
TLXJIT_API std::vector<Tile> scan(std::initializer_list<Operand> xs, int axis, const JoinMany& join,
                                  ScanOptions options = {});

TLXJIT_NAMESPACE_END
