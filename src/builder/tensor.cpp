// src/builder/tensor.cpp — tensors: views, loads and stores of tiles and elements, atomics.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tlxjit/builder/tensor.h"

#include <algorithm>

#include "src/builder/state_p.h"
#include "src/ir/words_p.h"

TLXJIT_NAMESPACE_BEGIN

namespace {

Type shaped(const Shape& shape, Elem elem) { return shape.rank > 0 ? Type::tile(shape, elem) : Type::scalar(elem); }

/// A number as a scalar of this type; a tile or scalar as it is.
Operand typed(BuilderState& s, const Operand& operand, Elem elem) {
  return operand.is_tile ? operand : Operand(s.constant_handle(s.literal(operand, elem)), operand.at);
}

/// The fill of a load, or nothing where it is none.
std::optional<Value> fill_of(BuilderState& s, OpCode code, const Operand& other, Elem elem) {
  const Value fill = s.value(other, elem);
  if (fill == no_value) return {};
  if (s.module.type(fill).is_scalar()) return fill;
  s.fault(std::string(info(code).text) + ": the fill is a scalar of " + to_string(elem) + ", not " +
              to_string(s.module.type(fill)),
          other.at);
  return {};
}

/// The tensor, the fitted operands, each but the indices a tile where one is.
std::vector<Value> behind(BuilderState& s, Value tensor, const Fitted& fitted, size_t indices_from, size_t indices,
                          const Location& at) {
  std::vector<Value> operands = {tensor};
  for (size_t i = 0; i < fitted.values.size(); ++i) {
    Value v = fitted.values[i];
    const bool index = i >= indices_from && i < indices_from + indices;
    if (!index && fitted.shape.rank > 0 && s.module.type(v).is_scalar())
      v = s.emit(OpCode::splat, {v}, {Type::tile(fitted.shape, s.module.type(v).elem)}, {}, at);
    operands.push_back(v);
  }
  return operands;
}

}  // namespace

int Tensor::rank() const { return !state_ || value_ == no_value ? 0 : state_->module.type(value_).slots; }

Tensor Tensor::at(int axis, Operand index) const {
  Tensor result;
  result.state_ = state_;
  BuilderState* s = kernel_of(state_, {&index}, index.at);
  if (!s || value_ == no_value) return result;
  Type type = s->module.type(value_);
  --type.slots;
  result.value_ = s->emit(OpCode::select_axis, {value_, s->index(index)}, {type}, with_axis(axis), index.at);
  return result;
}

Tensor Tensor::window(int axis, Operand offset, Operand extent) const {
  Tensor result;
  result.state_ = state_;
  BuilderState* s = kernel_of(state_, {&offset, &extent}, offset.at);
  if (!s || value_ == no_value) return result;
  result.value_ = s->emit(OpCode::window, {value_, s->index(offset), s->index(extent)}, {s->module.type(value_)},
                          with_axis(axis), offset.at);
  return result;
}

Scalar Tensor::load(std::initializer_list<Operand> indices, std::source_location at) const {
  BuilderState* s = kernel_of(state_, pointers(indices), at);
  if (!s) return of_no_kernel(pointers(indices), no_handle, at);
  if (value_ == no_value) return s->poison();
  const Type type = Type::scalar(s->module.type(value_).elem);
  return s->handle(s->emit(OpCode::load_scalar, prepend({value_}, s->indices(indices)), {type}, {}, at), at);
}

void Tensor::store(std::initializer_list<Operand> offsets, const Tile& tile, const StoreOptions& options,
                   std::source_location at) const {
  const Operand x(tile, at);
  BuilderState* s = kernel_of(state_, {&x}, at);
  if (!s) return;
  const OptionalOperand& mask = options.mask;
  if (!mask.given) {
    s->emit(OpCode::store, prepend({value_, s->read(tile, at)}, s->indices(offsets)), {}, {}, at);
    return;
  }
  const Operand where = typed(*s, *mask.given, Elem::b1);
  const auto fitted = s->fit({&x, &where}, {}, at);
  if (!fitted) return;
  std::vector<Value> operands = behind(*s, value_, *fitted, 2, 0, at);
  const std::vector<Value> indices = s->indices(offsets);
  operands.insert(operands.begin() + 2, indices.begin(), indices.end());
  s->emit(OpCode::store_masked, std::move(operands), {}, {}, at);
}

Tile Tensor::load_tile(std::initializer_list<Operand> offsets, Shape shape, const LoadOptions& options,
                       std::source_location at) const {
  BuilderState* s = kernel_of(state_, pointers(offsets), at);
  if (!s) return of_no_kernel({}, no_handle, at);
  if (value_ == no_value) return s->poison();
  const Elem elem = s->module.type(value_).elem;
  std::vector<Value> operands = prepend({value_}, s->indices(offsets));
  if (const auto& mask = options.mask.given) {
    const auto fitted = s->fit({&*mask}, {.literals = Elem::b1, .repeat_from = 0, .shape = shape}, at);
    if (!fitted) return s->poison();
    operands.push_back(fitted->values[0]);
  }
  if (options.other.given) {
    const auto fill = fill_of(*s, OpCode::load_tile, *options.other.given, elem);
    if (!fill) return s->poison();
    operands.push_back(*fill);
  }
  return s->handle(s->emit(OpCode::load_tile, std::move(operands), {Type::tile(shape, elem)}, {}, at), at);
}

Tile Tensor::load_at(std::initializer_list<Operand> indices, const LoadOptions& options,
                     std::source_location at) const {
  BuilderState* s = kernel_of(state_, pointers(indices), at);
  if (!s) return of_no_kernel({}, no_handle, at);
  if (value_ == no_value) return s->poison();
  const Elem elem = s->module.type(value_).elem;
  std::vector<const Operand*> all = pointers(indices);
  std::optional<Operand> mask;
  if (options.mask.given) all.push_back(&mask.emplace(typed(*s, *options.mask.given, Elem::b1)));
  const auto fitted = s->fit(all, {.literals = Elem::i32}, at);
  if (!fitted) return s->poison();
  std::vector<Value> operands = behind(*s, value_, *fitted, 0, indices.size(), at);
  if (options.other.given) {
    const auto fill = fill_of(*s, OpCode::load_at, *options.other.given, elem);
    if (!fill) return s->poison();
    operands.push_back(*fill);
  }
  return s->handle(s->emit(OpCode::load_at, std::move(operands), {Type::tile(fitted->shape, elem)}, {}, at), at);
}

void Tensor::store_at(std::initializer_list<Operand> indices, const Operand& value, const StoreOptions& options,
                      std::source_location at) const {
  std::vector<const Operand*> all = {&value};
  for (const Operand* index : pointers(indices)) all.push_back(index);
  if (options.mask.given) all.push_back(&*options.mask.given);
  BuilderState* s = kernel_of(state_, all, at);
  if (!s || value_ == no_value) return;
  const Operand written = typed(*s, value, s->module.type(value_).elem);
  all.front() = &written;
  std::optional<Operand> mask;
  if (options.mask.given) all.back() = &mask.emplace(typed(*s, *options.mask.given, Elem::b1));
  const auto fitted = s->fit(all, {.literals = Elem::i32}, at);
  if (!fitted) return;
  s->emit(OpCode::store_at, behind(*s, value_, *fitted, 1, indices.size(), at), {}, {}, at);
}

void Tensor::prefetch(std::initializer_list<Operand> offsets, Shape shape, std::source_location at) const {
  BuilderState* s = kernel_of(state_, pointers(offsets), at);
  if (!s) return;
  Attrs attrs;
  attrs.set("box", std::vector<int64_t>(shape.dim.begin(), shape.dim.begin() + std::min<int>(shape.rank, 5)));
  attrs.set("ragged", int64_t{-1});
  s->emit(OpCode::copy_prefetch, prepend({value_}, s->indices(offsets)), {}, std::move(attrs), at);
}

Tile Tensor::atomic(const char* kind, std::initializer_list<Operand> indices, const std::vector<const Operand*>& values,
                    const AtomicOptions& options, std::source_location at) const {
  BuilderState* s = kernel_of(state_, pointers(indices), at);
  if (!s) return of_no_kernel({}, no_handle, at);
  if (value_ == no_value) return s->poison();
  const Elem elem = s->module.type(value_).elem;
  if (!s->knows(options.order, Order::acq_rel, "Order", at)) return s->poison();
  // Literal values take the tensor's type, literal indices are i32.
  std::vector<Operand> held;
  for (const Operand* value : values) held.push_back(typed(*s, *value, elem));
  std::vector<const Operand*> all;
  for (const Operand& value : held) all.push_back(&value);
  for (const Operand* index : pointers(indices)) all.push_back(index);
  std::optional<Operand> mask;
  if (options.mask.given) all.push_back(&mask.emplace(typed(*s, *options.mask.given, Elem::b1)));
  const auto fitted = s->fit(all, {.literals = Elem::i32}, at);
  if (!fitted) return s->poison();
  std::vector<Value> operands = {value_};
  operands.insert(operands.end(), fitted->values.begin(), fitted->values.end());
  if (mask && fitted->shape.rank > 0 && s->module.type(operands.back()).is_scalar())
    operands.back() = s->emit(OpCode::splat, {operands.back()}, {Type::tile(fitted->shape, Elem::b1)}, {}, at);
  Attrs attrs;
  attrs.set("kind", std::string(kind));
  attrs.set("order", word<MemoryOrder>(options.order));
  return s->handle(s->emit(fitted->shape.rank > 0 ? OpCode::atomic_tile : OpCode::atomic, std::move(operands),
                           {shaped(fitted->shape, elem)}, std::move(attrs), at),
                   at);
}

Tile Tensor::atomic(Atomic op, std::initializer_list<Operand> indices, const Operand& value,
                    const AtomicOptions& options, std::source_location at) const {
  if (BuilderState* s = state_.get(); s && !s->knows(op, Atomic::exchange, "Atomic", at)) return s->poison();
  return atomic(word<AtomicKind>(op).c_str(), indices, {&value}, options, at);
}

Tile Tensor::compare_exchange(std::initializer_list<Operand> indices, const Operand& expected, const Operand& value,
                              const AtomicOptions& options, std::source_location at) const {
  return atomic("cas", indices, {&value, &expected}, options, at);
}

TLXJIT_NAMESPACE_END
