// src/ir/check_scalar.cpp — rules of constants and elementwise arithmetic, on scalars and tiles alike.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "src/ir/check_p.h"
#include "src/ir/words_p.h"

TLXJIT_NAMESPACE_BEGIN

namespace {

/// The axes along which a tile of shape `a` may repeat to have shape `b`, as the calls that say so.
std::string expansions(const Shape& a, const Shape& b) {
  std::string calls;
  for (int axis = 0; a.rank + 1 == b.rank && axis < b.rank; ++axis) {
    bool fits = true;
    for (int i = 0; i < a.rank; ++i) fits &= a[i] == b[i < axis ? i : i + 1];
    if (fits) calls += (calls.empty() ? ".expand(" : " or .expand(") + std::to_string(axis) + ")";
  }
  return calls;
}

/// What is wrong with two operands that should have one shape, and one element type unless they `may_differ`.
std::string mismatch(const Type& a, const Type& b, bool may_differ = false) {
  std::string text = "the operands differ: " + to_string(a) + " and " + to_string(b);
  if (a.elem != b.elem && !may_differ) text += "; cast one of them with .to<T>()";
  if (a.shape == b.shape) return text;
  if (a.is_scalar() || b.is_scalar()) return text + "; splat the scalar";
  const bool a_is_wider = a.shape.rank > b.shape.rank;
  const std::string calls = a_is_wider ? expansions(b.shape, a.shape) : expansions(a.shape, b.shape);
  if (calls.empty()) return text + "; tiles that meet have one shape";
  return text + "; repeat " + to_string(a_is_wider ? b : a) + " with " + calls;
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
    if (c.is_tile() && c.shape != in[1].shape) return mismatch(c, in[1], /*may_differ=*/true);
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
      const auto p = from_word<Predicate>(op.attrs.text("pred"));
      if (!p) return "pred is " + all_words<Predicate>();
      fits = computes(a.elem) || is_int(a.elem) || (a.elem == Elem::b1 && (p == Predicate::eq || p == Predicate::ne));
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

TLXJIT_NAMESPACE_END
