// src/builder/flag.cpp — flags.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tlxjit/builder/flag.h"

#include "src/builder/state_p.h"
#include "src/ir/words_p.h"
#include "tlxjit/builder/kernel.h"

TLXJIT_NAMESPACE_BEGIN

Flag Tensor::flag(std::initializer_list<Operand> indices, std::source_location at) const {
  Flag flag;
  BuilderState* s = kernel_of(state_, pointers(indices), at);
  if (!s) return flag;
  flag.state_ = state_;
  flag.place_ = {value_};
  for (const Operand& i : indices) flag.place_.push_back(s->index(i));
  return flag;
}

void Flag::emit(OpCode op, Operand value, Attrs attrs, const std::source_location& at) const {
  BuilderState* s = kernel_of(state_, {&value}, at);
  if (!s || place_[0] == no_value) return;
  std::vector<Value> operands = place_;
  operands.push_back(s->value(value, s->module.type(place_[0]).elem));
  s->emit(op, std::move(operands), {}, std::move(attrs), at);
}

void Flag::wait(Compare how, Operand value, std::source_location at) const {
  if (state_ && !state_->knows(how, Compare::greater_equal, "Compare", at)) return;
  Attrs attrs;
  attrs.set("pred", word<Predicate>(how));
  emit(OpCode::flag_wait, value, std::move(attrs), at);
}
void Flag::set(Operand value, std::source_location at) const { emit(OpCode::flag_set, value, {}, at); }
void Flag::add(Operand value, std::source_location at) const { emit(OpCode::flag_add, value, {}, at); }

TLXJIT_NAMESPACE_END
