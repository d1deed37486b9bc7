// src/codegen/emit_tile.cpp — pure ops on tiles: register names, and elementwise ops written element by element.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fmt/format.h>

#include "src/codegen/emitter_p.h"

TLXJIT_NAMESPACE_BEGIN

std::vector<std::string> Emitter::register_names(Value v) const {
  const Type& type = module_.type(v);
  const int n = layouts_.fragment(v).variables(type.elem);
  std::vector<std::string> names;
  names.reserve(static_cast<size_t>(n));
  for (int r = 0; r < n; ++r) names.push_back(fmt::format("v{}_{}", v, r));
  return names;
}

void Emitter::declare_registers(Value v, const std::vector<std::string>* init) {
  const std::vector<std::string> names = register_names(v);
  // One statement of a dozen names: a statement each would be most of the source.
  std::string line;
  for (size_t r = 0; r < names.size(); ++r) {
    line += line.empty() ? std::string(register_type(module_.type(v).elem)) + " " : ", ";
    line += names[r];
    if (init) line += " = " + (*init)[r];
    if ((r + 1) % 8 == 0 || r + 1 == names.size()) {
      out_->line(line + ";");
      line.clear();
    }
  }
  registers_[v] = names;
}

void Emitter::copy_registers(Value v, const std::vector<std::string>& from) {
  const std::vector<std::string>& to = registers_[v];
  std::string line;
  for (size_t r = 0; r < to.size(); ++r) {
    line += (line.empty() ? "" : " ") + to[r] + " = " + from[r] + ";";
    if ((r + 1) % 8 == 0 || r + 1 == to.size()) {
      out_->line(line);
      line.clear();
    }
  }
}

const std::vector<std::string>& Emitter::registers(Value v) {
  flush_value(v);
  return registers_[v];
}

void Emitter::alias(Value v, std::vector<std::string> names, Value root) {
  registers_[v] = std::move(names);
  if (root == no_value) return;
  const auto found = roots_.find(root);
  roots_[v] = found == roots_.end() ? root : found->second;
}

void Emitter::flush_value(Value v) {
  const auto root = roots_.find(v);
  const auto found = pending_.find(root == roots_.end() ? v : root->second);
  if (found == pending_.end()) return;
  for (Group& group : groups_)
    if (group.elements == found->second) return flush(group);
}

void Emitter::flush_all() {
  // Groups depend on one another only through values that were flushed when the dependent op joined its group.
  for (Group& group : groups_) flush(group);
}

void Emitter::flush(Group& group) {
  if (group.ops.empty()) return;
  const std::vector<const Op*> ops = std::move(group.ops);
  group.ops.clear();
  for (int r = 0; r < group.elements; ++r) {
    std::string line;
    for (const Op* op : ops) {
      const std::string statement = pending_element(*op, r);
      if (statement.empty()) continue;
      if (!line.empty()) line += ' ';
      line += statement;
    }
    if (!line.empty()) out_->line(line);
  }
  for (const Op* op : ops) pending_.erase(op->result());
}

/// The statement for one element of a pending op; empty where another element's statement covers it.
std::string Emitter::pending_element(const Op& op, int r) {
  const auto at = [](int i) { return static_cast<size_t>(i); };
  const Elem out = module_.type(op.result()).elem;
  const std::vector<std::string>& names = registers_[op.result()];
  if (is_packed(out)) {
    if (r % 2 == 0) return {};
    const std::string& dest = names[at(r / 2)];
    if (op.code == OpCode::select)
      return fmt::format("u32 {} = {} ? {} : {};", dest, scalar(op.operand(0)), registers_[op.operand(1)][at(r / 2)],
                         registers_[op.operand(2)][at(r / 2)]);
    const std::vector<std::string>& from = registers_[op.operand(0)];
    return fmt::format(
        "u32 {}; {}", dest,
        target_.math(out == Elem::bf16 ? Math::pack_bf16 : Math::pack_f16, dest, from[at(r - 1)], from[at(r)]));
  }
  const std::string& dest = names[at(r)];
  Elem in = out;
  std::string args[3];
  for (size_t i = 0; i < op.operands.size() && i < 3; ++i) {
    const Value v = op.operand(i);
    if (!(op.code == OpCode::select && i == 0)) in = module_.type(v).elem;
    args[i] = !is_tile(v)                       ? scalar(v)
              : is_packed(module_.type(v).elem) ? registers_[v][at(r / 2)]
                                                : registers_[v][at(r)];
  }
  if (in == Elem::bf16)
    return fmt::format("f32 {} = __uint_as_float({});", dest, r % 2 ? args[0] + " & 0xffff0000u" : args[0] + " << 16");
  if (in == Elem::f16)
    return fmt::format("f32 {}; {}", dest, target_.math(r % 2 ? Math::f16_high : Math::f16_low, dest, args[0]));
  return element(op, in, dest, args);
}

void Emitter::pend(const Op& op) {
  if (op.code == OpCode::cast && !op.attrs.all().empty()) return fail(op, own_rounding);
  const Value v = op.result();
  const Elem out = module_.type(v).elem;
  const int elements = layouts_.fragment(v).elements();
  const bool from_packed = is_tile(op.operand(0)) && is_packed(module_.type(op.operand(0)).elem);
  const bool packing = op.code == OpCode::cast && module_.type(op.operand(0)).elem == Elem::f32;
  const bool choosing = op.code == OpCode::select && !is_tile(op.operand(0));
  if ((is_packed(out) && !packing && !choosing) || (from_packed && !(op.code == OpCode::cast && out == Elem::f32)))
    return fail(op, "tiles of 16-bit floats are only cast, kept and chosen on this target; compute in f32");
  Group* group = nullptr;
  for (Group& g : groups_)
    if (g.elements == elements) group = &g;
  if (!group) {
    groups_.push_back({elements, {}});
    group = &groups_.back();
  }
  const auto index = group - groups_.data();
  for (Value operand : op.operands) {
    const auto root = roots_.find(operand);
    const auto found = pending_.find(root == roots_.end() ? operand : root->second);
    if (found != pending_.end() && found->second != elements) flush_value(operand);
  }
  registers_[v] = register_names(v);
  pending_[v] = elements;
  groups_[static_cast<size_t>(index)].ops.push_back(&op);
}

void Emitter::accumulator_columns(const Op& op, std::vector<std::string>& names) {
  const Fragment sums = layouts_.fragment(op.operand(0)), part = layouts_.fragment(op.result());
  const std::vector<std::string>& from = registers_[op.operand(0)];
  const int col = static_cast<int>(op.attrs.integer("col"));
  const int half = sums.cols() / 2, width = part.cols() / 2;
  for (int block = 0; block < sums.rows() / 64; ++block)
    for (int r = 0; r < width; ++r) names.push_back(from[static_cast<size_t>(block * half + col / 2 + r)]);
}

void Emitter::tile_op(const Op& op, const Block& block, size_t index) {
  const Value v = op.result();
  const Fragment fragment = layouts_.fragment(v);
  const Elem elem = module_.type(v).elem;
  switch (op.code) {
    case OpCode::constant: return fail(op, "a constant tile is a splat");
    case OpCode::splat: {
      std::string value = scalar(op.operand(0));
      if (is_packed(elem)) return fail(op, "splat in f32 and cast");
      return alias(v, std::vector<std::string>(static_cast<size_t>(fragment.elements()), value), no_value);
    }
    case OpCode::iota: {
      // Rank 1 has one axis; of a matrix, 0 counts rows.
      const bool rows = fragment.kind == FragmentKind::row ||
                        (fragment.kind == FragmentKind::accumulator && op.attrs.integer("axis") == 0);
      std::vector<std::string> names;
      for (int r = 0; r < fragment.elements(); ++r) {
        const FragmentCoordinate at = fragment.coordinate(r);
        names.push_back(rows ? fmt::format("({} + {})", row(), at.row) : fmt::format("({} + {})", col(), at.col));
      }
      return alias(v, std::move(names), no_value);
    }
    case OpCode::broadcast: {
      const Value from = op.operand(0);
      if (fragment.kind != FragmentKind::accumulator) return fail(op, "only from rank 1 to rank 2 on this target");
      if (is_packed(elem)) return fail(op, "broadcast in f32 and cast");
      const bool rows = op.attrs.integer("axis") == 1;
      const std::vector<std::string>& names = registers_[from];
      std::vector<std::string> spread;
      for (int r = 0; r < fragment.elements(); ++r)
        spread.push_back(names[static_cast<size_t>(rows ? row_element(fragment, r) : column_element(fragment, r))]);
      return alias(v, std::move(spread), from);
    }
    case OpCode::reduce: return reduce(op);
    case OpCode::finish: return finish(op);
    case OpCode::get:
    case OpCode::acc_read: {
      std::vector<std::string> names;
      if (op.code == OpCode::get)
        names = registers_[op.operand(0)];
      else
        accumulator_columns(op, names);
      if (aliases_.safe(block, index)) return alias(v, std::move(names), no_value);
      copies_.insert(v);
      return declare_registers(v, &names);
    }
    default: return pend(op);
  }
}

TLXJIT_NAMESPACE_END
