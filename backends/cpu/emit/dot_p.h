// backends/cpu/emit/dot_p.h — how a dot is cut into register tiles, and the packing of its operands.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "backends/cpu/emit/emitter_p.h"

TLXJIT_NAMESPACE_BEGIN
namespace cpu {

/// Operands are packed to f32. `b` becomes panels of `width` columns, one after the other; the last is as narrow as
/// vectors allow, filled up with zeros. In a panel, row k has its columns side by side.
struct DotShape {
  int64_t rows, width;  // of the register tile
  unsigned lanes;       // of one vector; width is two of them

  explicit DotShape(int vector_bits);
  /// Columns of a panel for `columns` ≤ width of `b`.
  int64_t padded(int64_t columns) const { return (columns + lanes - 1) / lanes * lanes; }
};

/// An operand, and what of its elements is multiplied: all, or of f32 what tf32 holds, or the rest, in tf32 too.
struct Factor : View {
  enum Share : uint8_t { all, tf32, rest } share = all;
};

/// `count` ≥ 1 elements in the first lanes, which are read or written, and no others.
Node load_part(Elements& e, Node at, Elem elem, int64_t count, unsigned lanes);
void store_part(Elements& e, Node value, Node at, Elem elem, int64_t count);

/// Converts `a` to f32 rows [m][k].
void pack_rows(Elements& e, const Factor& a, Node to);
/// Converts `b` [k, n] to panels.
void pack_panels(Elements& e, const DotShape& s, const Factor& b, Node to);

}  // namespace cpu
TLXJIT_NAMESPACE_END
