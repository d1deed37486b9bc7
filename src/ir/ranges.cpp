// src/ir/ranges.cpp — bounds of integer scalars.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "src/ir/ranges_p.h"

#include <algorithm>

TLXJIT_NAMESPACE_BEGIN

namespace {

constexpr NumberRange unknown = {-(Bound{1} << 100), Bound{1} << 100};

}  // namespace

NumberRange range_of(Elem elem) {
  if (elem == Elem::b1) return {0, 1};
  const int n = is_int(elem) ? bits(elem) : 64;
  if (is_unsigned_int(elem)) return {0, (Bound{1} << n) - 1};
  return {-(Bound{1} << (n - 1)), (Bound{1} << (n - 1)) - 1};
}

NumberRange Ranges::of(Value v) {
  if (auto found = known_.find(v); found != known_.end()) return found->second;
  const Type& type = module_.type(v);
  const NumberRange all = range_of(type.elem);
  const Op* op = module_.def(v);
  if (!type.is_scalar() || !op) return all;
  // A longer chain of values that nothing has asked for yet would exhaust the stack.
  constexpr int max_depth = 256;
  if (depth_ == max_depth) return all;
  ++depth_;
  NumberRange r = compute(*op, all);
  --depth_;
  if (!r.within(all)) r = all;  // it may wrap
  known_[v] = r;
  return r;
}

NumberRange Ranges::exact(const Op& op) {
  const NumberRange a = of(op.operand(0)), b = of(op.operand(1));
  if (op.code == OpCode::add) return {a.low + b.low, a.high + b.high};
  if (op.code == OpCode::sub) return {a.low - b.high, a.high - b.low};
  Bound p[4];
  if (__builtin_mul_overflow(a.low, b.low, &p[0]) || __builtin_mul_overflow(a.low, b.high, &p[1]) ||
      __builtin_mul_overflow(a.high, b.low, &p[2]) || __builtin_mul_overflow(a.high, b.high, &p[3]))
    return unknown;
  return {*std::min_element(p, p + 4), *std::max_element(p, p + 4)};
}

void Ranges::set_loop(Value variable, Value low, Value high) {
  const Bound first = of(low).low;
  known_[variable] = {first, std::max(first, of(high).high - 1)};
}

NumberRange Ranges::compute(const Op& op, const NumberRange& all) {
  switch (op.code) {
    case OpCode::constant: {
      const Attr* attr = op.attrs.find("value");
      const auto* i = attr ? std::get_if<int64_t>(attr) : nullptr;
      return i ? NumberRange{*i, *i} : all;
    }
    case OpCode::dim: return {op.attrs.integer("min", 0), op.attrs.integer("max", INT32_MAX)};
    case OpCode::scalar: {
      const Attr *least = op.attrs.find("min"), *most = op.attrs.find("max");
      return {least ? std::get<int64_t>(*least) : all.low, most ? std::get<int64_t>(*most) : all.high};
    }
    case OpCode::program_id: return {0, all.high - 1};
    case OpCode::num_programs: return {1, all.high};
    case OpCode::replica: return {0, 31};
    case OpCode::add:
    case OpCode::sub:
    case OpCode::mul: return exact(op);
    case OpCode::div:
    case OpCode::ceil_div: {
      const NumberRange a = of(op.operand(0)), b = of(op.operand(1));
      if (a.low < 0 || b.low < 1) return all;
      const bool up = op.code == OpCode::ceil_div;
      return {(a.low + (up ? b.high - 1 : 0)) / b.high, (a.high + (up ? b.low - 1 : 0)) / b.low};
    }
    case OpCode::mod: {
      const NumberRange a = of(op.operand(0)), b = of(op.operand(1));
      if (a.low < 0 || b.low < 1) return all;
      return {0, std::min(a.high, b.high - 1)};
    }
    case OpCode::min: {
      const NumberRange a = of(op.operand(0)), b = of(op.operand(1));
      return {std::min(a.low, b.low), std::min(a.high, b.high)};
    }
    case OpCode::max: {
      const NumberRange a = of(op.operand(0)), b = of(op.operand(1));
      return {std::max(a.low, b.low), std::max(a.high, b.high)};
    }
    case OpCode::select: {
      const NumberRange a = of(op.operand(1)), b = of(op.operand(2));
      return {std::min(a.low, b.low), std::max(a.high, b.high)};
    }
    case OpCode::cast: {
      const Type& from = module_.type(op.operand(0));
      return is_float(from.elem) ? all : of(op.operand(0));
    }
    case OpCode::bit_and: {
      const NumberRange a = of(op.operand(0)), b = of(op.operand(1));
      return a.low >= 0 && b.low >= 0 ? NumberRange{0, std::min(a.high, b.high)} : all;
    }
    default: return all;
  }
}

TLXJIT_NAMESPACE_END
