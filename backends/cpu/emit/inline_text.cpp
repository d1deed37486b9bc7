// backends/cpu/emit/inline_text.cpp — inline assembly, and what LLVM would not survive in its template.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <llvm/IR/InlineAsm.h>
#include <llvm/Support/Error.h>

#include <charconv>

#include "backends/cpu/emit/emitter_p.h"

TLXJIT_NAMESPACE_BEGIN
namespace cpu {
namespace {

/// What is wrong with constraints that LLVM takes and has no place for, or does not survive: values here are in
/// registers, and no text jumps.
std::string constraint_fault(const llvm::InlineAsm::ConstraintInfoVector& constraints) {
  for (const auto& constraint : constraints) {
    if (constraint.Type == llvm::InlineAsm::isLabel) return "a label (!) is no operand here";
    if (constraint.isIndirect) return "an operand is no pointer: leave the * out";
    if (constraint.Type != llvm::InlineAsm::isOutput) continue;
    for (const std::string& code : constraint.Codes)
      if (code.find_first_of("moV") != code.npos && (code[0] != '{' || code == "{memory}"))
        return "the result is in a register, as =r says, not in memory";
  }
  return {};
}

std::string no_end_of(const std::string& digits) {
  return "${" + digits + " ends with }, after one letter at most: ${" + digits + ":k}";
}

/// What is wrong with the `$` of a template, or nothing. LLVM reads it only when it prints the code, and a fault is
/// then fatal to it: the compile would be given up with all its memory.
std::string template_fault(std::string_view text, unsigned operands) {
  bool in_variants = false;
  for (size_t at = text.find('$'); at != text.npos; at = text.find('$', at)) {
    ++at;
    const auto next = [&](char c) { return at < text.size() && text[at] == c; };
    if (next('$') || next('|')) {
      ++at;
    } else if (next('(')) {
      if (in_variants) return "$( stands inside $( … $)";
      in_variants = true;
      ++at;
    } else if (next(')')) {
      in_variants = false;
      ++at;
    } else {
      const bool braces = next('{');
      at += braces;
      if (braces && next(':')) {
        const size_t end = text.find('}', at);
        if (end == text.npos) return "${: has no }";
        const std::string_view word = text.substr(at + 1, end - at - 1);
        if (word != "private" && word != "comment" && word != "uid")
          return "there is no ${:" + std::string(word) + "}, only private, comment and uid";
        at = end + 1;
        continue;
      }
      unsigned number = 0;
      const char* const first = text.data() + at;
      const auto [end, error] = std::from_chars(first, text.data() + text.size(), number);
      if (end == first) return "a $ is followed by no operand's number; a plain one is written $$";
      const std::string digits(first, end);
      if (error != std::errc() || number >= operands)
        return "there is no operand $" + digits + ": there are " + std::to_string(operands) + ", from $0 on";
      at += digits.size();
      if (!braces) continue;
      if (next(':')) at += 2;
      if (!next('}')) return no_end_of(digits);
      ++at;
    }
  }
  return {};
}

}  // namespace

void Emitter::inline_text(const Op& op) {
  if (op.attrs.text("target") != "cpu")
    throw Unsupported{&op, "inline text for " + std::string(op.attrs.text("target"))};
  std::vector<llvm::Type*> types;
  for (Value v : op.operands) types.push_back(reg(type(v).elem, 1));
  const Type& out = type(op.result());
  auto* signature = llvm::FunctionType::get(reg(out.elem, 1), types, false);
  const std::string constraints(op.attrs.text("constraints"));
  if (auto error = llvm::InlineAsm::verify(signature, constraints))
    throw Unsupported{&op, "inline text with constraints '" + constraints +
                               "' for these operands: " + llvm::toString(std::move(error))};
  const auto parsed = llvm::InlineAsm::ParseConstraints(constraints);
  if (std::string fault = constraint_fault(parsed); !fault.empty())
    throw BadInlineText{&op, "constraints '" + constraints + "': " + fault};
  unsigned operands = 0;
  for (const auto& constraint : parsed)
    operands += constraint.Type == llvm::InlineAsm::isInput || constraint.Type == llvm::InlineAsm::isOutput;
  if (std::string fault = template_fault(op.attrs.text("text"), operands); !fault.empty())
    throw BadInlineText{&op, std::move(fault)};
  auto* text = llvm::InlineAsm::get(signature, std::string(op.attrs.text("text")), constraints, true);
  const auto call = [&](Node i) {
    std::vector<Node> in;
    for (Value v : op.operands) in.push_back(type(v).is_tile() ? element(v, i) : scalar(v));
    auto* made = b.CreateCall(text, in);
    // What LLVM then says of the text names the op by this number.
    auto* number = llvm::ConstantAsMetadata::get(b.getInt64(unit_.number.at(&op) + 1));
    made->setMetadata("srcloc", llvm::MDNode::get(b.getContext(), {number}));
    return made;
  };
  if (out.is_scalar()) {
    scalars_[op.result()] = call(nullptr);
    return;
  }
  loop(out.shape.elements(), 1, [&](Node i) { store(call(i), element_address(op.result(), i), out.elem); });
}

}  // namespace cpu
TLXJIT_NAMESPACE_END
