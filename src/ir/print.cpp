// src/ir/print.cpp — modules to text.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <charconv>
#include <cmath>

#include "tlxjit/ir/text.h"

TLXJIT_NAMESPACE_BEGIN

namespace {

class Printer {
 public:
  Printer(const Module& module, bool with_locations) : module_(module), with_locations_(with_locations) {
    numbers_.assign(module.value_count(), no_value);
  }

  std::string run() {
    out_ = module_.level == Level::portable ? "tlx 1 portable" : "tlx 1 lowered " + module_.target;
    out_ += "\nkernel ";
    quote(module_.name);
    attrs(module_.attrs);
    out_ += " {\n";
    block(module_.body, 1);
    out_ += "}\n";
    return std::move(out_);
  }

 private:
  void number(Value v) {
    if (numbers_[v] == no_value) numbers_[v] = next_++;
    out_ += '%';
    out_ += std::to_string(numbers_[v]);
  }

  void quote(std::string_view text) {
    out_ += '"';
    for (char c : text) {
      if (c == '"' || c == '\\') out_ += '\\';
      if (c == '\n') {
        out_ += "\\n";
        continue;
      }
      out_ += c;
    }
    out_ += '"';
  }

  void real(double v) {
    if (std::isnan(v)) {
      out_ += "nan";
    } else if (std::isinf(v)) {
      out_ += v < 0 ? "-inf" : "inf";
    } else {
      char text[40];
      auto [end, error] = std::to_chars(text, text + sizeof text, v);
      std::string_view s(text, static_cast<size_t>(end - text));
      out_ += s;
      if (s.find_first_of(".e") == std::string_view::npos) out_ += ".0";  // tells reals from integers
    }
  }

  void attr(const Attr& value) {
    if (const auto* i = std::get_if<int64_t>(&value)) {
      out_ += std::to_string(*i);
    } else if (const auto* d = std::get_if<double>(&value)) {
      real(*d);
    } else if (const auto* s = std::get_if<std::string>(&value)) {
      quote(*s);
    } else {
      out_ += '<';
      const char* separator = "";
      for (int64_t i : std::get<std::vector<int64_t>>(value)) {
        out_ += separator + std::to_string(i);
        separator = ", ";
      }
      out_ += '>';
    }
  }

  void attrs(const Attrs& attrs) {
    if (attrs.all().empty()) return;
    out_ += " [";
    const char* separator = "";
    for (const auto& [name, value] : attrs.all()) {
      out_ += separator + name + " = ";
      attr(value);
      separator = ", ";
    }
    out_ += ']';
  }

  void block(const Block& block, int depth) {
    if (!block.args.empty()) {
      out_.append(static_cast<size_t>(depth) * 2, ' ');
      out_ += '(';
      const char* separator = "";
      for (Value v : block.args) {
        out_ += separator;
        number(v);
        out_ += ": " + to_string(module_.type(v));
        separator = ", ";
      }
      out_ += ")\n";
    }
    for (const auto& o : block.ops) op(*o, depth);
  }

  void op(const Op& op, int depth) {
    out_.append(static_cast<size_t>(depth) * 2, ' ');
    const char* separator = "";
    for (Value v : op.results) {
      out_ += separator;
      number(v);
      separator = ", ";
    }
    if (!op.results.empty()) out_ += " = ";
    out_ += info(op.code).text;
    separator = " ";
    for (Value v : op.operands) {
      out_ += separator;
      number(v);
      separator = ", ";
    }
    attrs(op.attrs);
    separator = " : ";
    for (Value v : op.results) {
      out_ += separator + to_string(module_.type(v));
      separator = ", ";
    }
    if (with_locations_ && module_.location(op).known()) {
      out_ += " @ ";
      quote(module_.location(op).file);
      out_ += ' ' + std::to_string(module_.location(op).line);
    }
    for (const Block& region : op.regions) {
      out_ += " {\n";
      block(region, depth + 1);
      out_.append(static_cast<size_t>(depth) * 2, ' ');
      out_ += '}';
    }
    out_ += '\n';
  }

  const Module& module_;
  bool with_locations_;
  std::vector<Value> numbers_;
  Value next_ = 0;
  std::string out_;
};

}  // namespace

std::string print(const Module& module, bool with_locations) { return Printer(module, with_locations).run(); }

TLXJIT_NAMESPACE_END
