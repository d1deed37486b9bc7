// src/layout/fragment_p.h — the register fragments that tiles live in on GPUs with wgmma.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "tlxjit/ir/type.h"

TLXJIT_NAMESPACE_BEGIN

/// Warps that share a tile: every instance with tiles has as many.
inline constexpr int fragment_warps = 4;

/// The hand-written table of fragments. All of them belong to one warp group of 128 threads:
///
///     accumulator  [64·b, N]  element r = block·(N/2) + 4j + 2i + c of a thread is
///                             row 64·block + 16·warp + lane/4 + 8i, column 8j + 2(lane % 4) + c
///     row          [64·b]     element 2·block + i, row as above; the 4 lanes of a quad hold copies
///     column       [N]        element 2j + c, column as above; all lanes of one lane % 4 hold copies
///     uniform      any        one element that every thread holds (a splat that nothing anchors)
enum class FragmentKind : uint8_t { none, uniform, accumulator, row, column };

const char* to_string(FragmentKind kind);

/// Where an element of a thread lies: the part that does not depend on the thread.
/// The thread adds 16·warp + lane/4 to `row` and 2·(lane % 4) to `col`.
struct FragmentCoordinate {
  int row = 0;
  int col = 0;
};

/// One tile's fragment.
struct Fragment {
  FragmentKind kind = FragmentKind::none;
  Shape shape;

  /// False when the table has no fragment of this kind and shape.
  bool valid() const;
  /// Elements that one thread holds.
  int elements() const;
  /// Variables of one thread: one for each element; elements of 16 bits are packed in pairs c = 0, 1.
  int variables(Elem elem) const;
  FragmentCoordinate coordinate(int element) const;
  /// Extent along the rows and along the columns; 1 where the fragment does not have the axis.
  int rows() const;
  int cols() const;
};

/// The element of a row (column) fragment that lies in the same row (column) as `element` of `accumulator`.
int row_element(const Fragment& accumulator, int element);
int column_element(const Fragment& accumulator, int element);

/// Whether two elements of this type share a register.
inline bool is_packed(Elem elem) { return elem == Elem::bf16 || elem == Elem::f16; }

TLXJIT_NAMESPACE_END
