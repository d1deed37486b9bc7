// src/ir/access.cpp — which operand of an access is what.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "src/ir/access_p.h"

#include "src/ir/words_p.h"

TLXJIT_NAMESPACE_BEGIN

std::vector<Value> ElementAccess::operands() const {
  std::vector<Value> all = {tensor};
  all.insert(all.end(), values.begin(), values.end());
  all.insert(all.end(), indices.begin(), indices.end());
  for (Value v : {bound, mask, other})
    if (v != no_value) all.push_back(v);
  return all;
}

bool is_access(OpCode code) {
  switch (code) {
    case OpCode::load_at:
    case OpCode::store_at:
    case OpCode::atomic:
    case OpCode::atomic_tile: return true;
    default: return is_box_access(code);
  }
}

std::optional<ElementAccess> access_of(const Module& module, const Op& op) {
  size_t values = 0;
  switch (op.code) {
    case OpCode::store_masked:
    case OpCode::tile_store_masked:
    case OpCode::store_at: values = 1; break;
    case OpCode::atomic:
    case OpCode::atomic_tile: values = word_of<AtomicKind>(op, "kind") == AtomicKind::cas ? 2 : 1; break;
    default: break;
  }
  ElementAccess access;
  access.tensor = op.operands[0];
  const auto axes = static_cast<size_t>(module.type(access.tensor).slots);
  size_t next = 1;
  if (op.operands.size() < 1 + values + axes) return std::nullopt;
  while (access.values.size() < values) access.values.push_back(op.operands[next++]);
  while (access.indices.size() < axes) access.indices.push_back(op.operands[next++]);
  const auto more = [&] { return next < op.operands.size(); };
  if (op.attrs.integer("ragged", -1) >= 0) {
    if (!more()) return std::nullopt;
    access.bound = op.operands[next++];
  }
  if (more() && module.type(op.operands[next]).is_tile()) access.mask = op.operands[next++];
  const bool fills = op.code == OpCode::load_tile || op.code == OpCode::tile_load || op.code == OpCode::load_at;
  if (more() && fills) access.other = op.operands[next++];
  if (more()) return std::nullopt;
  return access;
}

TLXJIT_NAMESPACE_END
