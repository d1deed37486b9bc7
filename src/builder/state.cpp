// src/builder/state.cpp — appending ops; handles as variables.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "src/builder/state_p.h"

#include <algorithm>

#include "src/ir/check_p.h"

TLXJIT_NAMESPACE_BEGIN

BuilderState::BuilderState(std::string name, const Location& where) : at(where) {
  module.name = std::move(name);
  blocks.push_back(&module.body);
}

Error BuilderState::fault_of(std::string message, const Location& at) {
  Error error;
  error.kind = ErrorKind::user;
  error.stage = Stage::build;
  error.code = ErrorCode::invalid_kernel;
  error.message = std::move(message);
  error.location = at;
  return error;
}

void BuilderState::fault(std::string message, const Location& at) {
  faults.push_back(fault_of(std::move(message), told_at(at)));
  if (caller && caller != at) faults.back().log = "in a kernel that is written at " + to_string(at);
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
  auto op = module.make(code, std::move(operands), results, std::move(attrs), add_location(at));
  if (!check(op, at)) return {};
  std::vector<Value> made = op->results;
  if (code == OpCode::var || code == OpCode::set) {
    const Value variable = code == OpCode::var ? made[0] : op->operands[0];
    if (const std::string_view kind = unfinished(op->operands.back()); !kind.empty())
      unfinished_variables[variable] = kind;
  }
  blocks.back()->ops.push_back(std::move(op));
  return made;
}

Tile BuilderState::constant_handle(Value value) {
  Tile tile;
  tile.ref_.state = shared_from_this();
  tile.ref_.value = value;
  return tile;
}

Tile BuilderState::handle(Value value, const Location& at) {
  if (value == no_value || plain_handles()) return constant_handle(value);
  const Value variable = emit(OpCode::var, {value}, {module.type(value).as_variable()}, {}, at);
  homes[variable] = blocks.back();
  return constant_handle(variable);
}

Tile BuilderState::copy(const TileRef& tile, const Location& at) {
  Tile made = handle(read_unexpanded(tile, at), at);
  made.ref_.expanded = tile.expanded;
  return made;
}

Value BuilderState::read(const Tile& tile, const Location& at) { return read(tile.ref_, at); }

Value BuilderState::read(const TileRef& tile, const Location& at) {
  if (tile.state.get() == this && tile.value != no_value && tile.expanded) {
    fault("the tile repeats along an axis of which nothing says the extent; combine it with a tile that has it", at);
    return no_value;
  }
  return read_unexpanded(tile, at);
}

Value BuilderState::read_unexpanded(const TileRef& tile, const Location& at) {
  if (!tile.state) {
    if (!tile.fault)
      fault(no_tile, at);
    else if (std::ranges::none_of(faults, [&](const Error& known) {
               return known.message == tile.fault && known.location == Location(tile.at);
             }))
      fault(tile.fault, tile.at);
    return no_value;
  }
  if (tile.value == no_value) return no_value;
  if (tile.state.get() != this) {
    if (!discarded && !tile.state->discarded) fault("a value of another kernel is used here", at);
    return no_value;
  }
  Value value = tile.value;
  const Type type = module.type(value);
  if (type.variable) value = emit(OpCode::get, {value}, {type.as_value()}, {}, at);
  return value;
}

void BuilderState::assign(Tile& target, const Tile& source) {
  const TileRef& from = source.ref_;
  TileRef& to = target.ref_;
  const Op* def = module.def(from.value);
  const Location at = def ? module.location(*def) : Location();
  if (!target.valid()) {
    if (to.astray)
      return fault(
          "a tile from outside this loop or branch was moved away (std::move) and is assigned again, which code behind "
          "the region would not see; copy instead of moving, or exchange two tiles with swap(a, b)",
          at);
    to = copy(from, at).ref_;
    return;
  }
  if (to.state.get() != this) {
    if (!discarded && !to.state->discarded) to.state->fault("assigns a value of another kernel", at);
    return;
  }
  if (!module.type(to.value).variable) {
    if (plain_handles()) {
      to = from;
      return;
    }
    return fault(
        "assigns to a value that is fixed inside tasks (made outside of them, or a loop's index); make a variable of "
        "it "
        "with k.variable()",
        at);
  }
  if (from.expanded != to.expanded)
    return fault("assigns between a tile that repeats along an axis and one that does not", at);
  emit(OpCode::set, {to.value, read_unexpanded(from, at)}, {}, {}, at);
}

std::string_view BuilderState::unfinished(Value v) const {
  if (auto found = unfinished_variables.find(v); found != unfinished_variables.end()) return found->second;
  const Op* def = module.def(v);
  if (!def || !module.type(v).is_tile()) return {};  // tiles come from variables: this goes no deep way
  if (def->code == OpCode::reduce) return def->attrs.integer("partial") ? def->attrs.text("kind") : "";
  if (def->code != OpCode::get && !is_elementwise(def->code)) return {};
  for (Value operand : def->operands)
    if (const std::string_view kind = unfinished(operand); !kind.empty()) return kind;
  return {};
}

Value BuilderState::literal(const Operand& operand, Elem elem) {
  Attrs attrs;
  if (is_float(elem))
    attrs.set("value", operand.is_real    ? operand.real
                       : operand.is_large ? static_cast<double>(static_cast<uint64_t>(operand.integer))
                                          : static_cast<double>(operand.integer));
  else if (operand.is_real) {
    fault("a real number meets " + std::string(to_string(elem)) + "; cast the other side first with .to<T>()",
          operand.at);
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

Value BuilderState::value(const Operand& operand, Elem elem) {
  return operand.is_tile ? read(operand.tile, operand.at) : literal(operand, elem);
}

Value BuilderState::index(const Operand& operand) { return value(operand, Elem::i32); }

std::vector<Value> BuilderState::indices(const std::vector<Operand>& operands) {
  std::vector<Value> values;
  for (const Operand& operand : operands) values.push_back(index(operand));
  return values;
}

BuilderState* kernel_of(std::initializer_list<const std::shared_ptr<BuilderState>*> handles, const Location& at) {
  BuilderState* kernel = nullptr;
  for (const auto* handle : handles)
    if (!kernel) kernel = handle->get();
  if (!kernel) return nullptr;
  for (const auto* handle : handles) {
    if (handle->get() == kernel) continue;
    if (!*handle)
      kernel->fault(no_handle, at);
    else if (!kernel->discarded && !(*handle)->discarded)
      kernel->fault("a handle of another kernel is used here", at);
    return nullptr;
  }
  return kernel;
}

BuilderState* kernel_of(const std::vector<const Operand*>& operands) {
  for (const Operand* operand : operands)
    if (operand->tile.state) return operand->tile.state.get();
  return nullptr;
}

BuilderState* kernel_of(const std::shared_ptr<BuilderState>& handle, const std::vector<const Operand*>& operands,
                        const Location& at) {
  if (handle) return handle.get();
  if (BuilderState* kernel = kernel_of(operands)) kernel->fault(no_handle, at);
  return nullptr;
}

Tile of_no_kernel(const std::vector<const Operand*>& operands, const char* fault, const std::source_location& at) {
  Tile tile;
  TileRef& ref = Access::ref(tile);
  ref.fault = fault;
  ref.at = at;
  for (const Operand* operand : operands) {
    if (!operand->is_tile) continue;
    if (operand->tile.fault)
      ref = operand->tile;
    else
      ref.fault = no_tile;
    break;
  }
  return tile;
}

std::vector<const Operand*> pointers(std::initializer_list<Operand> operands) {
  std::vector<const Operand*> all;
  for (const Operand& operand : operands) all.push_back(&operand);
  return all;
}

TLXJIT_NAMESPACE_END
