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
  if (value_ == no_value) return;
  Attrs attrs;
  attrs.set("box", std::vector<int64_t>(shape.dim.begin(), shape.dim.begin() + std::min<int>(shape.rank, 5)));
  attrs.set("ragged", int64_t{-1});
  state_->emit(OpCode::copy_prefetch, prepend({value_}, state_->indices(offsets)), {}, std::move(attrs), at);
}

int Tensor::rank() const { return value_ == no_value ? 0 : state_->module.type(value_).slots; }

Tensor Tensor::at(int axis, Operand index) const {
  if (value_ == no_value) return {};
  Type type = state_->module.type(value_);
  --type.slots;
  Tensor result;
  result.state_ = state_;
  result.value_ = state_->emit(OpCode::select_axis, {value_, state_->index(index)}, {type}, with_axis(axis), index.at);
  return result;
}

Tensor Tensor::window(int axis, Operand offset, Operand extent) const {
  if (value_ == no_value) return {};
  Tensor result;
  result.state_ = state_;
  result.value_ = state_->emit(OpCode::window, {value_, state_->index(offset), state_->index(extent)},
                               {state_->module.type(value_)}, with_axis(axis), offset.at);
  return result;
}

Scalar Tensor::load(std::initializer_list<Operand> indices) const {
  if (value_ == no_value) return {};
  const Location at = indices.size() ? Location(indices.begin()->at) : Location();
  const Elem elem = state_->module.type(value_).elem;
  return state_->handle(
      state_->emit(OpCode::load_scalar, prepend({value_}, state_->indices(indices)), {Type::scalar(elem)}, {}, at), at);
}

void Tensor::store(std::initializer_list<Operand> offsets, const Tile& tile, std::source_location at) const {
  if (value_ == no_value || !tile.valid()) return;
  state_->emit(OpCode::store, prepend({value_, state_->read(tile, at)}, state_->indices(offsets)), {}, {}, at);
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

void Ring::skip(Operand slots) const {
  Attrs attrs;
  attrs.set("side", std::string("drain"));
  if (state_) state_->emit(OpCode::skip, {value_, state_->index(slots)}, {}, std::move(attrs), slots.at);
}

void Ring::skip_fill(Operand slots) const {
  Attrs attrs;
  attrs.set("side", std::string("fill"));
  if (state_) state_->emit(OpCode::skip, {value_, state_->index(slots)}, {}, std::move(attrs), slots.at);
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
  if (!state_ || !state_->owns(tensor.state_, at)) return;
  Attrs attrs;
  attrs.set("field", std::string(field));
  state_->emit(OpCode::load_field, prepend({value_, tensor.value_}, state_->indices(offsets)), {}, std::move(attrs),
               at);
}

View Slot::operator[](FieldName field) const {
  View view;
  view.state_ = state_;
  if (!state_ || value_ == no_value || !state_->module.def(ring_)) return view;
  Attrs attrs;
  attrs.set("field", std::string(field.name));
  // The check names a field that is not there; until then any view type will do.
  Type type = Type::view({1, 1}, Elem::f32);
  if (auto fields = parse_fields(state_->module.def(ring_)->attrs.text("fields")))
    for (const RingField& f : *fields)
      if (f.name == field.name) type = f.view;
  view.value_ = state_->emit(OpCode::field, {value_}, {type}, std::move(attrs), field.at);
  return view;
}

void Slot::store(std::string_view field, const Tile& tile, std::source_location at) const {
  if (!state_ || !tile.valid()) return;
  Attrs attrs;
  attrs.set("field", std::string(field));
  state_->emit(OpCode::store_field, {value_, state_->read(tile, at)}, {}, std::move(attrs), at);
}

void Slot::store(std::string_view field, const Tile& tile, const Task& task, std::source_location at) const {
  if (!state_ || !tile.valid()) return;
  Attrs attrs;
  attrs.set("field", std::string(field));
  const Value part = state_->read(task.replica(at), at);
  state_->emit(OpCode::store_field, {value_, state_->read(tile, at), part}, {}, std::move(attrs), at);
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

void Accumulator::dot(const View& a, const View& b, std::source_location at) const {
  if (!state_ || !state_->owns(a.state_, at) || !state_->owns(b.state_, at)) return;
  Attrs attrs;
  attrs.set("overwrite", std::string("never"));
  state_->emit(OpCode::dot, {value_, a.value_, b.value_}, {}, std::move(attrs), at);
}

void Accumulator::dot(const Tile& a, const View& b, std::source_location at) const {
  if (!state_ || !a.valid() || !state_->owns(b.state_, at)) return;
  Attrs attrs;
  attrs.set("overwrite", std::string("never"));
  state_->emit(OpCode::dot, {value_, state_->read(a, at), b.value_}, {}, std::move(attrs), at);
}

Tile Accumulator::read(std::source_location at) const {
  if (!state_ || value_ == no_value) return {};
  const Type type = state_->module.type(value_);
  Attrs attrs;
  attrs.set("col", int64_t{0});
  return state_->handle(
      state_->emit(OpCode::acc_read, {value_}, {Type::tile(type.shape, type.elem)}, std::move(attrs), at), at);
}

void Accumulator::slabs(int64_t width, const std::function<void(Index, Tile)>& fn, std::source_location at) const {
  if (!state_ || value_ == no_value) return;
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
  const Tile updated = fn(read(at));
  if (updated.valid()) state_->emit(OpCode::acc_write, {value_, state_->read(updated, at)}, {}, {}, at);
}

// --- tiles of a schedule, tasks ---

Tiles Tiles::split(const Task&) const {
  Tiles tiles = *this;
  tiles.split_ = true;
  return tiles;
}

int Tiles::indices() const { return value_ == no_value ? 0 : state_->module.type(value_).slots; }

void Tiles::run(const std::function<void(std::vector<Index>&)>& fn, int wanted, std::source_location at) const {
  if (value_ == no_value) return;
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

Index Task::replica(std::source_location at) const {
  return state_->constant_handle(state_->emit(OpCode::replica, {}, {Type::scalar(Elem::i32)}, {}, at));
}

int Task::replicas() const { return state_->task_replicas; }

Index Task::offset(int64_t total, std::source_location at) const {
  if (total % replicas()) {
    state_->fault(
        "offset: " + std::to_string(total) + " does not divide among " + std::to_string(replicas()) + " replicas", at);
    return {};
  }
  return Operand(replica(at), at) * Operand(total / replicas(), at);
}

Accumulator Task::accumulator(Elem elem, Shape shape, std::source_location at) const {
  Accumulator acc;
  acc.state_ = state_;
  acc.value_ = state_->emit(OpCode::accumulator, {}, {Type::accumulator(shape, elem)}, {}, at);
  return acc;
}

Tile Task::full(Shape shape, Elem elem, Operand number) const {
  const Location at = number.at;
  const Value scalar = number.tile ? state_->read(*number.tile, at) : state_->literal(number, elem);
  return state_->handle(state_->emit(OpCode::splat, {scalar}, {Type::tile(shape, elem)}, {}, at), at);
}

Tile Task::iota(Shape shape, int axis, std::source_location at) const {
  return state_->handle(state_->emit(OpCode::iota, {}, {Type::tile(shape, Elem::i32)}, with_axis(axis), at), at);
}

void Task::sync(std::source_location at) const { state_->emit(OpCode::sync, {}, {}, {}, at); }

void Task::stage(std::string_view name, int priority, std::source_location at) const {
  Attrs attrs;
  attrs.set("name", std::string(name));
  attrs.set("priority", int64_t{priority});
  state_->emit(OpCode::stage, {}, {}, std::move(attrs), at);
}

TLXJIT_NAMESPACE_END
