// backends/nvidia/emit/ptx.cpp — rows of ptx.def as macros of inline PTX.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/nvidia/emit/ptx_p.h"

TLXJIT_NAMESPACE_BEGIN
namespace nvidia {

namespace {

enum class Kind : uint8_t { pure, effect };

struct Row {
  std::string_view name, parameters;
  Kind kind;
  std::string_view outputs, inputs, text;
};

constexpr Row rows[] = {
#define TLX_PTX(id, parameters, kind, outputs, inputs, text) {#id, parameters, Kind::kind, outputs, inputs, text},
#include "backends/nvidia/emit/ptx.def"
#undef TLX_PTX
};

/// `r(a), f(b)` → `"r"(a), "f"(b)`; outputs get "=".
std::string operands(std::string_view list, bool outputs) {
  std::string out;
  while (!list.empty()) {
    const size_t close = list.find(')');
    const std::string_view item = list.substr(0, close + 1);
    if (!out.empty()) out += ", ";
    out += outputs ? "\"=" : "\"";
    out += item[0];
    out += "\"";
    out += item.substr(1);
    list.remove_prefix(close + 1);
    if (list.starts_with(", ")) list.remove_prefix(2);
  }
  return out;
}

}  // namespace

std::string PtxUses::operator()(Ptx id, std::initializer_list<std::string_view> args) {
  used_[static_cast<size_t>(id)] = true;
  std::string out(rows[static_cast<size_t>(id)].name);
  out += '(';
  const char* comma = "";
  for (std::string_view arg : args) {
    out += comma;
    out += arg;
    comma = ", ";
  }
  out += ");";
  return out;
}

std::string PtxUses::macros() const {
  std::string out;
  for (size_t i = 0; i < used_.size(); ++i) {
    if (!used_[i]) continue;
    const Row& row = rows[i];
    out += "#define ";
    out += row.name;
    out += '(';
    out += row.parameters;
    out += ") asm";
    if (row.kind == Kind::effect) out += " volatile";
    out += "(\"";
    // Text without operands is taken as it is; with operands every % must be an operand.
    out += row.text;
    out += "\" : " + operands(row.outputs, true) + " : " + operands(row.inputs, false);
    if (row.kind == Kind::effect) out += " : \"memory\"";
    out += ")\n";
  }
  return out;
}

}  // namespace nvidia
TLXJIT_NAMESPACE_END
