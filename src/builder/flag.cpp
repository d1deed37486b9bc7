// src/builder/flag.cpp — flags and clusters.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tlxjit/builder/flag.h"

#include "src/builder/state_p.h"
#include "tlxjit/builder/kernel.h"

TLXJIT_NAMESPACE_BEGIN

Flag Tensor::flag(std::initializer_list<Operand> indices) const {
  Flag flag;
  if (value_ == no_value) return flag;
  flag.state_ = state_;
  flag.place_ = {value_};
  for (const Operand& i : indices) flag.place_.push_back(state_->index(i));
  return flag;
}

void Flag::emit(OpCode op, Operand value, Attrs attrs, const std::source_location& at) const {
  if (!state_) return;
  std::vector<Value> operands = place_;
  operands.push_back(value.tile ? state_->read(*value.tile, value.at)
                                : state_->literal(value, state_->module.type(place_[0]).elem));
  state_->emit(op, std::move(operands), {}, std::move(attrs), at);
}

void Flag::wait(Is how, Operand value, std::source_location at) const {
  constexpr const char* preds[] = {"eq", "ne", "lt", "le", "gt", "ge"};
  Attrs attrs;
  attrs.set("pred", std::string(preds[static_cast<size_t>(how) % std::size(preds)]));
  emit(OpCode::flag_wait, value, std::move(attrs), at);
}
void Flag::set(Operand value, std::source_location at) const { emit(OpCode::flag_set, value, {}, at); }
void Flag::add(Operand value, std::source_location at) const { emit(OpCode::flag_add, value, {}, at); }

Index Kernel::num_programs(std::source_location at) {
  return state_->handle(state_->emit(OpCode::num_programs, {}, {Type::scalar(Elem::i32)}, {}, at), at);
}

void Kernel::resident(std::source_location at) { state_->emit(OpCode::resident, {}, {}, {}, at); }

void Kernel::cluster(int programs, std::source_location at) {
  Attrs attrs;
  attrs.set("size", int64_t{programs});
  state_->emit(OpCode::cluster, {}, {}, std::move(attrs), at);
}

Index Kernel::cluster_rank(std::source_location at) {
  return state_->handle(state_->emit(OpCode::cluster_rank, {}, {Type::scalar(Elem::i32)}, {}, at), at);
}

void Kernel::cluster_sync(std::source_location at) { state_->emit(OpCode::cluster_sync, {}, {}, {}, at); }

TLXJIT_NAMESPACE_END
