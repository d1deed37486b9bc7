// src/ir/check.cpp — checks an op against its row of the op table, then by family.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <algorithm>

#include "src/ir/access_p.h"
#include "src/ir/check_p.h"

TLXJIT_NAMESPACE_BEGIN

namespace {

/// Every attribute of the row is there unless it may be absent, and no other is.
std::string check_attributes(const Op& op, const OpInfo& row) {
  size_t known = 0;
  std::string_view rest = row.attributes;
  while (!rest.empty()) {
    const size_t space = rest.find(' ');
    std::string_view name = rest.substr(0, space);
    rest = space == std::string_view::npos ? std::string_view() : rest.substr(space + 1);
    const bool optional = name.ends_with('?');
    if (optional) name.remove_suffix(1);
    if (op.attrs.find(name))
      ++known;
    else if (!optional)
      return "attribute '" + std::string(name) + "' is missing";
  }
  if (known != op.attrs.all().size()) return "an attribute is unknown; the op has: " + std::string(row.attributes);
  return {};
}

}  // namespace

std::string format_fields(const std::vector<RingField>& fields) {
  std::string text;
  for (const RingField& field : fields) {
    if (!text.empty()) text += ", ";
    const std::string view = to_string(field.view);  // view<…>
    text += field.name + " " + view.substr(5, view.size() - 6);
  }
  return text;
}

std::optional<std::vector<RingField>> parse_fields(std::string_view text) {
  std::vector<RingField> fields;
  while (!text.empty()) {
    const size_t comma = text.find(", ");
    const std::string_view item = text.substr(0, comma);
    text = comma == std::string_view::npos ? std::string_view() : text.substr(comma + 2);
    const size_t space = item.find(' ');
    if (space == 0 || space == std::string_view::npos) return std::nullopt;
    auto view = parse_type("view<" + std::string(item.substr(space + 1)) + ">");
    if (!view) return std::nullopt;
    fields.push_back({std::string(item.substr(0, space)), *view});
  }
  if (fields.empty()) return std::nullopt;
  return fields;
}

std::string check_indices(const Module& module, const Op& op, size_t first) {
  for (size_t i = first; i < op.operands.size(); ++i)
    if (const Type& t = module.type(op.operands[i]); !is_i32(t))
      return "operand " + std::to_string(i) + " is an index (i32), not " + to_string(t) + "; cast first";
  return {};
}

std::string check_index(const Module& module, Value index, int64_t n, const char* what) {
  if (!is_i32(module.type(index))) return std::string(what) + " is i32";
  const Op* def = module.def(index);
  if (!def || def->code != OpCode::constant) return {};
  const int64_t i = def->attrs.integer("value");
  if (i >= 0 && i < n) return {};
  return std::string(what) + " " + std::to_string(i) + " is outside the " + std::to_string(n) + " that there are";
}

std::string check_count(const Module& module, Value count, const char* what) {
  const Op* def = module.def(count);
  const int64_t n = def && def->code == OpCode::constant ? def->attrs.integer("value") : 0;
  return n >= 0 ? "" : std::string(what) + " is 0 or more, not " + std::to_string(n);
}

bool has_control(std::string_view name) {
  return std::ranges::any_of(name, [](unsigned char c) { return c < 0x20 || c == 0x7f; });
}

bool is_elementwise(OpCode code) {
  switch (info(code).family) {
    case Family::arith:
    case Family::math:
    case Family::compare:
    case Family::cast: return true;
    default: return false;
  }
}

bool is_view_step(OpCode code) {
  switch (code) {
    case OpCode::part:
    case OpCode::trans:
    case OpCode::view_slice:
    case OpCode::view_reshape:
    case OpCode::view_reinterpret: return true;
    default: return false;
  }
}

Value source_of(const Module& module, Value v) {
  bool found = module.type(v).kind == TypeKind::buffer;
  for (const Op* def = module.def(v); def && !def->operands.empty(); def = module.def(v)) {
    if (def->code == OpCode::field) return def->operands[0];
    if (def->code != OpCode::view && def->code != OpCode::buffer && !is_view_step(def->code)) return no_value;
    found |= def->code == OpCode::view;
    v = def->operands[0];
  }
  return found ? v : no_value;
}

std::string check_op(const Module& module, const Op& op) {
  const OpInfo& row = info(op.code);
  const int operands = static_cast<int>(op.operands.size());
  if (operands < row.min_operands || (row.max_operands >= 0 && operands > row.max_operands))
    return "takes " + std::to_string(row.min_operands) +
           (row.max_operands == row.min_operands ? "" : " to " + std::to_string(row.max_operands)) + " operands, not " +
           std::to_string(operands);
  if (row.results < 0 ? op.results.empty() : static_cast<int>(op.results.size()) != row.results)
    return "has " + (row.results < 0 ? "one or more" : std::to_string(row.results)) + " results, not " +
           std::to_string(op.results.size());
  if (static_cast<int>(op.regions.size()) != row.regions)
    return "has " + std::to_string(row.regions) + " regions, not " + std::to_string(op.regions.size());
  if (std::string what = check_attributes(op, row); !what.empty()) return what;
  if (has_control(op.attrs.text("name"))) return "its name has a control character";

  for (Value v : op.results)
    if (module.type(v).has_elements() && !known(module.type(v).elem))
      return "the element type of its result is none of those that there are; elem_of<T> has one for bool, integers of "
             "8 to 64 bits, float, double and the types of core/numeric.h";

  // Variables are seen by `get` and `set` only; everything else works on values.
  for (Value v : op.operands)
    if (module.type(v).variable && op.code != OpCode::get && !(op.code == OpCode::set && v == op.operands[0]))
      return "a variable must be read with get";

  switch (row.family) {
    case Family::constant:
    case Family::arith:
    case Family::math:
    case Family::compare:
    case Family::cast: return check_scalar(module, op);
    case Family::shape: return check_shape(module, op);
    case Family::reduce: return check_reduce(module, op);
    case Family::program:
    case Family::control: return check_control(module, op);
    case Family::global: return is_access(op.code) ? check_access(module, op) : check_memory(module, op);
    case Family::workspace: return check_memory(module, op);
    case Family::ring: return check_ring(module, op);
    case Family::local: return check_local(module, op);
    case Family::dot: return check_dot(module, op);
    case Family::sync:
    case Family::copy: return check_sync(module, op);
    case Family::launch:
    case Family::flag:
    case Family::cluster: return check_launch(module, op);
    case Family::debug:
    case Family::inline_text: return check_debug(module, op);
    case Family::tmem: break;  // its names are taken, it has no ops yet
  }
  return {};
}

TLXJIT_NAMESPACE_END
