// tools/op_reference.cpp — writes docs/reference/ops.md from the op table.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cstdio>
#include <string>

#include "tlxjit/ir/op.h"

namespace {

using namespace tlxjit;

const char* name(Level level) {
  switch (level) {
    case Level::portable: return "portable";
    case Level::lowered: return "lowered";
    case Level::both: return "both";
  }
  return "";
}

const char* name(Scope scope) {
  switch (scope) {
    case Scope::pure: return "pure";
    case Scope::once: return "once";
    case Scope::all: return "all";
    case Scope::control: return "control";
    case Scope::declare: return "declare";
  }
  return "";
}

std::string count(int least, int most) {
  if (least == most) return std::to_string(least);
  return std::to_string(least) + (most < 0 ? " or more" : "–" + std::to_string(most));
}

std::string escaped(std::string_view text) {
  std::string out;
  for (char c : text) {
    if (c == '|' || c == '<') out += '\\';
    out += c;
  }
  return out;
}

}  // namespace

int main() {
  std::puts(
      "# Ops\n\n"
      "Made from `include/tlxjit/ir/ops.def` by `tools/op_reference`; a test compares the two.\n\n"
      "Level: portable ops are written by the builder and removed by lowering, lowered ones are made by it and read "
      "by\n"
      "back ends. Scope: *pure*, any thread may compute it; *once* per instance, by the thread that issues; *all* "
      "threads\n"
      "of the instance; *control*; *declare*, at module or task scope. An attribute with a `?` may be absent.\n\n"
      "| op | level | scope | operands | results | regions | attributes | meaning "
      "|\n|---|---|---|---|---|---|---|---|");
  for (int i = 0; i < op_count(); ++i) {
    const OpInfo& op = info(static_cast<OpCode>(i));
    std::printf("| `%s` | %s | %s | %s | %d | %d | %s | %s |\n", std::string(op.text).c_str(), name(op.level),
                name(op.scope), count(op.min_operands, op.max_operands).c_str(), op.results, op.regions,
                std::string(op.attributes).c_str(), escaped(op.meaning).c_str());
  }
}
