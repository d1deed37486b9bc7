// src/ir/evaluate.cpp — integer arithmetic of the IR on known numbers.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "src/ir/evaluate_p.h"

#include <algorithm>
#include <limits>

TLXJIT_NAMESPACE_BEGIN

namespace {

constexpr Evaluated too_large{0, Lack::overflow};

Evaluated divide(OpCode code, int64_t x, int64_t y) {
  if (y == 0) return {0, Lack::division_by_zero};
  if (y == -1 && x == std::numeric_limits<int64_t>::min()) return too_large;
  const int64_t rest = x % y;
  const bool down = rest != 0 && (rest < 0) != (y < 0);  // the quotient was rounded up
  switch (code) {
    case OpCode::mod: return {rest};
    case OpCode::floor_mod: return {down ? rest + y : rest};
    case OpCode::floor_div: return {x / y - down};
    case OpCode::ceil_div: return {x / y + (rest > 0)};
    default: return {x / y};
  }
}

Evaluated shift(OpCode code, Elem elem, int64_t x, int64_t y) {
  const int64_t amount = y & (bits(elem) - 1);
  if (code == OpCode::shr) return {x >> amount};
  int64_t r = 0;
  if (amount > 62) return x == 0 ? Evaluated{0} : too_large;
  return __builtin_mul_overflow(x, int64_t{1} << amount, &r) ? too_large : Evaluated{r};
}

Evaluated compute(OpCode code, Elem elem, Predicate pred, int64_t x, int64_t y) {
  int64_t r = 0;
  const auto unless = [&](bool overflow) { return overflow ? too_large : Evaluated{r}; };
  switch (code) {
    case OpCode::cast: return {elem == Elem::b1 ? x != 0 : x};
    case OpCode::bit_not: return {elem == Elem::b1 ? int64_t{!x} : ~x};
    case OpCode::neg: return unless(__builtin_sub_overflow(int64_t{0}, x, &r));
    case OpCode::abs: return x >= 0 ? Evaluated{x} : unless(__builtin_sub_overflow(int64_t{0}, x, &r));
    case OpCode::add: return unless(__builtin_add_overflow(x, y, &r));
    case OpCode::sub: return unless(__builtin_sub_overflow(x, y, &r));
    case OpCode::mul: return unless(__builtin_mul_overflow(x, y, &r));
    case OpCode::div:
    case OpCode::mod:
    case OpCode::floor_div:
    case OpCode::floor_mod:
    case OpCode::ceil_div: return divide(code, x, y);
    case OpCode::min: return {std::min(x, y)};
    case OpCode::max: return {std::max(x, y)};
    case OpCode::bit_and: return {x & y};
    case OpCode::bit_or: return {x | y};
    case OpCode::bit_xor: return {x ^ y};
    case OpCode::shl:
    case OpCode::shr: return shift(code, elem, x, y);
    case OpCode::cmp: return {holds(pred, x, y)};
    default: return too_large;  // evaluates() names no other
  }
}

}  // namespace

bool fits(int64_t x, Elem elem) {
  if (elem == Elem::b1) return x == 0 || x == 1;
  if (!is_int(elem)) return false;
  const int n = bits(elem);
  if (is_unsigned_int(elem)) return x >= 0 && (n >= 63 || x < (int64_t{1} << n));
  return n == 64 || (x >= -(int64_t{1} << (n - 1)) && x < (int64_t{1} << (n - 1)));
}

int64_t integer_of(uint64_t pattern, Elem elem) {
  const int n = elem == Elem::b1 ? 1 : bits(elem);
  if (n >= 64) return static_cast<int64_t>(pattern);
  const uint64_t low = pattern & ((uint64_t{1} << n) - 1);
  if (!is_signed_int(elem)) return static_cast<int64_t>(low);
  return static_cast<int64_t>(low << (64 - n)) >> (64 - n);
}

std::optional<int64_t> known_number(const Module& module, Value v) {
  const Op* op = module.def(v);
  const Type& type = module.type(v);
  if (!op || !type.is_scalar() || (!is_int(type.elem) && type.elem != Elem::b1)) return std::nullopt;
  if (op->code == OpCode::constant) {
    const Attr* value = op->attrs.find("value");
    const auto* number = value ? std::get_if<int64_t>(value) : nullptr;
    // A u64 of 2^63 or more stands in the attribute as a number below 0.
    return number && fits(*number, type.elem) ? std::optional(*number) : std::nullopt;
  }
  if ((op->code != OpCode::dim && op->code != OpCode::scalar) || !op->attrs.find("min") || !op->attrs.find("max"))
    return std::nullopt;
  const int64_t number = op->attrs.integer("min");
  return op->attrs.integer("max") == number ? std::optional(number) : std::nullopt;
}

bool evaluates(OpCode code) {
  switch (code) {
    case OpCode::cast:
    case OpCode::bit_not:
    case OpCode::neg:
    case OpCode::abs:
    case OpCode::add:
    case OpCode::sub:
    case OpCode::mul:
    case OpCode::div:
    case OpCode::mod:
    case OpCode::floor_div:
    case OpCode::floor_mod:
    case OpCode::ceil_div:
    case OpCode::min:
    case OpCode::max:
    case OpCode::bit_and:
    case OpCode::bit_or:
    case OpCode::bit_xor:
    case OpCode::shl:
    case OpCode::shr:
    case OpCode::cmp: return true;
    default: return false;
  }
}

Evaluated evaluate(OpCode code, Elem elem, Predicate pred, int64_t x, int64_t y) {
  const Evaluated result = compute(code, elem, pred, x, y);
  return result.ok() && !fits(result.value, elem) ? too_large : result;
}

TLXJIT_NAMESPACE_END
