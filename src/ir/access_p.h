// src/ir/access_p.h — the operands of ops that read and write elements of tensors.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <optional>
#include <vector>

#include "tlxjit/ir/module.h"

TLXJIT_NAMESPACE_BEGIN

/// Such ops have: the tensor, what is written, one index per axis, a bound where they are ragged, a mask, a fill.
struct ElementAccess {
  Value tensor = no_value;
  std::vector<Value> values;   ///< what is written; of a cas also what is expected
  std::vector<Value> indices;  ///< of a box: where it begins
  Value bound = no_value;      ///< along the ragged axis, indices under this exist
  Value mask = no_value;
  Value other = no_value;

  /// In the order of the op's operands.
  std::vector<Value> operands() const;
};

/// load.tile, store.masked, load.at, store.at, atomics and their lowered forms.
bool is_access(OpCode code);
/// Whether the place is a box rather than an index per element.
inline bool is_box_access(OpCode code) {
  return code == OpCode::load_tile || code == OpCode::tile_load || code == OpCode::store_masked ||
         code == OpCode::tile_store_masked;
}
/// The operands by their roles, which follow from their number and types; nothing when there are too few or too many.
std::optional<ElementAccess> access_of(const Module& module, const Op& op);

TLXJIT_NAMESPACE_END
