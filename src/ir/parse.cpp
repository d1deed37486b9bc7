// src/ir/parse.cpp — text to modules.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <charconv>
#include <cmath>
#include <limits>
#include <unordered_map>

#include "tlxjit/ir/text.h"

TLXJIT_NAMESPACE_BEGIN

namespace {

constexpr uint32_t max_values = 1u << 22;  // a hostile text must not exhaust memory; nor, by nesting, the stack

class Parser {
 public:
  /// `file`: the name of the text in locations; empty: it has none.
  explicit Parser(std::string_view text, std::string_view file = {}) : text_(text), file_(file) {}

  Result<Module> run() {
    header();
    if (ok_) expect('{');
    if (ok_) block(module_.body, 0);
    if (ok_) expect('}');
    skip();
    if (ok_ && at_ != text_.size()) fail("text after the kernel");
    for (const Seen& seen : seen_)
      if (ok_ && !seen.defined) {
        at_ = seen.at;
        fail("%" + std::to_string(seen.number) + " is used but never defined");
      }
    if (!ok_) {
      Error error;
      error.kind = ErrorKind::user;
      error.stage = Stage::parse;
      error.code = ErrorCode::invalid_text;
      if (file_.empty()) {
        error.message = "line " + std::to_string(line_of(at_of_fault_)) + ": " + fault_;
      } else {
        error.message = fault_;
        error.location = {file_, line_of(at_of_fault_)};
      }
      return error;
    }
    return std::move(module_);
  }

 private:
  void fail(std::string what) {
    if (!ok_) return;
    ok_ = false;
    fault_ = std::move(what);
    at_of_fault_ = at_;
  }

  /// Counted on from the place asked for last, if it lies before.
  uint32_t line_of(size_t at) {
    if (at < counted_to_) {
      counted_to_ = 0;
      line_ = 1;
    }
    for (; counted_to_ < at && counted_to_ < text_.size(); ++counted_to_) line_ += text_[counted_to_] == '\n';
    return line_;
  }

  void skip() {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == ' ' || c == '\n' || c == '\t' || c == '\r') {
        ++at_;
      } else if (c == '#') {  // comment to the end of the line
        while (at_ < text_.size() && text_[at_] != '\n') ++at_;
      } else {
        return;
      }
    }
  }

  char peek() {
    skip();
    return at_ < text_.size() ? text_[at_] : '\0';
  }

  char peek_on_line() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t')) ++at_;
    return at_ < text_.size() ? text_[at_] : '\0';
  }

  bool accept(char c) {
    if (!ok_ || peek() != c) return false;
    ++at_;
    return true;
  }

  void expect(char c) {
    if (!accept(c)) fail(std::string("expected '") + c + "'");
  }

  std::string_view word() {
    skip();
    const size_t begin = at_;
    while (at_ < text_.size() &&
           (isalnum(static_cast<unsigned char>(text_[at_])) || text_[at_] == '_' || text_[at_] == '.'))
      ++at_;
    if (begin == at_) fail("expected a word");
    return text_.substr(begin, at_ - begin);
  }

  std::string quoted() {
    std::string out;
    expect('"');
    while (ok_) {
      if (at_ >= text_.size()) {
        fail("a string does not end");
        break;
      }
      const size_t plain = std::min(text_.find_first_of("\"\\", at_), text_.size());
      out += text_.substr(at_, plain - at_);
      at_ = plain;
      if (at_ >= text_.size()) continue;
      if (text_[at_++] == '"') break;
      if (at_ >= text_.size()) continue;
      const char c = text_[at_++];
      out += c == 'n' ? '\n' : c;
    }
    return out;
  }

  int64_t integer() {
    skip();
    int64_t value = 0;
    auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
    if (error != std::errc()) fail("expected an integer");
    at_ = static_cast<size_t>(end - text_.data());
    return value;
  }

  Value value() {
    expect('%');
    if (!ok_) return 0;
    const size_t begin = at_;
    const int64_t n = integer();
    if (n < 0 || n >= max_values) {
      fail("a value number is out of range");
      return 0;
    }
    auto [found, inserted] = values_.try_emplace(static_cast<uint32_t>(n), no_value);
    if (inserted) {
      found->second = module_.new_value({});
      seen_.push_back({static_cast<uint32_t>(n), begin, false});
    }
    return found->second;
  }

  void define(Value v, const Type& type, Op* op) {
    if (!ok_) return;
    if (seen_[v].defined) return fail("%" + std::to_string(seen_[v].number) + " is defined twice");
    seen_[v].defined = true;
    module_.set_type(v, type);
    module_.set_def(v, op);
  }

  Type type() {
    skip();
    const size_t begin = at_;
    int depth = 0;
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '<') ++depth;
      if (c == '>') {
        --depth;
        ++at_;
        if (depth <= 0) break;
        continue;
      }
      if (depth == 0 && !isalnum(static_cast<unsigned char>(c)) && c != '<') break;
      if (c == '\n') break;
      ++at_;
    }
    const std::string_view text = text_.substr(begin, at_ - begin);
    auto t = text.empty() ? std::nullopt : parse_type(text);
    if (!t) {
      fail("'" + std::string(text.substr(0, 60)) + "' is no type");
      return {};
    }
    return *t;
  }

  Attr number() {
    skip();
    const std::string_view rest = text_.substr(at_);
    for (auto [name, v] : {std::pair<std::string_view, double>{"nan", std::numeric_limits<double>::quiet_NaN()},
                           {"inf", std::numeric_limits<double>::infinity()},
                           {"-inf", -std::numeric_limits<double>::infinity()}})
      if (rest.starts_with(name)) {
        at_ += name.size();
        return v;
      }
    size_t end = at_;
    bool is_real = false;
    while (end < text_.size() && (isdigit(static_cast<unsigned char>(text_[end])) || strchr_(text_[end]))) {
      is_real |= text_[end] == '.' || text_[end] == 'e';
      ++end;
    }
    if (!is_real) return integer();
    double v = 0;
    auto [stop, error] = std::from_chars(text_.data() + at_, text_.data() + end, v);
    if (error != std::errc() || stop != text_.data() + end) fail("expected a number");
    at_ = end;
    return v;
  }

  static bool strchr_(char c) { return c == '.' || c == 'e' || c == '-' || c == '+'; }

  Attr attr() {
    const char c = peek();
    if (c == '"') return quoted();
    if (c == '<') {
      std::vector<int64_t> list;
      expect('<');
      if (!accept('>')) {
        do list.push_back(integer());
        while (ok_ && accept(','));
        expect('>');
      }
      return list;
    }
    return number();
  }

  void attrs(Attrs& attrs) {
    if (!accept('[')) return;
    do {
      const std::string name(word());
      if (attrs.find(name)) fail("attribute '" + name + "' is given twice");
      expect('=');
      if (ok_) attrs.set(name, attr());
    } while (ok_ && accept(','));
    expect(']');
  }

  void header() {
    if (word() != "tlx" || integer() != 1) return fail("expected 'tlx 1'");
    const std::string_view level = word();
    if (level == "lowered") {
      module_.level = Level::lowered;
      module_.target = std::string(word());
    } else if (level != "portable") {
      return fail("expected 'portable' or 'lowered'");
    }
    if (word() != "kernel") return fail("expected 'kernel'");
    module_.name = quoted();
    attrs(module_.attrs);
  }

  void block(Block& block, int depth) {
    if (depth > max_lowered_nesting) return fail("regions are nested too deeply");
    if (accept('(')) {
      do {
        const Value v = value();
        expect(':');
        define(v, type(), nullptr);
        block.args.push_back(v);
      } while (ok_ && accept(','));
      expect(')');
    }
    while (ok_ && peek() != '}' && peek() != '\0') op(block, depth);
  }

  /// Most stand there before, word for word: then nothing is read or copied.
  void location(Op& op) {
    skip();
    const size_t begin = at_;
    // As it is written where the file's name has nothing to escape.
    size_t end = std::min(text_.find_first_of("\"\\", begin + 1), text_.size() - 1) + 1;
    while (end < text_.size() && text_[end] == ' ') ++end;
    while (end < text_.size() && isdigit(static_cast<unsigned char>(text_[end]))) ++end;
    const std::string_view whole = text_.substr(begin, end - begin);
    if (const auto found = locations_.find(whole); found != locations_.end()) {
      op.location = found->second;
      at_ = end;
      return;
    }
    Location location;
    location.file = quoted();
    const int64_t number = integer();
    if (number < 1 || number > UINT32_MAX) return fail("a line number is 1 to 2^32 − 1");
    location.line = static_cast<uint32_t>(number);
    op.location = module_.add_location(location);
    if (at_ == end) locations_.emplace(whole, op.location);
  }

  void op(Block& block, int depth) {
    auto made = std::make_unique<Op>();
    Op& op = *made;
    block.ops.push_back(std::move(made));
    if (peek() == '%') {
      do op.results.push_back(value());
      while (ok_ && accept(','));
      expect('=');
    }
    if (!ok_) return;
    if (!file_.empty()) op.location = module_.add_location({file_, line_of(at_)});
    const std::string_view text = word();
    auto code = parse_op_code(text);
    if (!code) {
      for (const LaterOp& later : later_ops())
        if (later.text == text) return fail("'" + std::string(text) + "' is not there yet");
      return fail("'" + std::string(text) + "' is no op");
    }
    op.code = *code;
    // Operands stand on the op's own line: on the next one, '%' begins the results of the next op.
    if (peek_on_line() == '%') {
      do op.operands.push_back(value());
      while (ok_ && accept(','));
    }
    attrs(op.attrs);
    if (!op.results.empty()) {
      expect(':');
      for (size_t i = 0; ok_ && i < op.results.size(); ++i) {
        if (i) expect(',');
        define(op.results[i], type(), &op);
      }
    }
    if (accept('@')) location(op);
    while (ok_ && accept('{')) {
      op.regions.emplace_back();
      this->block(op.regions.back(), depth + 1);
      expect('}');
    }
  }

  std::string_view text_;
  const std::string file_;
  size_t at_ = 0;
  bool ok_ = true;
  std::string fault_;
  size_t at_of_fault_ = 0;
  size_t counted_to_ = 0;
  uint32_t line_ = 1;  // at counted_to_
  Module module_;
  std::unordered_map<uint32_t, Value> values_;
  std::unordered_map<std::string_view, uint32_t> locations_;  // by their text
  struct Seen {
    uint32_t number;
    size_t at;  // where it stands first
    bool defined;
  };
  std::vector<Seen> seen_;  // by value
};

}  // namespace

Result<Module> parse(std::string_view text) { return Parser(text).run(); }
Result<Module> parse(std::string_view text, std::string_view file) { return Parser(text, file).run(); }

TLXJIT_NAMESPACE_END
