// src/ir/check_debug.cpp — rules of prints, assertions, the clock and inline text.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "src/ir/check_p.h"

TLXJIT_NAMESPACE_BEGIN

namespace {

std::string check_inline(const Module& module, const Op& op) {
  if (op.attrs.text("target").empty() || !op.attrs.find("text") || !op.attrs.find("constraints"))
    return "names its target, text and constraints";
  const auto fits = [](const Type& t) {
    return is_value(t) && (is_int(t.elem) || t.elem == Elem::f32 || t.elem == Elem::f64);
  };
  Shape shape;
  for (Value v : op.operands) {
    const Type& t = module.type(v);
    if (!fits(t)) return "operands are integers, f32 or f64, not " + to_string(t);
    if (!t.is_tile()) continue;
    if (shape.rank == 0) shape = t.shape;
    if (t.shape != shape)
      return "the operands have one shape: " + to_string(Type::tile(shape, t.elem)) + " and " + to_string(t);
  }
  const Type& result = module.type(op.results[0]);
  if (!fits(result) || result.shape != shape)
    return "gives one element for each of the operands, an integer, f32 or f64, not " + to_string(result);
  return {};
}

}  // namespace

std::string check_debug(const Module& module, const Op& op) {
  switch (op.code) {
    case OpCode::print: {
      size_t places = 0;
      const std::string_view text = op.attrs.text("text");
      for (size_t at = text.find("{}"); at != text.npos; at = text.find("{}", at + 2)) ++places;
      if (places != op.operands.size())
        return "the text has " + std::to_string(places) + " places {} for " + std::to_string(op.operands.size()) +
               " values";
      for (Value v : op.operands) {
        const Type& t = module.type(v);
        if (!is_value(t) || (is_float(t.elem) && !computes(t.elem)))
          return "prints scalars and tiles of numbers or b1, not " + to_string(t);
      }
      return {};
    }
    case OpCode::assert_: {
      const Type& t = module.type(op.operands[0]);
      if (op.attrs.text("message").empty()) return "has a message";
      return is_value(t) && t.elem == Elem::b1 ? "" : "the condition is b1, not " + to_string(t);
    }
    case OpCode::clock: return module.type(op.results[0]) == Type::scalar(Elem::i64) ? "" : "gives i64";
    default: return check_inline(module, op);
  }
}

TLXJIT_NAMESPACE_END
