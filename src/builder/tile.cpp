// src/builder/tile.cpp — operators and functions on tiles.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tlxjit/builder/tile.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "src/builder/elementwise_p.h"
#include "tlxjit/builder/math.h"

TLXJIT_NAMESPACE_BEGIN

Tile elementwise(OpCode code, std::initializer_list<const Operand*> list, Attrs attrs, size_t first_value,
                 Elem result_elem) {
  const std::vector<const Operand*> operands(list);
  BuilderState* s = kernel_of(operands);
  if (!s)
    return of_no_kernel(operands,
                        "all values are numbers, whose element type is not known; compute with them in C++, or make a "
                        "tile or scalar of one",
                        operands[0]->at);
  const Location at = operands[0]->at;
  if (std::none_of(operands.begin() + static_cast<std::ptrdiff_t>(first_value), operands.end(),
                   [](const Operand* x) { return x->is_tile; })) {
    s->fault(std::string(info(code).text) +
                 ": both values are numbers, whose type is not known; make a tile or scalar of one of them",
             at);
    return s->poison();
  }
  auto fitted = s->fit(operands, {.repeat_from = first_value, .may_expand = true}, at);
  if (!fitted) return s->poison();
  Type result = s->module.type(fitted->values[first_value]);
  if (result_elem != Elem::none) result.elem = result_elem;
  Tile tile = s->handle(s->emit(code, std::move(fitted->values), {result}, std::move(attrs), at), at);
  Access::ref(tile).expanded = fitted->expanded;
  return tile;
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

Tile::Tile(const Tile& other) : ref_(other.ref_) {
  if (!valid() || !ref_.state->module.type(ref_.value).variable) return;
  BuilderState& s = *ref_.state;
  const Op* def = s.module.def(other.ref_.value);
  ref_ = s.copy(other.ref_, def ? s.module.location(*def) : Location()).ref_;
}

Tile::Tile(Tile&& other) noexcept : ref_(std::exchange(other.ref_, {})) {
  other.ref_.astray = valid() && ref_.state->of_outer_region(ref_.value);
}

Tile& Tile::operator=(const Tile& other) {
  if (this == &other) return *this;
  if (other.valid()) {
    const auto state = other.ref_.state;
    state->assign(*this, other);
  } else if (!valid()) {
    ref_ = other.ref_;
  } else {
    const Op* def = ref_.state->module.def(ref_.value);
    (void)ref_.state->read(other, def ? ref_.state->module.location(*def) : Location());
  }
  return *this;
}

Tile& Tile::operator=(Tile&& other) {
  if (this == &other) return *this;
  if (!valid() && !ref_.astray)  // takes the other's variable over
    ref_ = std::exchange(other.ref_, {});
  else
    *this = static_cast<const Tile&>(other);
  return *this;
}

void swap(Tile& a, Tile& b) {
  const Tile former(a);
  a = b;
  b = former;
}

Type Tile::type() const { return valid() ? ref_.state->module.type(ref_.value).as_value() : Type{}; }

Tile Tile::to(Elem elem, std::source_location at) const { return cast(Operand(*this, at), elem); }

Tile Tile::expand(int axis, std::source_location at) const {
  if (!ref_.state) {
    const Operand self(*this, at);
    return of_no_kernel({&self}, no_tile, at);
  }
  if (!valid()) return *this;
  BuilderState& s = *ref_.state;
  const int rank = shape().rank + std::popcount(ref_.expanded);
  if (rank == Shape::max_rank || axis < 0 || axis > rank) {
    s.fault(rank == Shape::max_rank
                ? "expand: a tile has at most " + std::to_string(rank) + " axes"
                : "expand: axis " + std::to_string(axis) + " is not one of 0 to " + std::to_string(rank),
            at);
    return s.poison();
  }
  Tile t(*this);
  if (rank == 0) return t;
  const unsigned low = (1u << axis) - 1, axes = t.ref_.expanded;
  t.ref_.expanded = static_cast<uint8_t>((axes & low) | 1u << axis | (axes & ~low) << 1);
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
