// src/builder/debug.cpp — prints, assertions, the clock, inline text.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "src/builder/state_p.h"
#include "tlxjit/builder/kernel.h"

TLXJIT_NAMESPACE_BEGIN

void Kernel::print(std::string_view text, std::initializer_list<Operand> values, std::source_location at) {
  BuilderState& s = use(at);
  std::vector<Value> operands;
  for (const Operand& value : values) operands.push_back(s.value(value, value.is_real ? Elem::f64 : Elem::i64));
  Attrs attrs;
  attrs.set("text", std::string(text));
  s.emit(OpCode::print, std::move(operands), {}, std::move(attrs), at);
}

void Kernel::require(Operand condition, std::string_view message) {
  Attrs attrs;
  attrs.set("message", std::string(message));
  BuilderState& s = use(condition.at);
  s.emit(OpCode::assert_, {s.value(condition, Elem::b1)}, {}, std::move(attrs), condition.at);
}

Scalar Kernel::clock(std::source_location at) {
  BuilderState& s = use(at);
  return s.handle(s.emit(OpCode::clock, {}, {Type::scalar(Elem::i64)}, {}, at), at);
}

Tile Kernel::inline_text(std::string_view target, std::string_view text, std::string_view constraints, Elem result,
                         std::initializer_list<Operand> operands, std::source_location at) {
  BuilderState& s = use(at);
  auto fitted = s.fit(pointers(operands), {.literals = Elem::i32}, at);
  if (!fitted) return s.poison();
  const Type type = fitted->shape.rank > 0 ? Type::tile(fitted->shape, result) : Type::scalar(result);
  Attrs attrs;
  attrs.set("target", std::string(target));
  attrs.set("text", std::string(text));
  attrs.set("constraints", std::string(constraints));
  return s.handle(s.emit(OpCode::inline_text, std::move(fitted->values), {type}, std::move(attrs), at), at);
}

TLXJIT_NAMESPACE_END
