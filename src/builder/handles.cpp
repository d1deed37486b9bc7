// src/builder/handles.cpp — tensors, rings, slots, accumulators, tiles of a schedule, tasks.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <algorithm>

#include "src/builder/state_p.h"
#include "src/ir/check_p.h"
#include "tlxjit/builder/kernel.h"

TLXJIT_NAMESPACE_BEGIN

namespace {

/// `first` and the operands, or a list with a poison value, which emit() drops silently.
std::vector<Value> prepend(std::initializer_list<Value> first, const std::vector<Value>& rest) {
  std::vector<Value> all(first);
  all.insert(all.end(), rest.begin(), rest.end());
  return all;
}

}  // namespace

// --- tensors ---

void Tensor::prefetch(std::initializer_list<Operand> offsets, Shape shape, std::source_location at) const {
  BuilderState* s = kernel_of(state_, pointers(offsets), at);
  if (!s) return;
  Attrs attrs;
  attrs.set("box", std::vector<int64_t>(shape.dim.begin(), shape.dim.begin() + std::min<int>(shape.rank, 5)));
  attrs.set("ragged", int64_t{-1});
  s->emit(OpCode::copy_prefetch, prepend({value_}, s->indices(offsets)), {}, std::move(attrs), at);
}

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

void Tensor::store(std::initializer_list<Operand> offsets, const Tile& tile, std::source_location at) const {
  const Operand operand(tile, at);
  if (BuilderState* s = kernel_of(state_, {&operand}, at))
    s->emit(OpCode::store, prepend({value_, s->read(tile, at)}, s->indices(offsets)), {}, {}, at);
}

// --- rings ---

Ring& Ring::slot(std::string_view field, Elem elem, Shape shape, std::source_location at) {
  Op* op = state_ ? state_->module.def(value_) : nullptr;
  if (!op) return *this;
  const std::string former(op->attrs.text("fields"));
  const std::string added = format_fields({{std::string(field), Type::view(shape, elem)}});
  std::string what = check_tile_type(Type::tile(shape, elem));
  for (const RingField& other : parse_fields(former).value_or(std::vector<RingField>()))
    if (other.name == field) what = "the ring has a field of this name";
  if (!what.empty()) what = "field '" + std::string(field) + "': " + what;
  if (what.empty()) {
    op->attrs.set("fields", former.empty() ? added : former + ", " + added);
    what = check_op(state_->module, *op);
  }
  if (!what.empty()) {
    state_->fault("ring: " + what, at);
    op->attrs.set("fields", former);
  }
  return *this;
}

Ring& Ring::count(const char* side, int instances, const Location& at) {
  Op* op = state_ ? state_->module.def(value_) : nullptr;
  if (!op) return *this;
  if (instances < 1 || instances > 1024)
    state_->fault("ring: " + std::string(side) + " are 1 to 1024", at);
  else
    op->attrs.set(side, int64_t{instances});
  return *this;
}

Ring& Ring::fillers(int instances, std::source_location at) { return count("fillers", instances, at); }
Ring& Ring::drainers(int instances, std::source_location at) { return count("drainers", instances, at); }

void Ring::skip(Operand slots) const { skip("drain", slots); }
void Ring::skip_fill(Operand slots) const { skip("fill", slots); }

void Ring::skip(const char* side, const Operand& slots) const {
  Attrs attrs;
  attrs.set("side", std::string(side));
  if (BuilderState* s = kernel_of(state_, {&slots}, slots.at))
    s->emit(OpCode::skip, {value_, s->index(slots)}, {}, std::move(attrs), slots.at);
}

Slot Ring::acquire(std::source_location at) const {
  Slot slot;
  if (!state_) return slot;
  slot.state_ = state_;
  slot.ring_ = value_;
  slot.value_ = state_->emit(OpCode::acquire, {value_}, {Type::slot()}, {}, at);
  return slot;
}

Slot Ring::wait(std::source_location at) const {
  Slot slot;
  if (!state_) return slot;
  slot.state_ = state_;
  slot.ring_ = value_;
  slot.value_ = state_->emit(OpCode::wait_slot, {value_}, {Type::slot()}, {}, at);
  return slot;
}

void Slot::load(std::string_view field, const Tensor& tensor, std::initializer_list<Operand> offsets,
                std::source_location at) const {
  BuilderState* s = kernel_of({&state_, &tensor.state_}, at);
  if (!s) return;
  Attrs attrs;
  attrs.set("field", std::string(field));
  s->emit(OpCode::load_field, prepend({value_, tensor.value_}, s->indices(offsets)), {}, std::move(attrs), at);
}

View Slot::operator[](Name field) const {
  View view;
  view.state_ = state_;
  if (!state_ || value_ == no_value || !state_->module.def(ring_)) return view;
  Attrs attrs;
  attrs.set("field", std::string(field.text));
  // The check names a field that is not there; until then any view type will do.
  Type type = Type::view({1, 1}, Elem::f32);
  if (auto fields = parse_fields(state_->module.def(ring_)->attrs.text("fields")))
    for (const RingField& f : *fields)
      if (f.name == field.text) type = f.view;
  view.value_ = state_->emit(OpCode::field, {value_}, {type}, std::move(attrs), field.at);
  return view;
}

void Slot::store(std::string_view field, const Tile& tile, std::source_location at) const {
  const Operand operand(tile, at);
  BuilderState* s = kernel_of(state_, {&operand}, at);
  if (!s) return;
  Attrs attrs;
  attrs.set("field", std::string(field));
  s->emit(OpCode::store_field, {value_, s->read(tile, at)}, {}, std::move(attrs), at);
}

void Slot::store(std::string_view field, const Tile& tile, const Task& task, std::source_location at) const {
  BuilderState* s = kernel_of({&state_, &task.state_}, at);
  if (!s || !task.is_here(at)) return;
  Attrs attrs;
  attrs.set("field", std::string(field));
  const Value part = s->read(task.replica(at), at);
  s->emit(OpCode::store_field, {value_, s->read(tile, at), part}, {}, std::move(attrs), at);
}

void Slot::publish(std::source_location at) const {
  if (state_) state_->emit(OpCode::publish, {value_}, {}, {}, at);
}
void Slot::release(std::source_location at) const {
  if (state_) state_->emit(OpCode::release, {value_}, {}, {}, at);
}

// --- accumulators ---

void Accumulator::clear(std::source_location at) const {
  if (state_) state_->emit(OpCode::acc_clear, {value_}, {}, {}, at);
}

void Accumulator::dot(Value a, Value b, DotPrecision precision, std::source_location at) const {
  static constexpr const char* texts[] = {"", "ieee", "tf32x3", "tf32", "full", "fast"};
  Attrs attrs;
  attrs.set("overwrite", std::string("never"));
  if (precision != DotPrecision::Default) attrs.set("precision", std::string(texts[static_cast<size_t>(precision)]));
  state_->emit(OpCode::dot, {value_, a, b}, {}, std::move(attrs), at);
}

void Accumulator::dot(const View& a, const View& b, DotPrecision precision, std::source_location at) const {
  if (kernel_of({&state_, &a.state_, &b.state_}, at)) dot(a.value_, b.value_, precision, at);
}

void Accumulator::dot(const Tile& a, const View& b, DotPrecision precision, std::source_location at) const {
  if (BuilderState* s = kernel_of({&state_, &b.state_}, at)) dot(s->read(a, at), b.value_, precision, at);
}

Tile Accumulator::read(std::source_location at) const {
  if (!state_) return of_no_kernel({}, no_handle, at);
  if (value_ == no_value) return state_->poison();
  const Type type = state_->module.type(value_);
  Attrs attrs;
  attrs.set("col", int64_t{0});
  return state_->handle(
      state_->emit(OpCode::acc_read, {value_}, {Type::tile(type.shape, type.elem)}, std::move(attrs), at), at);
}

void Accumulator::slabs(int64_t width, const std::function<void(Index, Tile)>& fn, std::source_location at) const {
  if (!state_ || value_ == no_value) return;
  if (!fn) return state_->fault("slabs: the function is empty", at);
  const Type type = state_->module.type(value_);
  if (width < 1 || type.shape[1] % width)
    return state_->fault(
        "slabs: " + std::to_string(type.shape[1]) + " columns do not divide into slabs of " + std::to_string(width),
        at);
  for (int64_t col = 0; col < type.shape[1]; col += width) {
    Attrs attrs;
    attrs.set("col", col);
    const Value slab =
        state_->emit(OpCode::acc_read, {value_}, {Type::tile({type.shape[0], width}, type.elem)}, std::move(attrs), at);
    fn(state_->handle(state_->literal(Operand(col, at), Elem::i32), at), state_->handle(slab, at));
  }
}

void Accumulator::update(const std::function<Tile(Tile)>& fn, std::source_location at) const {
  if (!state_ || value_ == no_value) return;
  if (!fn) return state_->fault("update: the function is empty", at);
  state_->emit(OpCode::acc_write, {value_, state_->read(fn(read(at)), at)}, {}, {}, at);
}

// --- tiles of a schedule, tasks ---

Tiles Tiles::split(const Task& task, std::source_location at) const {
  Tiles tiles = *this;
  tiles.split_ = true;
  if (!kernel_of({&state_, &task.state_}, at) || !task.is_here(at)) tiles.value_ = no_value;
  return tiles;
}

int Tiles::indices() const { return !state_ || value_ == no_value ? 0 : state_->module.type(value_).slots; }

void Tiles::run(const std::function<void(std::vector<Index>&)>& fn, int wanted, std::source_location at) const {
  if (!state_ || value_ == no_value) return;
  if (!fn) return state_->fault("each: the function is empty", at);
  if (wanted >= 0 && wanted != indices())
    return state_->fault("each: the schedule yields " + std::to_string(indices()) + " indices, the function takes " +
                             std::to_string(wanted),
                         at);
  Attrs attrs;
  if (split_) attrs.set("split", int64_t{1});
  state_->emit_with_regions(OpCode::each, {value_}, std::move(attrs), at, [&](Op& op) {
    Block& region = op.regions[0];
    std::vector<Index> indices;
    for (int i = 0; i < this->indices(); ++i) {
      region.args.push_back(state_->module.new_value(Type::scalar(Elem::i32)));
      indices.push_back(state_->constant_handle(region.args.back()));
    }
    state_->inside(region, [&] { fn(indices); });
  });
}

bool Task::is_here(const std::source_location& at) const {
  if (!state_) return false;
  if (state_->task == number_) return true;
  state_->fault("a Task is used outside of its body", at);
  return false;
}

Index Task::replica(std::source_location at) const {
  if (!is_here(at)) return nothing(at);
  return state_->constant_handle(state_->emit(OpCode::replica, {}, {Type::scalar(Elem::i32)}, {}, at));
}

Tile Task::nothing(const std::source_location& at) const {
  return state_ ? state_->poison() : of_no_kernel({}, no_handle, at);
}

Index Task::offset(int64_t total, std::source_location at) const {
  if (!is_here(at)) return nothing(at);
  if (total % replicas_) {
    state_->fault(
        "offset: " + std::to_string(total) + " does not divide among " + std::to_string(replicas_) + " replicas", at);
    return nothing(at);
  }
  return Operand(replica(at), at) * Operand(total / replicas_, at);
}

Accumulator Task::accumulator(Elem elem, Shape shape, std::source_location at) const {
  Accumulator acc;
  acc.state_ = state_;
  if (is_here(at)) acc.value_ = state_->emit(OpCode::accumulator, {}, {Type::accumulator(shape, elem)}, {}, at);
  return acc;
}

Tile Task::full(Shape shape, Elem elem, Operand number) const {
  const auto& at = number.at;
  if (!is_here(at)) return nothing(at);
  return state_->handle(state_->emit(OpCode::splat, {state_->value(number, elem)}, {Type::tile(shape, elem)}, {}, at),
                        at);
}

Tile Task::iota(Shape shape, int axis, std::source_location at) const {
  if (!is_here(at)) return nothing(at);
  return state_->handle(state_->emit(OpCode::iota, {}, {Type::tile(shape, Elem::i32)}, with_axis(axis), at), at);
}

void Task::sync(std::source_location at) const {
  if (is_here(at)) state_->emit(OpCode::sync, {}, {}, {}, at);
}

void Task::stage(std::string_view name, int priority, std::source_location at) const {
  if (!is_here(at)) return;
  Attrs attrs;
  attrs.set("name", std::string(name));
  attrs.set("priority", int64_t{priority});
  state_->emit(OpCode::stage, {}, {}, std::move(attrs), at);
}

TLXJIT_NAMESPACE_END
