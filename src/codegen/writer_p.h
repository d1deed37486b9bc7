// src/codegen/writer_p.h — indented lines of generated source.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <string>
#include <string_view>

#include "tlxjit/core/export.h"

TLXJIT_NAMESPACE_BEGIN

class Writer {
 public:
  explicit Writer(int depth = 0) : depth_(depth) {}
  void line(std::string_view text) {
    text_.append(static_cast<size_t>(2 * depth_), ' ');
    text_ += text;
    text_ += '\n';
  }
  /// A line that opens a block: `if (x) {`.
  void open(std::string_view text) {
    line(text);
    ++depth_;
  }
  void close(std::string_view text = "}") {
    --depth_;
    line(text);
  }
  void indent() { ++depth_; }
  /// Ends a block whose brace the next line closes: `} else {`.
  void dedent() { --depth_; }
  void append(const std::string& text) { text_ += text; }
  int depth() const { return depth_; }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
  int depth_;
};

TLXJIT_NAMESPACE_END
