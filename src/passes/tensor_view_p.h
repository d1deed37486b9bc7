// src/passes/tensor_view_p.h — a chain of tensor views as coordinates of the parameter.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "src/passes/op_builder_p.h"

TLXJIT_NAMESPACE_BEGIN

/// A tile's place in a tensor parameter.
struct TensorPlace {
  Value tensor = no_value;         ///< the parameter
  std::vector<Value> coordinates;  ///< one per axis of the parameter
  std::vector<int64_t> box;        ///< extents per axis, 1 on axes that were selected
  int ragged = -1;                 ///< the axis that a window ends on, or −1
  Value bound = no_value;          ///< along it, coordinates under this exist

  /// Coordinates and, where there is one, the bound: the trailing operands of copies and tile stores.
  std::vector<Value> operands() const;
  Attrs attrs() const;
};

/// Resolves `view`, which has one window at most, with a tile of `shape` at `offsets` (one per axis of the view).
TensorPlace resolve(const Module& module, Value view, const Shape& shape, const std::vector<Value>& offsets,
                    OpBuilder& b);

TLXJIT_NAMESPACE_END
