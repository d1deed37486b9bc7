// tools/tlxjit/tensor_use.cpp — looks for the ops that access tensors.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tools/tlxjit/tensor_use.h"

namespace tlxjit::cli {

namespace {

TensorUse use_of(const Op& op) {
  switch (op.code) {
    case OpCode::copy_store: return {op.attrs.find("reduce") != nullptr, true};
    case OpCode::copy_load:
    case OpCode::copy_lanes:
    case OpCode::flag_wait: return {true, false};
    case OpCode::flag_set: return {false, true};
    case OpCode::flag_add: return {true, true};
    default: break;
  }
  switch (info(op.code).effect) {
    case Effect::read: return {true, false};
    case Effect::write: return {false, true};
    case Effect::update: return {true, true};
    default: return {};
  }
}

}  // namespace

std::vector<TensorUse> tensor_uses(const Module& lowered, const Abi& abi) {
  std::vector<TensorUse> uses(abi.tensors.size());
  walk(lowered.body, [&](const Op& op) {
    if (op.operands.empty() || lowered.type(op.operand(0)).kind != TypeKind::tensor) return;
    const size_t tensor = abi.tensor_index(op.operand(0));
    if (tensor >= uses.size()) return;
    const TensorUse use = use_of(op);
    uses[tensor].read |= use.read;
    uses[tensor].written |= use.written;
  });
  return uses;
}

}  // namespace tlxjit::cli
