// src/codegen/emit_reduce.cpp — reductions of accumulator fragments along their columns.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fmt/format.h>

#include "src/codegen/emitter_p.h"

TLXJIT_NAMESPACE_BEGIN

std::string Emitter::combine(const std::string& kind, const std::string& dest, const std::string& a,
                             const std::string& b) {
  if (kind == "max") return target_.math(Math::max, dest, a, b);
  return fmt::format("{} = {} + {};", dest, a, b);
}

void Emitter::reduce(const Op& op) {
  const Value from = op.operand(0), v = op.result();
  const std::string kind(op.attrs.text("kind"));
  if (op.attrs.integer("axis") != 1 || module_.type(v).elem != Elem::f32)
    return fail(op, "only f32 along axis 1 on this target");
  if (kind != "max" && kind != "sum") return fail(op, "kind " + kind + " is not supported on this target");
  const std::vector<std::string> in = registers(from);
  const Fragment fragment = layouts_.fragment(from);
  const std::vector<std::string> names = register_names(v);
  const int half = fragment.cols() / 2;
  for (int block = 0; block < fragment.rows() / 64; ++block)
    for (int i = 0; i < 2; ++i) {
      const std::string& dest = names[static_cast<size_t>(2 * block + i)];
      const auto at = [&](int j, int c) -> const std::string& {
        return in[static_cast<size_t>(block * half + 4 * j + 2 * i + c)];
      };
      const int columns = fragment.cols() / 8;
      out_->open("f32 " + dest + "; {");
      // Two chains that do not wait for one another. A maximum takes pairs, which halves each chain's length.
      out_->line("f32 a, b, t;");
      if (kind == "max") {
        out_->line(combine(kind, "a", at(0, 0), at(0, 1)));
        if (columns > 1) out_->line(combine(kind, "b", at(1, 0), at(1, 1)));
        for (int j = 2; j < columns; ++j) {
          const char* chain = j % 2 ? "b" : "a";
          out_->line(combine(kind, "t", at(j, 0), at(j, 1)) + " " + combine(kind, chain, chain, "t"));
        }
        out_->line(columns > 1 ? combine(kind, "t", "a", "b") : "t = a;");
      } else {
        out_->line(fmt::format("a = {}; b = {};", at(0, 0), at(0, 1)));
        for (int j = 1; j < columns; ++j)
          out_->line(combine(kind, "a", "a", at(j, 0)) + " " + combine(kind, "b", "b", at(j, 1)));
        out_->line("t = a + b;");
      }
      if (op.attrs.integer("partial") == 0)
        for (int mask : {1, 2}) {
          out_->line(fmt::format("a = {};", target_.shuffle_xor("t", mask)));
          out_->line(combine(kind, "t", "t", "a"));
        }
      out_->line(dest + " = t;");
      out_->close();
    }
  registers_[v] = names;
}

void Emitter::finish(const Op& op) {
  const Value v = op.result();
  const std::string kind(op.attrs.text("kind"));
  if (layouts_.kind(v) != FragmentKind::row || module_.type(v).elem != Elem::f32)
    return fail(op, "only f32 tiles of rows on this target");
  const std::vector<std::string> in = registers(op.operand(0));
  const std::vector<std::string> names = register_names(v);
  for (size_t r = 0; r < names.size(); ++r) {
    out_->open("f32 " + names[r] + "; {");
    out_->line(fmt::format("f32 a = {}, t;", target_.shuffle_xor(in[r], 1)));
    out_->line(combine(kind, "t", in[r], "a"));
    out_->line(fmt::format("a = {};", target_.shuffle_xor("t", 2)));
    out_->line(combine(kind, names[r], "t", "a"));
    out_->close();
  }
  registers_[v] = names;
}

TLXJIT_NAMESPACE_END
