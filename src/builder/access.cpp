// src/builder/access.cpp — loads, stores and atomics on elements of tensors.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "src/builder/state_p.h"
#include "tlxjit/builder/kernel.h"

TLXJIT_NAMESPACE_BEGIN

namespace {

const char* text_of(Atomic op) {
  constexpr const char* texts[] = {"add", "min", "max", "and", "or", "xor", "exchange"};
  return texts[static_cast<size_t>(op)];
}

const char* text_of(Order order) {
  constexpr const char* texts[] = {"relaxed", "acquire", "release", "acq_rel"};
  return texts[static_cast<size_t>(order)];
}

/// Appends an operand as a value; a literal is one of `elem`.
void add(BuilderState& s, std::vector<Value>& to, const std::optional<Operand>& operand, Elem elem) {
  if (operand) to.push_back(operand->tile ? s.read(*operand->tile, operand->at) : s.literal(*operand, elem));
}

std::vector<const Operand*> pointers(std::initializer_list<Operand> operands) {
  std::vector<const Operand*> all;
  for (const Operand& operand : operands) all.push_back(&operand);
  return all;
}

}  // namespace

void Tensor::store(std::initializer_list<Operand> offsets, const Tile& tile, const Tile& mask,
                   std::source_location at) const {
  if (value_ == no_value || !tile.valid() || !mask.valid()) return;
  std::vector<Value> operands = {value_, state_->read(tile, at)};
  for (Value v : state_->indices(offsets)) operands.push_back(v);
  operands.push_back(state_->read(mask, at));
  state_->emit(OpCode::store_masked, std::move(operands), {}, {}, at);
}

Tile Tensor::load_tile(std::initializer_list<Operand> offsets, Shape shape, Masked masked,
                       std::source_location at) const {
  if (value_ == no_value) return {};
  const Elem elem = state_->module.type(value_).elem;
  std::vector<Value> operands = {value_};
  for (Value v : state_->indices(offsets)) operands.push_back(v);
  add(*state_, operands, masked.mask, Elem::b1);
  add(*state_, operands, masked.other, elem);
  return state_->handle(state_->emit(OpCode::load_tile, std::move(operands), {Type::tile(shape, elem)}, {}, at), at);
}

Tile Tensor::load_at(std::initializer_list<Operand> indices, Masked masked, std::source_location at) const {
  if (value_ == no_value) return {};
  const Elem elem = state_->module.type(value_).elem;
  std::vector<const Operand*> all = pointers(indices);
  if (masked.mask) all.push_back(&*masked.mask);
  const auto fitted = state_->fit(all, Elem::i32, at);
  if (!fitted) return {};
  Shape shape;
  for (Value v : *fitted)
    if (state_->module.type(v).is_tile()) shape = state_->module.type(v).shape;
  std::vector<Value> operands = {value_};
  operands.insert(operands.end(), fitted->begin(), fitted->end());
  add(*state_, operands, masked.other, elem);
  return state_->handle(state_->emit(OpCode::load_at, std::move(operands), {Type::tile(shape, elem)}, {}, at), at);
}

void Tensor::store_at(std::initializer_list<Operand> indices, const Operand& tile, std::optional<Operand> mask,
                      std::source_location at) const {
  if (value_ == no_value) return;
  std::vector<const Operand*> all = {&tile};
  for (const Operand* index : pointers(indices)) all.push_back(index);
  if (mask) all.push_back(&*mask);
  const auto fitted = state_->fit(all, Elem::i32, at);
  if (!fitted) return;
  std::vector<Value> operands = {value_};
  operands.insert(operands.end(), fitted->begin(), fitted->end());
  state_->emit(OpCode::store_at, std::move(operands), {}, {}, at);
}

Tile Tensor::atomic(const char* kind, std::initializer_list<Operand> indices, const std::vector<const Operand*>& values,
                    const AtomicOptions& options, std::source_location at) const {
  if (value_ == no_value) return {};
  const Elem elem = state_->module.type(value_).elem;
  // Literal values take the tensor's type, literal indices are i32.
  std::vector<Tile> literals(values.size());
  std::vector<Operand> held;
  for (size_t i = 0; i < values.size(); ++i) {
    if (!values[i]->tile) literals[i] = state_->constant_handle(state_->literal(*values[i], elem));
    held.push_back(values[i]->tile ? *values[i] : Operand(literals[i], values[i]->at));
  }
  std::vector<const Operand*> all;
  for (const Operand& value : held) all.push_back(&value);
  for (const Operand* index : pointers(indices)) all.push_back(index);
  if (options.mask) all.push_back(&*options.mask);
  const auto fitted = state_->fit(all, Elem::i32, at);
  if (!fitted) return {};
  Shape shape;
  for (Value v : *fitted)
    if (state_->module.type(v).is_tile()) shape = state_->module.type(v).shape;
  std::vector<Value> operands = {value_};
  operands.insert(operands.end(), fitted->begin(), fitted->end());
  Attrs attrs;
  attrs.set("kind", std::string(kind));
  attrs.set("order", std::string(text_of(options.order)));
  const bool tiles = shape.rank > 0;
  return state_->handle(state_->emit(tiles ? OpCode::atomic_tile : OpCode::atomic, std::move(operands),
                                     {tiles ? Type::tile(shape, elem) : Type::scalar(elem)}, std::move(attrs), at),
                        at);
}

Tile Tensor::atomic(Atomic op, std::initializer_list<Operand> indices, const Operand& value, AtomicOptions options,
                    std::source_location at) const {
  return atomic(text_of(op), indices, {&value}, options, at);
}

Tile Tensor::compare_exchange(std::initializer_list<Operand> indices, const Operand& expected, const Operand& value,
                              AtomicOptions options, std::source_location at) const {
  return atomic("cas", indices, {&value, &expected}, options, at);
}

TLXJIT_NAMESPACE_END
