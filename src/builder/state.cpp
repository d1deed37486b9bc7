// src/builder/state.cpp — appending ops; handles as variables.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "src/builder/state_p.h"

#include <cstdlib>

#include "src/ir/check_p.h"

TLXJIT_NAMESPACE_BEGIN

BuilderState::BuilderState(std::string name) {
  module.name = std::move(name);
  blocks.push_back(&module.body);
}

void BuilderState::fault(std::string message, const Location& at) {
  Error error;
  error.kind = ErrorKind::user;
  error.stage = Stage::build;
  error.code = ErrorCode::invalid_kernel;
  error.message = std::move(message);
  error.location = at;
  faults.push_back(std::move(error));
}

bool BuilderState::check(std::unique_ptr<Op>& op, const Location& at) {
  std::string what = check_op(module, *op);
  if (what.empty()) return true;
  fault(std::string(info(op->code).text) + ": " + what, at);
  forget(module, *op);
  return false;
}

void forget(Module& module, const Op& op) {
  for (Value v : op.results) module.set_def(v, nullptr);
  for (const Block& region : op.regions)
    for (const auto& inner : region.ops) forget(module, *inner);
}

Value BuilderState::emit(OpCode code, std::vector<Value> operands, const std::vector<Type>& results, Attrs attrs,
                         const Location& at) {
  const std::vector<Value> made = emit_all(code, std::move(operands), results, std::move(attrs), at);
  return made.empty() ? no_value : made[0];
}

std::vector<Value> BuilderState::emit_all(OpCode code, std::vector<Value> operands, const std::vector<Type>& results,
                                          Attrs attrs, const Location& at) {
  for (Value v : operands)
    if (v == no_value) return {};
  auto op = module.make(code, std::move(operands), results, std::move(attrs), module.add_location(at));
  if (!check(op, at)) return {};
  std::vector<Value> made = op->results;
  blocks.back()->ops.push_back(std::move(op));
  return made;
}

Tile BuilderState::constant_handle(Value value) {
  Tile tile;
  tile.state_ = shared_from_this();
  tile.value_ = value;
  return tile;
}

Tile BuilderState::handle(Value value, const Location& at) {
  if (value == no_value || plain_handles()) return constant_handle(value);
  return constant_handle(emit(OpCode::var, {value}, {module.type(value).as_variable()}, {}, at));
}

Value BuilderState::read(const Tile& tile, const Location& at) {
  if (tile.value_ == no_value) return no_value;
  if (tile.state_.get() != this) {
    fault("a value of another kernel is used here", at);
    return no_value;
  }
  Value value = tile.value_;
  const Type type = module.type(value);
  if (type.variable) value = emit(OpCode::get, {value}, {type.as_value()}, {}, at);
  return value;
}

void BuilderState::assign(Tile& target, const Tile& source) {
  if (!source.valid()) return;
  const Op* def = module.def(source.value_);
  const Location at = def ? module.location(*def) : Location();
  if (!target.valid()) {
    target = handle(read(source, at), at);
    return;
  }
  if (target.state_.get() != this) return target.state_->fault("assigns a value of another kernel", at);
  if (!module.type(target.value_).variable) {
    if (plain_handles()) {
      target.value_ = source.value_;
      return;
    }
    return fault(
        "assigns to a value that is fixed inside tasks (made outside of them, or a loop's index); copy it first", at);
  }
  emit(OpCode::set, {target.value_, read(source, at)}, {}, {}, at);
}

Value BuilderState::literal(const Operand& operand, Elem elem) {
  Attrs attrs;
  if (is_float(elem))
    attrs.set("value", operand.is_real    ? operand.real
                       : operand.is_large ? static_cast<double>(static_cast<uint64_t>(operand.integer))
                                          : static_cast<double>(operand.integer));
  else if (operand.is_real) {
    fault("a real number meets " + std::string(to_string(elem)) + "; cast the other side first", operand.at);
    return no_value;
  } else if (operand.is_large != (elem == Elem::u64 && operand.integer < 0)) {
    const auto text =
        operand.is_large ? std::to_string(static_cast<uint64_t>(operand.integer)) : std::to_string(operand.integer);
    fault(text + " does not fit " + to_string(elem), operand.at);
    return no_value;
  } else
    attrs.set("value", operand.integer);
  return emit(OpCode::constant, {}, {Type::scalar(elem)}, std::move(attrs), operand.at);
}

bool BuilderState::owns(const std::shared_ptr<BuilderState>& other, const Location& at) {
  if (!other || other.get() == this) return true;  // a handle of nothing is poison, and says nothing
  fault("a handle of another kernel is used here", at);
  return false;
}

Value BuilderState::index(const Operand& operand) {
  return operand.tile ? read(*operand.tile, operand.at) : literal(operand, Elem::i32);
}

std::vector<Value> BuilderState::indices(const std::vector<Operand>& operands) {
  std::vector<Value> values;
  for (const Operand& operand : operands) values.push_back(index(operand));
  return values;
}

TLXJIT_NAMESPACE_END
