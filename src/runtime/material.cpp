// src/runtime/material.cpp — all that a compiled kernel depends on, as text.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "src/runtime/material_p.h"

#include <charconv>

#include "src/runtime/code_version_p.h"

TLXJIT_NAMESPACE_BEGIN
namespace runtime {

namespace {

/// Texts that may hold anything come after their size.
std::string sized(std::string_view name, char before, std::string_view text) {
  return std::string(name) + " " + std::to_string(text.size()) + before + std::string(text) + "\n";
}

/// Reads a text from its beginning.
class Cursor {
 public:
  explicit Cursor(std::string_view text) : text_(text) {}
  size_t at() const { return at_; }
  /// The rest of a line that begins like this.
  bool line(std::string_view name) {
    const size_t end = text_.find('\n', at_);
    if (end == text_.npos || !text_.substr(at_).starts_with(name)) return false;
    at_ = end + 1;
    return true;
  }
  /// What `sized` wrote.
  bool sized(std::string_view name, char before) {
    if (!text_.substr(at_).starts_with(name) || text_.size() - at_ <= name.size()) return false;
    const char* const first = text_.data() + at_ + name.size() + 1;
    const char* const last = text_.data() + text_.size();
    size_t size = 0;
    const auto [end, error] = std::from_chars(first, last, size);
    if (error != std::errc() || last - end < 2 || *end != before || size > static_cast<size_t>(last - end) - 2 ||
        end[1 + size] != '\n')
      return false;
    at_ = static_cast<size_t>(end - text_.data()) + size + 2;
    return true;
  }

 private:
  const std::string_view text_;
  size_t at_ = 0;
};

}  // namespace

std::string material_of(const MaterialParts& parts) {
  std::string text = "tlxjit ";
  text += code_version();
  text += "\nfor ";
  text += parts.target;
  text += "\n" + sized("as", ' ', parts.as) + "lineinfo " + (parts.lineinfo ? "1" : "0") + "\n" +
          sized("on", '\n', parts.runs_on) + sized("by", '\n', parts.compiler);
  text += parts.module;
  return text;
}

std::string without_compiler(std::string_view material) {
  Cursor cursor(material);
  if (!cursor.line("tlxjit ") || !cursor.line("for ") || !cursor.sized("as", ' ') || !cursor.line("lineinfo ") ||
      !cursor.sized("on", '\n'))
    return std::string(material);
  const size_t begin = cursor.at();
  if (!cursor.sized("by", '\n')) return std::string(material);
  return std::string(material.substr(0, begin)) + sized("by", '\n', "") + std::string(material.substr(cursor.at()));
}

}  // namespace runtime
TLXJIT_NAMESPACE_END
