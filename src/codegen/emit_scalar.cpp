// src/codegen/emit_scalar.cpp — pure ops on one element: scalars, and the elements of tiles.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fmt/format.h>

#include <array>
#include <bit>
#include <charconv>
#include <cmath>

#include "src/codegen/emitter_p.h"
#include "src/ir/evaluate_p.h"
#include "src/ir/words_p.h"

TLXJIT_NAMESPACE_BEGIN

const char* c_type(Elem elem) {
  switch (elem) {
    case Elem::b1: return "bool";
    case Elem::i8: return "signed char";
    case Elem::i16: return "short";
    case Elem::i32: return "i32";
    case Elem::i64: return "i64";
    case Elem::u8: return "unsigned char";
    case Elem::u16: return "unsigned short";
    case Elem::u32: return "u32";
    case Elem::u64: return "u64";
    case Elem::f32: return "f32";
    case Elem::f64: return "double";
    case Elem::f16:
    case Elem::bf16: return "unsigned short";
    case Elem::f8e4m3:
    case Elem::f8e5m2:
    case Elem::e8m0: return "unsigned char";
    default: return "u32";
  }
}

const char* register_type(Elem elem) { return is_packed(elem) ? "u32" : c_type(elem); }

std::string identifier(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const bool known = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
    out += known ? c : '_';
  }
  return out;
}

std::string parameter_name(char kind, Value value, std::string_view name) {
  const std::string known = identifier(name);
  const bool is_of_its_own = known == name && name.find("_stride") == std::string_view::npos;
  return is_of_its_own ? fmt::format("{}_{}", kind, name) : fmt::format("{}{}_{}", kind, value, known);
}

std::string name_of(const AbiTensor& tensor) { return parameter_name('t', tensor.value, tensor.name); }

std::string stride_name(const AbiTensor& tensor, size_t axis) {
  return fmt::format("{}_stride{}", name_of(tensor), axis);
}

std::string literal(const Op& constant, Elem elem) {
  const Attr* attr = constant.attrs.find("value");
  const auto* i = attr ? std::get_if<int64_t>(attr) : nullptr;
  const auto* d = attr ? std::get_if<double>(attr) : nullptr;
  if (elem == Elem::f32) {
    const float value = d ? static_cast<float>(*d) : i ? static_cast<float>(*i) : 0.0f;
    if (!std::isfinite(value)) return fmt::format("__int_as_float(0x{:08x})", std::bit_cast<uint32_t>(value));
    char text[40];
    const auto end = std::to_chars(text, text + sizeof text, value).ptr;
    std::string s(text, end);
    if (s.find_first_of(".e") == std::string::npos) s += ".0";
    return std::signbit(value) ? "(" + s + "f)" : s + "f";  // of −0 too: `-` before it would make `--`
  }
  if (elem == Elem::f64) {
    const double value = d ? *d : i ? static_cast<double>(*i) : 0.0;
    return fmt::format("__longlong_as_double(0x{:016x})", std::bit_cast<uint64_t>(value));
  }
  return literal(i ? *i : 0, elem);
}

std::string literal(int64_t value, Elem elem) {
  if (elem == Elem::b1) return value ? "true" : "false";
  if (elem == Elem::i64 && value == INT64_MIN) return "(-9223372036854775807ll - 1)";
  if (elem == Elem::i64) return fmt::format("(i64){}ll", value);
  if (elem == Elem::u64) return fmt::format("(u64){}ull", static_cast<uint64_t>(value));
  if (elem == Elem::i32 && value == INT32_MIN) return "(-2147483647 - 1)";
  return value < 0 ? fmt::format("({})", value) : std::to_string(value) + (elem == Elem::u32 ? "u" : "");
}

std::string Emitter::scalar(Value v) const {
  const Op* op = module_.def(v);
  if (op && op->code == OpCode::constant) return literal(*op, module_.type(v).elem);
  if (const auto known = known_number(module_, v)) return literal(*known, module_.type(v).elem);
  return names_[v];
}

bool Emitter::is_constant(Value v, int64_t& value) const {
  const auto known = known_number(module_, v);
  if (known) value = *known;
  return known.has_value();
}

std::string Emitter::declare(Value v) {
  names_[v] = fmt::format("v{}", v);
  return names_[v];
}

void Emitter::scalar_op(const Op& op) {
  const Value v = op.result();
  const Elem elem = module_.type(v).elem;
  switch (op.code) {
    case OpCode::constant:  // a literal where it is used
      if (!is_float(elem) || elem == Elem::f32 || elem == Elem::f64) return;
      break;
    case OpCode::program_id: names_[v] = target_.program_id(); return;
    case OpCode::num_programs: names_[v] = target_.num_programs(); return;
    case OpCode::replica: names_[v] = replica(); return;
    default: break;
  }
  if (is_packed(elem) || elem > Elem::f64 || elem == Elem::f16 || elem == Elem::bf16)
    return fail(op, std::string("scalars of ") + to_string(elem) + " are only loaded and cast to f32");
  std::string args[3];
  Elem in = elem;
  for (size_t i = 0; i < op.operands.size() && i < 3; ++i) {
    args[i] = scalar(op.operand(i));
    if (!(op.code == OpCode::select && i == 0)) in = module_.type(op.operand(i)).elem;
  }
  const std::string name = declare(v);
  out_->line(element(op, in, name, args));
}

namespace {

/// Arithmetic in this type wraps as the IR's does.
const char* wrapping_type(Elem elem) { return bits(elem) == 64 ? "u64" : "u32"; }

/// The amount modulo the type's bits: more is undefined in C.
std::string shift_amount(Elem elem, const std::string& b) { return fmt::format("({} & {})", b, bits(elem) - 1); }

std::string negated(Elem elem, const std::string& a) {
  return fmt::format("({0})(({1})0 - ({1}){2})", c_type(elem), wrapping_type(elem), a);
}

}  // namespace

std::string Emitter::integer_binary(const Op& op, const std::string& a, const std::string& b) {
  const Type& type = module_.type(op.result());
  const char* sign = op.code == OpCode::add ? "+" : op.code == OpCode::sub ? "-" : "*";
  // Signed overflow is undefined in C and wraps in the IR: go through unsigned unless it cannot happen. Types of
  // fewer than 32 bits are computed in int.
  const bool plain =
      bits(type.elem) >= 32 &&
      (is_unsigned_int(type.elem) ||
       (type.kind == TypeKind::scalar && ranges_.exact(op).within(range_of(type.elem)) && bits(type.elem) == 32));
  if (plain) return fmt::format("{} {} {}", a, sign, b);
  return fmt::format("({0})(({1}){2} {3} ({1}){4})", c_type(type.elem), wrapping_type(type.elem), a, sign, b);
}

/// `T dest = …;`, or `T dest; macro(dest, …);`.
std::string Emitter::element(const Op& op, Elem in, const std::string& dest, const std::string* args) {
  const Elem out = module_.type(op.result()).elem;
  const std::string &a = args[0], &b = args[1], &c = args[2];
  const auto equals = [&](const std::string& value) { return fmt::format("{} {} = {};", c_type(out), dest, value); };
  const auto math = [&](Math fn) { return fmt::format("{} {}; {}", c_type(out), dest, target_.math(fn, dest, a, b)); };
  const bool real = in == Elem::f32 || in == Elem::f64;
  const auto f32_only = [&](Math fn) {
    if (in != Elem::f32) fail(op, std::string("not for ") + to_string(in) + " on this target");
    return math(fn);
  };
  switch (op.code) {
    case OpCode::neg: return equals(real ? "-" + a : negated(out, a));
    case OpCode::bit_not: return equals((in == Elem::b1 ? "!" : "~") + a);
    case OpCode::abs:
      return real ? f32_only(Math::abs) : equals(fmt::format("{0} < 0 ? {1} : {0}", a, negated(out, a)));
    case OpCode::exp2: return f32_only(Math::exp2);
    case OpCode::log2: return f32_only(Math::log2);
    case OpCode::rcp: return f32_only(Math::rcp);
    case OpCode::add:
    case OpCode::sub:
      if (!real) return equals(integer_binary(op, a, b));
      return equals(a + (op.code == OpCode::add ? " + " : " - ") + b);
    case OpCode::mul: return equals(real ? a + " * " + b : integer_binary(op, a, b));
    case OpCode::div:
    case OpCode::mod: {
      if (real) return op.code == OpCode::div ? f32_only(Math::div) : (fail(op, "not for floats"), std::string());
      const char* sign = op.code == OpCode::div ? "/" : "%";
      // Unsigned division is half the instructions of a signed one.
      if (in == Elem::i32 && ranges_.non_negative(op.operand(0)) && ranges_.non_negative(op.operand(1)))
        return equals(fmt::format("(i32)((u32){} {} (u32){})", a, sign, b));
      std::string value = fmt::format("{} {} {}", a, sign, b);
      // What C leaves open. Not for indices, which extents and counts divide in code that runs only where these are not
      // 0.
      const bool quotient = op.code == OpCode::div;
      if (in == Elem::i32 && module_.type(op.result()).is_scalar()) return equals(value);
      const NumberRange by = ranges_.of(op.operand(1));
      if (is_signed_int(in) && by.low <= -1 && by.high >= -1)
        value = fmt::format("{} == -1 ? {} : {}", b, quotient ? negated(in, a) : "0", value);
      if (by.low <= 0 && by.high >= 0)
        value = fmt::format("{} == 0 ? {} : {}", b, quotient ? fmt::format("({})-1", c_type(in)) : a, value);
      return equals(value);
    }
    case OpCode::ceil_div: {
      if (in != Elem::i32) return equals(fmt::format("{0} / {1} + ({0} % {1} != 0)", a, b));
      const NumberRange high = ranges_.of(op.operand(0)), step = ranges_.of(op.operand(1));
      if (high.high + step.high - 1 <= range_of(Elem::u32).high)
        return equals(fmt::format("(i32)(((u32){0} + ((u32){1} - 1u)) / (u32){1})", a, b));
      return equals(fmt::format("(i32)((u32){0} / (u32){1} + ((u32){0} % (u32){1} != 0u))", a, b));
    }
    case OpCode::min:
    case OpCode::max: {
      if (real) return f32_only(op.code == OpCode::min ? Math::min : Math::max);
      return equals(fmt::format("{0} {2} {1} ? {0} : {1}", a, b, op.code == OpCode::min ? "<" : ">"));
    }
    case OpCode::bit_and: return equals(a + " & " + b);
    case OpCode::bit_or: return equals(a + " | " + b);
    case OpCode::bit_xor: return equals(a + " ^ " + b);
    case OpCode::shl:
      return equals(fmt::format("({})(({}){} << {})", c_type(out), wrapping_type(out), a, shift_amount(out, b)));
    case OpCode::shr: return equals(a + " >> " + shift_amount(out, b));
    case OpCode::cmp: {
      constexpr std::array<const char*, words<Predicate>.size()> signs = {"==", "!=", "<", "<=", ">", ">="};
      return equals(fmt::format("{} {} {}", a, signs[static_cast<size_t>(word_of<Predicate>(op, "pred"))], b));
    }
    case OpCode::select: return equals(fmt::format("{} ? {} : {}", a, b, c));
    case OpCode::cast: return convert(op, in, out, dest, a);
    default: fail(op, "the op table lets this back end have it", ErrorCode::internal_error); return {};
  }
}

std::string Emitter::convert(const Op& op, Elem in, Elem out, const std::string& dest, const std::string& a) {
  const auto equals = [&](const std::string& value) { return fmt::format("{} {} = {};", c_type(out), dest, value); };
  if (!op.attrs.all().empty()) {
    fail(op, own_rounding);
    return {};
  }
  if (in == out) return equals(a);
  const bool comparable = in == Elem::f32 || in == Elem::f64 || is_int(in);
  if (out == Elem::b1 && comparable) return equals(a + " != 0");
  if (in == Elem::bf16 && out == Elem::f32) return equals("__uint_as_float((u32)" + a + " << 16)");
  if (in == Elem::f16 && out == Elem::f32) return fmt::format("f32 {}; {}", dest, target_.math(Math::f16_low, dest, a));
  const bool wide_in = in == Elem::f32 || in == Elem::f64 || is_int(in) || in == Elem::b1;
  if (wide_in && (out == Elem::f32 || out == Elem::f64)) return equals(fmt::format("({}){}", c_type(out), a));
  if (in == Elem::f32 && out == Elem::i32) return fmt::format("i32 {}; {}", dest, target_.math(Math::to_i32, dest, a));
  if ((is_int(in) || in == Elem::b1) && is_int(out)) return equals(fmt::format("({}){}", c_type(out), a));
  fail(op, std::string("from ") + to_string(in) + " to " + to_string(out) + " is not supported by this back end");
  return {};
}

TLXJIT_NAMESPACE_END
