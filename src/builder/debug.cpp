// src/builder/debug.cpp — prints, assertions, the clock, inline text.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "src/builder/state_p.h"
#include "tlxjit/builder/kernel.h"

TLXJIT_NAMESPACE_BEGIN

void Kernel::print(std::string_view text, std::initializer_list<Operand> values, std::source_location at) {
  std::vector<Value> operands;
  for (const Operand& value : values)
    operands.push_back(value.tile ? state_->read(*value.tile, value.at)
                                  : state_->literal(value, value.is_real ? Elem::f64 : Elem::i64));
  Attrs attrs;
  attrs.set("text", std::string(text));
  state_->emit(OpCode::print, std::move(operands), {}, std::move(attrs), at);
}

void Kernel::require(Operand condition, std::string_view message) {
  Attrs attrs;
  attrs.set("message", std::string(message));
  state_->emit(OpCode::assert_,
               {condition.tile ? state_->read(*condition.tile, condition.at) : state_->literal(condition, Elem::b1)},
               {}, std::move(attrs), condition.at);
}

Scalar Kernel::clock(std::source_location at) {
  return state_->handle(state_->emit(OpCode::clock, {}, {Type::scalar(Elem::i64)}, {}, at), at);
}

Tile Kernel::inline_text(std::string_view target, std::string_view text, std::string_view constraints, Elem result,
                         std::initializer_list<Operand> operands, std::source_location at) {
  std::vector<const Operand*> all;
  for (const Operand& operand : operands) all.push_back(&operand);
  auto fitted = state_->fit(all, Elem::i32, at);
  if (!fitted) return {};
  Type type = Type::scalar(result);
  for (Value v : *fitted)
    if (state_->module.type(v).is_tile()) type = state_->module.type(v).with_elem(result);
  Attrs attrs;
  attrs.set("target", std::string(target));
  attrs.set("text", std::string(text));
  attrs.set("constraints", std::string(constraints));
  return state_->handle(state_->emit(OpCode::inline_text, std::move(*fitted), {type}, std::move(attrs), at), at);
}

TLXJIT_NAMESPACE_END
