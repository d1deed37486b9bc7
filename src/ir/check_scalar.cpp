// src/ir/check_scalar.cpp — rules of constants and elementwise arithmetic, on scalars and tiles alike.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "src/ir/check_p.h"

TLXJIT_NAMESPACE_BEGIN

namespace {

bool is_value(const Type& t) { return t.is_scalar() || t.is_tile(); }
bool computes(Elem e) { return is_float(e) && e <= Elem::f64; }  // fp8 and fp4 only convert

std::string mismatch(const Type& a, const Type& b) {
  return "the operands differ: " + to_string(a) + " and " + to_string(b) + "; cast or broadcast one of them";
}

std::string check_constant(const Type& type, const Op& op) {
  if (!type.is_scalar()) return "gives a scalar, not " + to_string(type);
  const Attr* value = op.attrs.find("value");
  const bool real = std::holds_alternative<double>(*value);
  if (!real && !std::holds_alternative<int64_t>(*value)) return "needs a number";
  if (is_float(type.elem) != real) return "the value does not fit " + to_string(type);
  if (real) return {};
  const int64_t v = std::get<int64_t>(*value);
  if (type.elem == Elem::b1) return v == 0 || v == 1 ? "" : "a b1 is 0 or 1";
  const int n = bits(type.elem);
  if (is_signed_int(type.elem) && n < 64 && (v < -(int64_t{1} << (n - 1)) || v >= int64_t{1} << (n - 1)))
    return std::to_string(v) + " does not fit " + to_string(type);
  if (is_unsigned_int(type.elem) && n < 64 && (v < 0 || v >= int64_t{1} << n))
    return std::to_string(v) + " does not fit " + to_string(type);
  return {};
}

std::string check_cast(const Module& module, const Op& op) {
  const Type& a = module.type(op.operands[0]);
  const Type& result = module.type(op.results[0]);
  if (!is_value(result) || result.shape != a.shape || result.kind != a.kind)
    return "a cast keeps the shape: " + to_string(a) + " to " + to_string(result);
  if (op.code == OpCode::bitcast) {
    if (a.elem == Elem::b1 || result.elem == Elem::b1) return "a b1 is no pattern of bits; cast it";
    const auto size = [](Elem e) { return e == Elem::f4e2m1 ? 8 : bits(e); };
    return size(a.elem) == size(result.elem) ? "" : "the sizes differ: " + to_string(a) + " and " + to_string(result);
  }

  const std::string_view rounding = op.attrs.text("rounding");
  if (op.attrs.find("rounding") && rounding != "rne" && rounding != "rtz" && rounding != "stochastic")
    return "rounding is rne, rtz or stochastic";
  if (!rounding.empty() && (!is_float(a.elem) || !is_float(result.elem)))
    return "rounding is for floats; a cast to integers truncates, one from integers is to nearest even";
  const bool stochastic = rounding == "stochastic";
  if (stochastic != (op.operands.size() == 2)) return "random bits, operand 1, go with rounding = stochastic";
  if (stochastic) {
    if (a.elem != Elem::f32 || !is_float(result.elem) || bits(result.elem) > 16 || result.elem == Elem::e8m0)
      return "rounds stochastically from f32 to f16, bf16, f8e4m3, f8e5m2 or f4e2m1, not from " +
             std::string(to_string(a.elem)) + " to " + to_string(result.elem);
    const Type random = a.with_elem(Elem::u32);
    if (module.type(op.operands[1]) != random)
      return "random bits are " + to_string(random) + ", not " + to_string(module.type(op.operands[1]));
  }

  const Attr* saturate = op.attrs.find("saturate");
  if (!saturate) return {};
  const auto* value = std::get_if<int64_t>(saturate);
  if (!value || (*value != 0 && *value != 1)) return "saturate is 0 or 1";
  if (result.elem == Elem::b1) return "b1 holds all that there is, x ≠ 0: leave saturate out";
  if (*value == 0 && is_float(a.elem) && is_int(result.elem)) return "a float saturates when it becomes an integer";
  if (*value == 0 && result.elem == Elem::f4e2m1) return "f4e2m1 has neither inf nor NaN, so it saturates";
  return {};
}

}  // namespace

bool cast_saturates(const Op& op, Elem from, Elem to) {
  return op.attrs.integer("saturate", bits(to) < 16 && is_float(to) ? 1 : is_float(from) && is_int(to));
}

std::string check_scalar(const Module& module, const Op& op) {
  const Type& result = module.type(op.results[0]);
  if (op.code == OpCode::constant) return check_constant(result, op);

  std::vector<Type> in;
  for (Value v : op.operands) in.push_back(module.type(v));
  for (const Type& t : in)
    if (!is_value(t)) return "works on scalars and tiles, not on " + to_string(t);
  const Type& a = in[0];

  if (op.code == OpCode::cast || op.code == OpCode::bitcast) return check_cast(module, op);
  if (op.code == OpCode::select) {
    const Type& c = in[0];
    if (c.elem != Elem::b1) return "the condition is b1, not " + to_string(c);
    if (in[1] != in[2]) return mismatch(in[1], in[2]);
    if (c.is_tile() && c.shape != in[1].shape) return mismatch(c, in[1]);
    return result == in[1] ? "" : "gives " + to_string(in[1]) + ", not " + to_string(result);
  }
  for (size_t i = 1; i < in.size(); ++i)
    if (in[i] != a) return mismatch(a, in[i]);

  bool fits = true;
  const char* wants = "numbers";
  switch (op.code) {
    case OpCode::min_nan:
    case OpCode::max_nan: fits = computes(a.elem), wants = "f16, bf16, f32 or f64"; break;
    case OpCode::mod:
    case OpCode::floor_div:
    case OpCode::floor_mod:
    case OpCode::ceil_div:
    case OpCode::mulhi:
    case OpCode::popcount:
    case OpCode::clz:
    case OpCode::shl:
    case OpCode::shr: fits = is_int(a.elem), wants = "integers"; break;
    case OpCode::bit_not:
    case OpCode::bit_and:
    case OpCode::bit_or:
    case OpCode::bit_xor: fits = is_int(a.elem) || a.elem == Elem::b1, wants = "integers or b1"; break;
    case OpCode::neg:
    case OpCode::abs: fits = computes(a.elem) || is_signed_int(a.elem), wants = "signed numbers"; break;
    case OpCode::cmp: {
      const std::string_view p = op.attrs.text("pred");
      if (p != "eq" && p != "ne" && p != "lt" && p != "le" && p != "gt" && p != "ge")
        return "pred is eq, ne, lt, le, gt or ge";
      fits = computes(a.elem) || is_int(a.elem) || (a.elem == Elem::b1 && (p == "eq" || p == "ne"));
      break;
    }
    default:
      fits = computes(a.elem) || (is_int(a.elem) && info(op.code).family != Family::math);
      if (info(op.code).family == Family::math) wants = "f16, bf16, f32 or f64";
  }
  if (!fits) return "works on " + std::string(wants) + ", not on " + to_string(a);
  const Type expected = op.code == OpCode::cmp ? a.with_elem(Elem::b1) : a;
  return result == expected ? "" : "gives " + to_string(expected) + ", not " + to_string(result);
}

std::string check_tile(const Module& module, const Op& op) {
  const Type& result = module.type(op.results[0]);
  if (!result.is_tile() || !result.shape.valid() || result.shape.rank == 0)
    return to_string(result) + " is no tile (rank 1 to 5, each extent 1 to 2^20, at most 2^24 elements)";
  const int64_t axis = op.attrs.integer("axis", -1);
  if (op.code == OpCode::iota) {
    if (result.elem != Elem::i32) return "gives i32";
    return axis >= 0 && axis < result.shape.rank ? "" : "axis is out of range";
  }
  const Type& a = module.type(op.operands[0]);
  if (op.code == OpCode::splat)
    return a.is_scalar() && a.elem == result.elem ? ""
                                                  : "repeats a scalar of the tile's element type, not " + to_string(a);
  if (!a.is_tile()) return "works on tiles, not on " + to_string(a);
  if (a.elem != result.elem) return "keeps the element type: " + to_string(a) + " to " + to_string(result);

  if (op.code == OpCode::finish) {
    if (a != result) return "keeps the type";
  } else {
    // broadcast inserts the axis that reduce removes
    const Shape& more = op.code == OpCode::broadcast ? result.shape : a.shape;
    const Shape& less = op.code == OpCode::broadcast ? a.shape : result.shape;
    if (axis < 0 || axis >= more.rank) return "axis is out of range";
    if (more.rank != less.rank + 1) return "the ranks differ by one: " + to_string(a) + " and " + to_string(result);
    for (int i = 0, j = 0; i < more.rank; ++i)
      if (i != axis && more[i] != less[j++])
        return "the other axes stay: " + to_string(a) + " and " + to_string(result);
    if (op.code == OpCode::broadcast) return {};
    const int64_t partial = op.attrs.integer("partial", -1);
    if (partial != 0 && partial != 1) return "partial is 0 or 1";
  }
  const std::string_view kind = op.attrs.text("kind");
  if (kind != "sum" && kind != "max") return "kind is sum or max";
  return a.elem == Elem::f32 ? "" : "works on f32, not on " + to_string(a) + "; cast first";
}

TLXJIT_NAMESPACE_END
