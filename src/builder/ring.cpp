// src/builder/ring.cpp — rings and their slots.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tlxjit/builder/ring.h"

#include "src/builder/state_p.h"
#include "src/ir/check_p.h"
#include "tlxjit/builder/kernel.h"

TLXJIT_NAMESPACE_BEGIN

namespace {

/// Whether the ring was refused this field, which has been told.
bool refused(const BuilderState& s, Value ring, std::string_view field) {
  return s.refused_fields.count({ring, std::string(field)}) != 0;
}

}  // namespace

Ring Kernel::ring(int stages, std::source_location at) {
  // Fields come later, one slot() at a time: the op starts with none and is checked as a whole by verify().
  BuilderState& s = use(at);
  Ring ring;
  ring.state_ = s.shared_from_this();
  if (stages < 1 || stages > 64) {
    s.fault("ring: has 1 to 64 stages, not " + std::to_string(stages), at);
    return ring;
  }
  Attrs attrs;
  attrs.set("fields", std::string());
  auto op = s.module.make(OpCode::ring, {}, {Type::ring(stages)}, std::move(attrs), s.add_location(at));
  ring.value_ = op->results[0];
  s.blocks.back()->ops.push_back(std::move(op));
  return ring;
}

namespace {

/// Fields are written as one text, where a name ends at a space.
bool is_field_name(std::string_view name) {
  constexpr auto letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-";
  return !name.empty() && name.find_first_not_of(letters) == name.npos;
}

}  // namespace

Ring& Ring::slot(std::string_view field, Elem elem, Shape shape, std::source_location at) {
  Op* op = state_ && value_ != no_value ? state_->module.def(value_) : nullptr;
  if (!op) return *this;
  const std::string former(op->attrs.text("fields"));
  const std::string added = format_fields({{std::string(field), Type::view(shape, elem)}});
  std::string what = check_tile_type(Type::tile(shape, elem));
  if (!is_field_name(field)) what = "a field's name has letters, digits, '_', '.' and '-' only, and at least one";
  if (!known(elem)) what = "an element type that there is not";
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
    state_->refused_fields.emplace(value_, field);
  }
  return *this;
}

Ring& Ring::count(const char* side, int instances, const Location& at) {
  Op* op = state_ && value_ != no_value ? state_->module.def(value_) : nullptr;
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

Slot Ring::next(OpCode side, const Location& at) const {
  Slot slot;
  if (!state_) return slot;
  slot.state_ = state_;
  slot.ring_ = value_;
  slot.value_ = state_->emit(side, {value_}, {Type::slot()}, {}, at);
  return slot;
}

Slot Ring::acquire(std::source_location at) const { return next(OpCode::acquire, at); }
Slot Ring::wait(std::source_location at) const { return next(OpCode::wait_slot, at); }

void Slot::load(std::string_view field, const Tensor& tensor, std::initializer_list<Operand> offsets,
                std::source_location at) const {
  BuilderState* s = kernel_of({&state_, &tensor.state_}, at);
  if (!s || refused(*s, ring_, field)) return;
  Attrs attrs;
  attrs.set("field", std::string(field));
  s->emit(OpCode::load_field, prepend({value_, tensor.value_}, s->indices(offsets)), {}, std::move(attrs), at);
}

View Slot::operator[](Name field) const {
  View view;
  view.state_ = state_;
  if (!state_ || value_ == no_value || !state_->module.def(ring_) || refused(*state_, ring_, field.text)) return view;
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
  if (!s || refused(*s, ring_, field)) return;
  Attrs attrs;
  attrs.set("field", std::string(field));
  s->emit(OpCode::store_field, {value_, s->read(tile, at)}, {}, std::move(attrs), at);
}

void Slot::store(std::string_view field, const Tile& tile, const Task& task, std::source_location at) const {
  BuilderState* s = kernel_of({&state_, &task.state_}, at);
  if (!s || !task.is_here(at) || refused(*s, ring_, field)) return;
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

TLXJIT_NAMESPACE_END
