// tools/op_reference.cpp — writes docs/reference/ops.md from the op table.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

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

const char* name(Effect effect) {
  switch (effect) {
    case Effect::none: return "";
    case Effect::read: return "read";
    case Effect::write: return "write";
    case Effect::update: return "update";
    case Effect::sync: return "sync";
    case Effect::async: return "async";
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
      "Level: portable ops are written by the builder and removed by lowering, lowered ones are read by back ends.\n"
      "Scope: *pure*, any thread may compute it; *once* per instance, by the thread that issues; *all* threads of the\n"
      "instance; *control*; *declare*, at module or task scope. An attribute with a `?` may be absent. Needs: what a\n"
      "target must have. Effect: *read*, *write* or *update* memory or a variable; *sync* waits, signals or orders;\n"
      "*async* goes on after the op. Bound: error in ulps beyond rounding to nearest.");
  std::vector<Family> families;  // in the order of their first ops
  for (int i = 0; i < op_count(); ++i)
    if (const Family f = info(static_cast<OpCode>(i)).family; std::ranges::find(families, f) == families.end())
      families.push_back(f);
  for (Family family : families) {
    std::printf("\n## %s\n\n", to_string(family));
    std::puts(
        "| op | level | scope | operands | results | regions | attributes | needs | effect | bound | meaning |\n"
        "|---|---|---|---|---|---|---|---|---|---|---|");
    for (int i = 0; i < op_count(); ++i) {
      const OpInfo& op = info(static_cast<OpCode>(i));
      if (op.family != family) continue;
      std::printf("| `%s` | %s | %s | %s | %s | %d | %s | %s | %s | %g | %s |\n", std::string(op.text).c_str(),
                  name(op.level), name(op.scope), count(op.min_operands, op.max_operands).c_str(),
                  op.results < 0 ? "1 or more" : std::to_string(op.results).c_str(), op.regions,
                  std::string(op.attributes).c_str(), std::string(op.needs).c_str(), name(op.effect), op.bound,
                  escaped(op.meaning).c_str());
    }
  }
  std::puts(
      "\n## Names taken\n\nText that uses one is refused by name.\n\n| op | types | needs | meaning "
      "|\n|---|---|---|---|");
  for (const LaterOp& op : later_ops())
    std::printf("| `%s` | %s | %s | %s |\n", std::string(op.text).c_str(), escaped(op.types).c_str(),
                std::string(op.needs).c_str(), escaped(op.meaning).c_str());
}
