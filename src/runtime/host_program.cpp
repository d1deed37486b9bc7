// src/runtime/host_program.cpp — module-level integer expressions without allocation.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "src/runtime/host_program_p.h"

#include <algorithm>
#include <limits>

#include "src/ir/signature_p.h"
#include "src/ir/words_p.h"
#include "src/runtime/guard_p.h"

TLXJIT_NAMESPACE_BEGIN
namespace runtime {

namespace {

bool fits(int64_t x, Elem elem) {
  if (elem == Elem::b1) return x == 0 || x == 1;
  if (!is_int(elem)) return false;
  const int n = bits(elem);
  if (is_unsigned_int(elem)) return x >= 0 && (n >= 63 || x < (int64_t{1} << n));
  return n == 64 || (x >= -(int64_t{1} << (n - 1)) && x < (int64_t{1} << (n - 1)));
}

/// The integer that the low bits of `pattern` stand for.
int64_t integer_of(uint64_t pattern, Elem elem) {
  const int n = elem == Elem::b1 ? 1 : bits(elem);
  if (n >= 64) return static_cast<int64_t>(pattern);
  const uint64_t low = pattern & ((uint64_t{1} << n) - 1);
  if (!is_signed_int(elem)) return static_cast<int64_t>(low);
  return static_cast<int64_t>(low << (64 - n)) >> (64 - n);
}

Error refuse(const Module& module, const Op* op, const std::string& message) {
  Error error = error_of(ErrorKind::user, Stage::verify, ErrorCode::unsupported, message);
  if (op) error.location = module.location(*op);
  return error;
}

template <class List>
int64_t index_in(const List& list, Value value) {
  const auto found = std::find_if(list.begin(), list.end(), [&](const auto& item) { return item.value == value; });
  return found - list.begin();
}

}  // namespace

Result<uint16_t> HostProgram::add(const Module& module, const Abi& abi, Value value) {
  return add(module, abi, value, 0);
}

Result<uint16_t> HostProgram::add(const Module& module, const Abi& abi, Value value, size_t above) {
  for (const auto& [known, place] : places_)
    if (known == value) return place;
  const Op* op = module.def(value);
  if (!op) return refuse(module, op, "a block argument has no value on the host");
  if (const std::string what = check_host_op(module, *op); !what.empty())
    return refuse(module, op, std::string(info(op->code).text) + ": " + what);
  // The ops above this one become steps as well; asked first, so that a long chain does not exhaust the stack.
  if (steps_.size() + above >= max_steps)
    return refuse(module, op,
                  "the expressions for extents and grid have more than " + std::to_string(max_steps) + " ops");
  Step step;
  step.code = op->code;
  step.elem = module.type(value).elem;
  step.op = op;
  uint16_t* const inputs[] = {&step.a, &step.b, &step.c};
  for (size_t i = 0; i < op->operands.size() && i < 3; ++i) {
    auto place = add(module, abi, op->operand(i), above + 1);
    if (!place) return place;
    *inputs[i] = *place;
  }
  if (op->code == OpCode::constant) step.number = op->attrs.integer("value");
  if (op->code == OpCode::cmp) step.number = static_cast<int64_t>(word_of<Predicate>(*op, "pred"));
  if (op->code == OpCode::dim) step.number = index_in(abi.dims, value);
  if (op->code == OpCode::scalar) step.number = index_in(abi.scalars, value);
  steps_.push_back(step);
  const auto place = static_cast<uint16_t>(steps_.size() - 1);
  places_.emplace_back(value, place);
  return place;
}

HostProgram::Number HostProgram::compute(uint16_t place, std::span<const int32_t> dims,
                                         std::span<const uint64_t> scalars, int64_t sms,
                                         std::span<const Number> values) const {
  const Step& s = steps_[place];
  const Number &a = values[s.a], &b = values[s.b], &c = values[s.c];
  const Number too_large{0, Lack::overflow, place};
  int64_t r = 0;
  const auto unless = [&](bool overflow) { return overflow ? too_large : Number{r}; };
  switch (s.code) {
    case OpCode::constant: return {s.number};
    case OpCode::sms: return {sms};
    case OpCode::dim: return {dims[static_cast<size_t>(s.number)]};
    case OpCode::scalar: return {integer_of(scalars[static_cast<size_t>(s.number)], s.elem)};
    default: break;
  }
  if (!a.ok()) return a;
  const int64_t x = a.value;
  switch (s.code) {
    case OpCode::select: return x ? b : c;
    case OpCode::cast: return s.elem == Elem::b1 ? Number{x != 0} : a;
    case OpCode::bit_not: return {s.elem == Elem::b1 ? int64_t{!x} : ~x};
    case OpCode::neg: return unless(__builtin_sub_overflow(int64_t{0}, x, &r));
    case OpCode::abs: return x >= 0 ? a : unless(__builtin_sub_overflow(int64_t{0}, x, &r));
    default: break;
  }
  if (!b.ok()) return b;
  const int64_t y = b.value;
  switch (s.code) {
    case OpCode::add: return unless(__builtin_add_overflow(x, y, &r));
    case OpCode::sub: return unless(__builtin_sub_overflow(x, y, &r));
    case OpCode::mul: return unless(__builtin_mul_overflow(x, y, &r));
    case OpCode::div:
    case OpCode::mod:
    case OpCode::floor_div:
    case OpCode::floor_mod:
    case OpCode::ceil_div: {
      if (y == 0) return {0, Lack::division_by_zero, place};
      if (y == -1 && x == std::numeric_limits<int64_t>::min()) return too_large;
      const int64_t rest = x % y;
      const bool down = rest != 0 && (rest < 0) != (y < 0);  // the quotient was rounded up
      if (s.code == OpCode::mod) return {rest};
      if (s.code == OpCode::floor_mod) return {down ? rest + y : rest};
      if (s.code == OpCode::floor_div) return {x / y - down};
      return {x / y + (s.code == OpCode::ceil_div && rest > 0)};
    }
    case OpCode::min: return {std::min(x, y)};
    case OpCode::max: return {std::max(x, y)};
    case OpCode::bit_and: return {x & y};
    case OpCode::bit_or: return {x | y};
    case OpCode::bit_xor: return {x ^ y};
    case OpCode::shl:
    case OpCode::shr: {
      const int64_t amount = y & (bits(s.elem) - 1);
      if (s.code == OpCode::shr) return {x >> amount};
      if (amount > 62) return x == 0 ? Number{0} : too_large;
      return unless(__builtin_mul_overflow(x, int64_t{1} << amount, &r));
    }
    case OpCode::cmp: return {holds(static_cast<Predicate>(s.number), x, y)};
    default: return too_large;  // has_meaning() names no other
  }
}

void HostProgram::run(std::span<const int32_t> dims, std::span<const uint64_t> scalars, int64_t sms,
                      std::span<Number> values) const {
  for (size_t i = 0; i < steps_.size(); ++i) {
    const auto step = static_cast<uint16_t>(i);
    values[i] = compute(step, dims, scalars, sms, values);
    if (values[i].ok() && !fits(values[i].value, steps_[i].elem)) values[i] = {0, Lack::overflow, step};
  }
}

}  // namespace runtime
TLXJIT_NAMESPACE_END
