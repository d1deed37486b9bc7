// include/tlxjit/builder/accumulator.h — sums of dots.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <functional>
#include <memory>

#include "tlxjit/builder/buffer.h"

TLXJIT_NAMESPACE_BEGIN

/// How exactly a dot of f32 or f8 multiplies and adds; docs/reference/numbers.md has the rules. Other types have one
/// way.
enum class DotPrecision {
  automatic,  ///< ieee of f32, full of f8
  ieee,       ///< f32: products and sums of f32
  tf32x3,     ///< f32: three products of tf32, all but as exact
  tf32,       ///< f32: operands are rounded to tf32, 10 bits of mantissa
  full,       ///< f8: sums of at most 128 products are added up in f32
  fast,       ///< f8: sums as exact as the device adds fastest
};

/// Sums of dots, M × N of f32 or i32, with identity: one per declaration and instance. Cleared where it is declared.
class TLXJIT_API Accumulator {
 public:
  void clear(std::source_location at = std::source_location::current()) const;
  /// acc += a · b, asynchronous; the waits are placed by the lowering. a is M × K and b K × N, of one element type, or
  /// each of one of the two of f8: i8 and u8 sum in i32, floats in f32.
  void dot(const View& a, const View& b, DotPrecision precision = DotPrecision::automatic,
           std::source_location at = std::source_location::current()) const;
  void dot(const Tile& a, const View& b, DotPrecision precision = DotPrecision::automatic,
           std::source_location at = std::source_location::current()) const;
  /// The sums as a tile, M × N. Waits for the dots on them.
  Tile read(std::source_location at = std::source_location::current()) const;
  /// Runs `fn(column, slab)` for slabs of `width` columns, the M × width sums from that column on; unrolled while the
  /// kernel is built. A fault unless `width` divides N.
  void slabs(int64_t width, const std::function<void(Index, Tile)>& fn,
             std::source_location at = std::source_location::current()) const;
  /// acc = fn(acc); `fn` gives a tile of the same type.
  void update(const std::function<Tile(Tile)>& fn, std::source_location at = std::source_location::current()) const;

 private:
  friend class Task;
  void dot(Value a, Value b, DotPrecision precision, std::source_location at) const;
  std::shared_ptr<BuilderState> state_;
  Value value_ = no_value;
};

TLXJIT_NAMESPACE_END
