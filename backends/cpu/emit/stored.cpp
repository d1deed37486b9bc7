// backends/cpu/emit/stored.cpp — ops that work on tiles as they are stored, each in loops of its own.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/cpu/emit/emitter_p.h"

TLXJIT_NAMESPACE_BEGIN
namespace cpu {

// They move elements or go along an axis, so they do not fit the loop of an elementwise chain: their operands are
// computed and stored first, and their results are stored.

bool Emitter::is_stored_op(const Op& op) {
  switch (op.code) {
    case OpCode::reshape:
    case OpCode::transpose:
    case OpCode::slice:
    case OpCode::concat:
    case OpCode::join:
    case OpCode::split:
    case OpCode::reduce_custom:
    case OpCode::scan:
    case OpCode::scan_custom:
    case OpCode::print:
    case OpCode::assert_:
    case OpCode::inline_text: return true;
    case OpCode::reduce: return finds(op);
    default: return is_access(op.code);
  }
}

void Emitter::flush_operands(const Op& op) {
  for (Value v : op.operands) {
    size_t i = 0;
    if (!type(v).is_tile() || !pending(v, i)) continue;
    Group group = std::move(groups_[i]);
    groups_.erase(groups_.begin() + static_cast<std::ptrdiff_t>(i));
    flush(std::move(group));
  }
}

void Emitter::stored_op(const Op& op) {
  if (info(op.code).scope == Scope::pure)
    flush_operands(op);
  else
    flush_all();
  if (groups_.empty()) flush_all();  // gives back what is dead
  for (Value v : op.results)
    if (type(v).is_tile()) take(v);
  switch (op.code) {
    case OpCode::reduce:
    case OpCode::reduce_custom:
    case OpCode::scan:
    case OpCode::scan_custom: return fold(op);
    case OpCode::print: return print(op);
    case OpCode::assert_: return assertion(op);
    case OpCode::inline_text: return inline_text(op);
    default: return is_access(op.code) ? access(op) : rearrange(op);
  }
}

Node Emitter::element_address(Value tile, Node index) {
  return at(tile_address(tile), b.CreateMul(index, i64(size(type(tile).elem))));
}

Node Emitter::element(Value tile, Node index, unsigned lanes) {
  return load(element_address(tile, index), type(tile).elem, lanes);
}

}  // namespace cpu
TLXJIT_NAMESPACE_END
