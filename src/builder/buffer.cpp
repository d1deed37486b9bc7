// src/builder/buffer.cpp — shared memory by hand: buffers, views, copies to tensors and by lanes.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tlxjit/builder/buffer.h"

#include "src/builder/state_p.h"
#include "src/ir/words_p.h"
#include "tlxjit/builder/kernel.h"

TLXJIT_NAMESPACE_BEGIN

namespace {

/// The op that gives a whole slot of a buffer; other views are a fault.
const Op* whole_slot(OpCode code, BuilderState& s, Value v, const Location& at) {
  const Op* view = s.module.def(v);
  if (!view || view->code == OpCode::view) return view;
  s.fault(std::string(info(code).text) +
              ": moves whole slots of a buffer; make smaller slots in the same storage with `alias`",
          at);
  return nullptr;
}

}  // namespace

void emit_copy(OpCode code, const View& slot, Value tensor, std::vector<Value> operands,
               std::initializer_list<Operand> offsets, Attrs attrs, const Location& at) {
  BuilderState& s = *ViewAccess::state(slot);
  if (tensor == no_value) return;
  const Op* view = whole_slot(code, s, ViewAccess::value(slot), at);
  if (!view) return;
  // Outer axes that the buffer lacks have extent 1.
  const Shape& shape = s.module.type(ViewAccess::value(slot)).shape;
  std::vector<int64_t> box;
  for (int i = shape.rank; i < s.module.type(tensor).slots; ++i) box.push_back(1);
  for (int i = 0; i < shape.rank; ++i) box.push_back(shape[i]);
  attrs.set("box", std::move(box));
  attrs.set("ragged", int64_t{-1});
  std::vector<Value> all = {tensor, view->operands[0], view->operands[1]};
  all.insert(all.end(), operands.begin(), operands.end());
  for (const Operand& offset : offsets) all.push_back(s.index(offset));
  s.emit(code, std::move(all), {}, std::move(attrs), at);
}

bool View::valid() const { return state_ && value_ != no_value; }
Type View::type() const { return valid() ? state_->module.type(value_) : Type{}; }

View View::step(OpCode code, const Type& type, Attrs attrs, const Location& at) const {
  View view;
  view.state_ = state_;
  if (state_) view.value_ = state_->emit(code, {value_}, {type}, std::move(attrs), at);
  return view;
}

View View::part(const Task& task, std::source_location at) const {
  BuilderState* s = kernel_of({&state_, &task.state_}, at);
  View poison;
  poison.state_ = state_;
  if (!s || !task.is_here(at) || value_ == no_value) return poison;
  const int64_t rows = type().shape[0];
  if (rows % task.replicas() == 0) return part(Operand(task.replica(at), at), rows / task.replicas());
  s->fault(
      "part: " + std::to_string(rows) + " rows do not divide among " + std::to_string(task.replicas()) + " replicas",
      at);
  return poison;
}

View View::part(Operand index, int64_t rows) const {
  View view;
  view.state_ = state_;
  BuilderState* s = kernel_of(state_, {&index}, index.at);
  if (!s || value_ == no_value) return view;
  Type type = s->module.type(value_);
  type.shape[0] = rows;
  view.value_ = s->emit(OpCode::part, {value_, s->index(index)}, {type}, {}, index.at);
  return view;
}

View View::t(std::source_location at) const {
  Type type = this->type();
  std::swap(type.shape[0], type.shape[1]);
  return step(OpCode::trans, type, {}, at);
}

View View::slice(std::initializer_list<int64_t> offsets, Shape extents, std::source_location at) const {
  Attrs attrs;
  attrs.set("offsets", std::vector<int64_t>(offsets));
  return step(OpCode::view_slice, Type::view(extents, type().elem), std::move(attrs), at);
}

View View::reshape(Shape shape, std::source_location at) const {
  return step(OpCode::view_reshape, Type::view(shape, type().elem), {}, at);
}

View View::reinterpret(Elem elem, std::source_location at) const {
  Type type = this->type();
  if (valid() && bytes(elem) > 0)
    type.shape[type.shape.rank - 1] = type.shape[type.shape.rank - 1] * bytes(type.elem) / bytes(elem);
  return step(OpCode::view_reinterpret, type.with_elem(elem), {}, at);
}

Tile View::load(std::source_location at) const {
  if (!state_) return of_no_kernel({}, no_handle, at);
  if (!valid()) return state_->poison();
  const Type type = Type::tile(this->type().shape, this->type().elem);
  return state_->handle(state_->emit(OpCode::view_load, {value_}, {type}, {}, at), at);
}

void View::store(const Tile& tile, std::source_location at) const {
  const Operand operand(tile, at);
  BuilderState* s = kernel_of(state_, {&operand}, at);
  if (!s) return;
  const Value x = s->read(tile, at);
  if (!valid()) return;
  const Op* def = s->module.def(value_);
  // The form that every back end has.
  if (def->code == OpCode::view)
    s->emit(OpCode::buffer_store, {def->operands[0], def->operands[1], x}, {}, {}, at);
  else
    s->emit(OpCode::view_store, {value_, x}, {}, {}, at);
}

void View::store_remote(Operand rank, const Tile& tile, const BarrierSlot& full) const {
  const Location at = rank.at;
  BuilderState* s = kernel_of({&state_, &full.state_}, at);
  if (!s || !valid()) return;
  const Op* slot = whole_slot(OpCode::buffer_store_remote, *s, value_, at);
  if (!slot) return;
  const Value to = slot->operands[0], index = slot->operands[1];
  s->emit(OpCode::buffer_store_remote, {to, index, s->read(tile, at), s->index(rank), full.barrier_, full.slot_}, {},
          {}, at);
}

Tile View::gather(const Tile& indices, int axis, std::source_location at) const {
  const Operand operand(indices, at);
  BuilderState* s = kernel_of(state_, {&operand}, at);
  if (!s) return of_no_kernel({&operand}, no_handle, at);
  const Type type = Type::tile(indices.shape(), this->type().elem);
  return s->handle(s->emit(OpCode::view_gather, {value_, s->read(indices, at)}, {type}, with_axis(axis), at), at);
}

void View::scatter(const Tile& indices, int axis, const Tile& tile, std::source_location at) const {
  const Operand to(indices, at), what(tile, at);
  if (BuilderState* s = kernel_of(state_, {&to, &what}, at))
    s->emit(OpCode::view_scatter, {value_, s->read(indices, at), s->read(tile, at)}, {}, with_axis(axis), at);
}

void View::copy_to(const Tensor& tensor, std::initializer_list<Operand> offsets, Reduce reduce,
                   std::source_location at) const {
  BuilderState* s = kernel_of({&state_, &tensor.state_}, at);
  if (!s || !valid() || !s->knows(reduce, Reduce::bit_xor, "Reduce", at)) return;
  Attrs attrs;
  if (reduce != Reduce::none) attrs.set("reduce", word<CopyReduction>(static_cast<int>(reduce) - 1));
  emit_copy(OpCode::copy_store, *this, tensor.value_, {}, offsets, std::move(attrs), at);
}

void View::copy_lanes(const Tensor& tensor, std::initializer_list<Operand> offsets, std::source_location at) const {
  if (!kernel_of({&state_, &tensor.state_}, at) || !valid()) return;
  emit_copy(OpCode::copy_lanes, *this, tensor.value_, {}, offsets, {}, at);
}

// --- buffers ---

SharedBuffer Kernel::buffer(Elem elem, int slots, Shape shape, const BufferOptions& options, std::source_location at) {
  BuilderState& s = use(at);
  const auto state = s.shared_from_this();
  SharedBuffer buffer;
  buffer.state_ = state;
  Attrs attrs;
  if (options.swizzle != -1) attrs.set("swizzle", int64_t{options.swizzle});
  std::vector<Value> operands;
  if (options.alias.state_) {
    if (!kernel_of({&state, &options.alias.state_}, at)) return buffer;
    operands.push_back(options.alias.value_);
    attrs.set("at", options.offset);
  } else if (options.offset != 0) {
    s.fault("buffer: an offset is one into the storage of `alias`, which is not given", at);
    return buffer;
  }
  buffer.value_ = s.emit(OpCode::buffer, std::move(operands), {Type::buffer(slots, shape, elem)}, std::move(attrs), at);
  return buffer;
}

bool SharedBuffer::valid() const { return state_ && value_ != no_value; }

View SharedBuffer::operator[](Operand slot) const {
  View view;
  view.state_ = state_;
  BuilderState* s = kernel_of(state_, {&slot}, slot.at);
  if (!s || !valid()) return view;
  const Type& type = s->module.type(value_);
  const Type of_slot = Type::view(type.shape, type.elem);
  view.value_ = s->emit(OpCode::view, {value_, s->index(slot)}, {of_slot}, {}, slot.at);
  return view;
}

Scalar SharedBuffer::get(Operand slot, Operand element) const {
  BuilderState* s = kernel_of(state_, {&slot, &element}, slot.at);
  if (!s) return of_no_kernel({&slot, &element}, no_handle, slot.at);
  if (!valid()) return s->poison();
  const Type type = Type::scalar(s->module.type(value_).elem);
  return s->handle(s->emit(OpCode::buffer_get, {value_, s->index(slot), s->index(element)}, {type}, {}, slot.at),
                   slot.at);
}

void SharedBuffer::put(Operand slot, Operand element, Operand value) const {
  BuilderState* s = kernel_of(state_, {&slot, &element, &value}, slot.at);
  if (!s || !valid()) return;
  const Value x = s->value(value, s->module.type(value_).elem);
  s->emit(OpCode::buffer_put, {value_, s->index(slot), s->index(element), x}, {}, {}, slot.at);
}

int SharedBuffer::slots() const { return valid() ? state_->module.type(value_).slots : 0; }

int64_t SharedBuffer::bytes() const {
  if (!valid()) return 0;
  const Type& type = state_->module.type(value_);
  return type.shape.elements() * tlxjit::bytes(type.elem);
}

TLXJIT_NAMESPACE_END
