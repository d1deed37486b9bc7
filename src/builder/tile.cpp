// src/builder/tile.cpp — operators and functions on tiles.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tlxjit/builder/tile.h"

#include <utility>

#include "src/builder/elementwise_p.h"

TLXJIT_NAMESPACE_BEGIN

namespace {

/// An operand read at its place, its pending expansion not yet carried out.
struct Read {
  Value value = no_value;
  int expand_axis = -1;
};

BuilderState* state_of(std::initializer_list<const Operand*> operands) {
  for (const Operand* operand : operands)
    if (operand->tile && operand->tile->valid()) return Access::state(*operand->tile).get();
  return nullptr;
}

Read read(BuilderState& s, const Operand& operand) {
  return {s.read(*operand.tile, operand.at), Access::expand_axis(*operand.tile)};
}

/// Brings a value to `shape`: repeats a scalar, carries out an expansion.
Value fit(BuilderState& s, Read r, const Shape& shape, const Location& at) {
  if (r.value == no_value) return no_value;
  const Type type = s.module.type(r.value);
  if (r.expand_axis >= 0 && shape.rank == type.shape.rank + 1) {
    Attrs attrs;
    attrs.set("axis", int64_t{r.expand_axis});
    return s.emit(OpCode::broadcast, {r.value}, {Type::tile(shape, type.elem)}, std::move(attrs), at);
  }
  if (type.is_scalar() && shape.rank > 0)
    return s.emit(OpCode::splat, {r.value}, {Type::tile(shape, type.elem)}, {}, at);
  return r.value;
}

}  // namespace

Tile elementwise(OpCode code, std::initializer_list<const Operand*> operands, Attrs attrs, size_t first_value,
                 Elem result_elem) {
  BuilderState* s = state_of(operands);
  if (!s) return {};
  const Location at = (*operands.begin())->at;
  std::vector<Read> reads;
  Elem elem = Elem::none;
  Shape shape;
  size_t i = 0;
  for (const Operand* operand : operands) {
    if (operand->tile && !operand->tile->valid()) return {};  // poison
    reads.push_back(operand->tile ? read(*s, *operand) : Read{});
    if (operand->tile) {
      if (reads.back().value == no_value) return {};
      const Type type = s->module.type(reads.back().value);
      if (i >= first_value && elem == Elem::none) elem = type.elem;
      if (reads.back().expand_axis < 0 && type.shape.rank > shape.rank) shape = type.shape;
    }
    ++i;
  }
  if (elem == Elem::none) {
    s->fault(std::string(info(code).text) +
                 ": both values are numbers, whose type is not known; make a tile or scalar of one of them",
             at);
    return {};
  }
  std::vector<Value> values;
  i = 0;
  for (const Operand* operand : operands) {
    Read r = reads[i];
    if (!operand->tile) r.value = s->literal(*operand, elem);
    // A scalar condition chooses whole tiles; everything else is brought to one shape.
    const bool keeps_shape = i++ < first_value && r.value != no_value && s->module.type(r.value).is_scalar();
    values.push_back(keeps_shape ? r.value : fit(*s, r, shape, at));
    if (values.back() == no_value) return {};
  }
  Type result = s->module.type(values[first_value]);
  if (result_elem != Elem::none) result.elem = result_elem;
  return s->handle(s->emit(code, std::move(values), {result}, std::move(attrs), at), at);
}

namespace {

Tile compare(const char* pred, const Operand& a, const Operand& b) {
  Attrs attrs;
  attrs.set("pred", std::string(pred));
  return elementwise(OpCode::cmp, {&a, &b}, std::move(attrs), 0, Elem::b1);
}

}  // namespace

Tile::Tile() = default;
Tile::~Tile() = default;

Tile::Tile(const Tile& other) : state_(other.state_), value_(other.value_), expand_axis_(other.expand_axis_) {
  if (!valid() || !state_->module.type(value_).variable) return;
  const Op* def = state_->module.def(other.value_);
  const Location at = def ? state_->module.location(*def) : Location();
  value_ = Access::value(state_->handle(state_->read(other, at), at));
}

Tile::Tile(Tile&& other) noexcept
    : state_(std::move(other.state_)),
      value_(std::exchange(other.value_, no_value)),
      expand_axis_(other.expand_axis_) {}

Tile& Tile::operator=(const Tile& other) {
  if (this != &other && other.valid()) {
    auto state = other.state_;
    state->assign(*this, other);
  }
  return *this;
}

Tile& Tile::operator=(Tile&& other) {
  if (this == &other) return *this;
  if (!valid()) {  // takes the other's variable over
    state_ = std::move(other.state_);
    value_ = std::exchange(other.value_, no_value);
    expand_axis_ = other.expand_axis_;
  } else if (other.valid()) {
    auto state = other.state_;
    state->assign(*this, other);
  }
  return *this;
}

Type Tile::type() const { return valid() ? state_->module.type(value_).as_value() : Type{}; }

Tile Tile::to(Elem elem, std::source_location at) const {
  if (!valid()) return {};
  const Value v = state_->read(*this, at);
  if (v == no_value || state_->module.type(v).elem == elem) return state_->handle(v, at);
  return state_->handle(state_->emit(OpCode::cast, {v}, {state_->module.type(v).with_elem(elem)}, {}, at), at);
}

Tile Tile::expand(int axis) const {
  Tile t(*this);
  t.expand_axis_ = static_cast<int8_t>(axis);
  return t;
}

Tile operator+(Operand a, Operand b) { return elementwise(OpCode::add, {&a, &b}); }
Tile operator-(Operand a, Operand b) { return elementwise(OpCode::sub, {&a, &b}); }
Tile operator*(Operand a, Operand b) { return elementwise(OpCode::mul, {&a, &b}); }
Tile operator/(Operand a, Operand b) { return elementwise(OpCode::div, {&a, &b}); }
Tile operator%(Operand a, Operand b) { return elementwise(OpCode::mod, {&a, &b}); }
Tile operator&(Operand a, Operand b) { return elementwise(OpCode::bit_and, {&a, &b}); }
Tile operator|(Operand a, Operand b) { return elementwise(OpCode::bit_or, {&a, &b}); }
Tile operator^(Operand a, Operand b) { return elementwise(OpCode::bit_xor, {&a, &b}); }
Tile operator<<(Operand a, Operand b) { return elementwise(OpCode::shl, {&a, &b}); }
Tile operator>>(Operand a, Operand b) { return elementwise(OpCode::shr, {&a, &b}); }
Tile operator==(Operand a, Operand b) { return compare("eq", a, b); }
Tile operator!=(Operand a, Operand b) { return compare("ne", a, b); }
Tile operator<(Operand a, Operand b) { return compare("lt", a, b); }
Tile operator<=(Operand a, Operand b) { return compare("le", a, b); }
Tile operator>(Operand a, Operand b) { return compare("gt", a, b); }
Tile operator>=(Operand a, Operand b) { return compare("ge", a, b); }
Tile operator-(Operand a) { return elementwise(OpCode::neg, {&a}); }
Tile operator!(Operand a) { return elementwise(OpCode::bit_not, {&a}); }
Tile operator~(Operand a) { return elementwise(OpCode::bit_not, {&a}); }

Tile min(Operand a, Operand b) { return elementwise(OpCode::min, {&a, &b}); }
Tile max(Operand a, Operand b) { return elementwise(OpCode::max, {&a, &b}); }
Tile ceil_div(Operand a, Operand b) { return elementwise(OpCode::ceil_div, {&a, &b}); }
Tile abs(Operand a) { return elementwise(OpCode::abs, {&a}); }
Tile select(Operand c, Operand yes, Operand no) { return elementwise(OpCode::select, {&c, &yes, &no}, {}, 1); }

TLXJIT_NAMESPACE_END
