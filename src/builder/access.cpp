// src/builder/access.cpp — loads, stores and atomics on elements of tensors.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "src/builder/state_p.h"
#include "src/ir/words_p.h"
#include "tlxjit/builder/kernel.h"

TLXJIT_NAMESPACE_BEGIN

namespace {

Type shaped(const Shape& shape, Elem elem) { return shape.rank > 0 ? Type::tile(shape, elem) : Type::scalar(elem); }

}  // namespace

void Tensor::store(std::initializer_list<Operand> offsets, const Tile& tile, const Tile& mask,
                   std::source_location at) const {
  const Operand x(tile, at), where(mask, at);
  BuilderState* s = kernel_of(state_, {&x, &where}, at);
  if (!s) return;
  const auto fitted = s->fit({&x, &where}, {}, at);
  if (!fitted) return;
  std::vector<Value> operands = {value_, fitted->values[0]};
  for (Value v : s->indices(offsets)) operands.push_back(v);
  operands.push_back(fitted->values[1]);
  s->emit(OpCode::store_masked, std::move(operands), {}, {}, at);
}

Tile Tensor::load_tile(std::initializer_list<Operand> offsets, Shape shape, Masked masked,
                       std::source_location at) const {
  BuilderState* s = kernel_of(state_, pointers(offsets), at);
  if (!s) return of_no_kernel({}, no_handle, at);
  if (value_ == no_value) return s->poison();
  const Elem elem = s->module.type(value_).elem;
  std::vector<Value> operands = {value_};
  for (Value v : s->indices(offsets)) operands.push_back(v);
  if (masked.mask.given) {
    const auto fitted = s->fit({&*masked.mask.given}, {.literals = Elem::b1, .shape = shape}, at);
    if (!fitted) return s->poison();
    operands.push_back(fitted->values[0]);
  }
  if (masked.other.given) operands.push_back(s->value(*masked.other.given, elem));
  return s->handle(s->emit(OpCode::load_tile, std::move(operands), {Type::tile(shape, elem)}, {}, at), at);
}

Tile Tensor::load_at(std::initializer_list<Operand> indices, Masked masked, std::source_location at) const {
  BuilderState* s = kernel_of(state_, pointers(indices), at);
  if (!s) return of_no_kernel({}, no_handle, at);
  if (value_ == no_value) return s->poison();
  const Elem elem = s->module.type(value_).elem;
  std::vector<const Operand*> all = pointers(indices);
  if (masked.mask.given) all.push_back(&*masked.mask.given);
  const auto fitted = s->fit(all, {.literals = Elem::i32}, at);
  if (!fitted) return s->poison();
  std::vector<Value> operands = {value_};
  operands.insert(operands.end(), fitted->values.begin(), fitted->values.end());
  if (masked.other.given) operands.push_back(s->value(*masked.other.given, elem));
  return s->handle(s->emit(OpCode::load_at, std::move(operands), {Type::tile(fitted->shape, elem)}, {}, at), at);
}

void Tensor::store_at(std::initializer_list<Operand> indices, const Operand& tile, OptionalOperand mask,
                      std::source_location at) const {
  std::vector<const Operand*> all = {&tile};
  for (const Operand* index : pointers(indices)) all.push_back(index);
  if (mask.given) all.push_back(&*mask.given);
  BuilderState* s = kernel_of(state_, all, at);
  if (!s || value_ == no_value) return;
  const auto fitted = s->fit(all, {.literals = Elem::i32}, at);
  if (!fitted) return;
  std::vector<Value> operands = {value_};
  operands.insert(operands.end(), fitted->values.begin(), fitted->values.end());
  s->emit(OpCode::store_at, std::move(operands), {}, {}, at);
}

Tile Tensor::atomic(const char* kind, std::initializer_list<Operand> indices, const std::vector<const Operand*>& values,
                    const AtomicOptions& options, std::source_location at) const {
  BuilderState* s = kernel_of(state_, pointers(indices), at);
  if (!s) return of_no_kernel({}, no_handle, at);
  if (value_ == no_value) return s->poison();
  const Elem elem = s->module.type(value_).elem;
  // Literal values take the tensor's type, literal indices are i32.
  std::vector<Operand> held;
  for (const Operand* value : values)
    held.push_back(value->is_tile ? *value : Operand(s->constant_handle(s->literal(*value, elem)), value->at));
  std::vector<const Operand*> all;
  for (const Operand& value : held) all.push_back(&value);
  for (const Operand* index : pointers(indices)) all.push_back(index);
  if (options.mask.given) all.push_back(&*options.mask.given);
  auto fitted = s->fit(all, {.literals = Elem::i32}, at);
  if (!fitted) return s->poison();
  std::vector<Value> operands = {value_};
  operands.insert(operands.end(), fitted->values.begin(), fitted->values.end());
  Attrs attrs;
  attrs.set("kind", std::string(kind));
  attrs.set("order", word<MemoryOrder>(options.order));
  return s->handle(s->emit(fitted->shape.rank > 0 ? OpCode::atomic_tile : OpCode::atomic, std::move(operands),
                           {shaped(fitted->shape, elem)}, std::move(attrs), at),
                   at);
}

Tile Tensor::atomic(Atomic op, std::initializer_list<Operand> indices, const Operand& value, AtomicOptions options,
                    std::source_location at) const {
  return atomic(word<AtomicKind>(op).c_str(), indices, {&value}, options, at);
}

Tile Tensor::compare_exchange(std::initializer_list<Operand> indices, const Operand& expected, const Operand& value,
                              AtomicOptions options, std::source_location at) const {
  return atomic("cas", indices, {&value, &expected}, options, at);
}

TLXJIT_NAMESPACE_END
