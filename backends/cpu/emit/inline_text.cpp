// backends/cpu/emit/inline_text.cpp — inline assembly, and what LLVM would not survive in its template.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <llvm/IR/InlineAsm.h>
#include <llvm/Support/Error.h>

#include <algorithm>
#include <cctype>
#include <charconv>

#include "backends/cpu/emit/emitter_p.h"

TLXJIT_NAMESPACE_BEGIN
namespace cpu {
namespace {

/// What is wrong with the text of constraints that LLVM does not survive the parsing of, or the use.
std::string constraint_fault(std::string_view text) {
  for (size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '|') return "alternatives (|) are not taken: one constraint an operand";
    if (text[at] == '^') return "constraints of two letters (^) are not taken";
    if (text[at] == '@' && !(at > 0 && text[at - 1] == '{' && text.substr(at).starts_with("@cc")))
      return "an @ stands in {@cc…} only";
  }
  return {};
}

/// The same of constraints that LLVM takes and has no place for: values here are in registers, and no text jumps.
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

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.'; }

/// The template in lower case without comments, with what `${:private}` stands for: what LLVM's parser looks at.
std::string looked_at(std::string_view text) {
  std::string all;
  for (size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '#' || text.substr(at).starts_with("${:comment}")) {
      at = std::min(text.find_first_of("\n\r", at), text.size() - 1);
      all += '\n';
    } else if (text.substr(at).starts_with("${:private}")) {
      all += ".l";
      at += std::string_view("${:private}").size() - 1;
    } else {
      all += static_cast<char>(std::tolower(static_cast<unsigned char>(text[at])));
    }
  }
  return all;
}

/// What is wrong with the directives of a template, or nothing. Only data of a size that one sees may stand there:
/// others read files, expand without end, or change sections that the rest of the code is in.
std::string directive_fault(std::string_view text) {
  constexpr std::string_view known[] = {".byte", ".2byte", ".4byte", ".8byte", ".hword", ".short",  ".word",  ".value",
                                        ".int",  ".long",  ".quad",  ".octa",  ".float", ".single", ".double"};
  constexpr std::string_view not_local[] = {".lcomm",        ".line", ".loc", ".lto_discard", ".lto_set_conditional",
                                            ".linker_option"};
  for (size_t at = text.find('.'); at != text.npos; at = text.find('.', at + 1)) {
    if (at > 0 && (is_word(text[at - 1]) || text[at - 1] == '$')) continue;  // within a name, or a number
    size_t end = at + 1;
    while (end < text.size() && is_word(text[end])) ++end;
    const std::string_view word = text.substr(at, end - at);
    const auto is_in = [&](const auto& words) { return std::ranges::find(words, word) != std::end(words); };
    const bool number = word.size() > 1 && std::isdigit(static_cast<unsigned char>(word[1]));
    const bool local = word.starts_with(".l") && !is_in(not_local);
    if (word == "." || is_in(known) || local || (number && !word.ends_with("byte"))) continue;
    return "the directive " + std::string(word) +
           " is not taken: instructions, labels and data (.byte, .long, .quad, .float …) are";
  }
  return {};
}

/// What else LLVM's assembler does not survive, or does not come to an end with.
std::string expression_fault(std::string_view text) {
  constexpr size_t most = 4096;
  constexpr int deepest = 32;
  if (text.size() > most) return "it is longer than " + std::to_string(most) + " bytes: call a function";
  int depth = 0;
  for (size_t at = 0; at < text.size(); ++at) {
    const auto next_is = [&](auto&& wanted) { return at + 1 < text.size() && wanted(text[at + 1]); };
    switch (text[at]) {
      case '(':
        if (++depth > deepest) return "parentheses nest at most " + std::to_string(deepest) + " deep";
        break;
      case ')': depth = std::max(depth - 1, 0); break;
      case '/': return "there is no / in instructions and data: write the quotient";
      case '=': return "symbols are given no values here: = is not taken";
      case '"':
      case '\'': return "strings and characters are not taken: write their numbers";
      case '%':
        if (!next_is([](char c) { return std::isalpha(static_cast<unsigned char>(c)); }))
          return "a % is followed by a register's name";
        break;
      case '@':
        if (!text.substr(at).starts_with("@plt") && !text.substr(at).starts_with("@gotpcrel"))
          return "of relocations, @PLT and @GOTPCREL are taken";
        break;
      default: break;
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
  const auto refuse = [&](const std::string& fault) {
    if (!fault.empty()) throw BadInlineText{&op, "constraints '" + constraints + "': " + fault};
  };
  refuse(constraint_fault(std::string_view(constraints)));
  if (auto error = llvm::InlineAsm::verify(signature, constraints))
    throw Unsupported{&op, "inline text with constraints '" + constraints +
                               "' for these operands: " + llvm::toString(std::move(error))};
  const auto parsed = llvm::InlineAsm::ParseConstraints(constraints);
  refuse(constraint_fault(parsed));
  unsigned operands = 0;
  for (const auto& constraint : parsed)
    operands += constraint.Type == llvm::InlineAsm::isInput || constraint.Type == llvm::InlineAsm::isOutput;
  if (std::string fault = template_fault(op.attrs.text("text"), operands); !fault.empty())
    throw BadInlineText{&op, std::move(fault)};
  const std::string looked = looked_at(op.attrs.text("text"));
  for (const auto& fault_of : {expression_fault, directive_fault})
    if (std::string fault = fault_of(looked); !fault.empty()) throw BadInlineText{&op, std::move(fault)};
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
