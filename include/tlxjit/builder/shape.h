// include/tlxjit/builder/shape.h — tiles with their elements rearranged. No arithmetic; any element type.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <initializer_list>
#include <utility>

#include "tlxjit/builder/tile.h"

TLXJIT_NAMESPACE_BEGIN

/// The same elements in row-major order, in another shape.
TLXJIT_API Tile reshape(Operand x, Shape shape);
/// Axis i of the result is axis order[i] of x.
TLXJIT_API Tile transpose(Operand x, std::initializer_list<int64_t> order);
/// The two axes of a tile of rank 2 exchanged.
TLXJIT_API Tile transpose(Operand x);
/// The box of `shape` that begins at `offsets`.
TLXJIT_API Tile slice(Operand x, std::initializer_list<int64_t> offsets, Shape shape);
/// Tiles behind one another along `axis`.
TLXJIT_API Tile concat(std::initializer_list<Operand> xs, int axis);
/// a and b along a new last axis of extent 2; `split` is the inverse.
TLXJIT_API Tile join(Operand a, Operand b);
TLXJIT_API std::pair<Tile, Tile> split(Operand x);

TLXJIT_NAMESPACE_END
