// src/ir/module.cpp — modules, blocks, the op table's rows, attributes.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tlxjit/ir/module.h"

#include <array>
#include <memory>
#include <unordered_map>

TLXJIT_NAMESPACE_BEGIN

namespace {

constexpr std::array op_table = {
#define TLX_LATER(...)
#define TLX_OP(family, id, text, level, scope, min, max, results, regions, attributes, needs, effect, bound, meaning) \
  OpInfo{Family::family, OpCode::id, text,       Level::level, Scope::scope,   min,   max,                            \
         results,        regions,    attributes, needs,        Effect::effect, bound, meaning},
#include "tlxjit/ir/ops.def"
#undef TLX_OP
#undef TLX_LATER
};

constexpr std::array later_table = {
#define TLX_OP(...)
#define TLX_LATER(family, text, types, needs, meaning) LaterOp{Family::family, text, types, needs, meaning},
#include "tlxjit/ir/ops.def"
#undef TLX_LATER
#undef TLX_OP
};

void clone_block(const Block& from, Block& to, Module& module) {
  to.args = from.args;
  to.ops.reserve(from.ops.size());
  for (const auto& op : from.ops) {
    auto copy = std::make_unique<Op>();
    copy->code = op->code;
    copy->operands = op->operands;
    copy->results = op->results;
    copy->attrs = op->attrs;
    copy->location = op->location;
    for (Value v : copy->results) module.set_def(v, copy.get());
    copy->regions.resize(op->regions.size());
    for (size_t i = 0; i < op->regions.size(); ++i) clone_block(op->regions[i], copy->regions[i], module);
    to.ops.push_back(std::move(copy));
  }
}

}  // namespace

Block::Block() = default;
Block::~Block() = default;
Block::Block(Block&&) noexcept = default;
Block& Block::operator=(Block&&) noexcept = default;

Module::Module() : locations(1) {}
Module::~Module() = default;
Module::Module(Module&&) noexcept = default;
Module& Module::operator=(Module&&) noexcept = default;

const OpInfo& info(OpCode code) { return op_table[static_cast<size_t>(code)]; }
std::span<const LaterOp> later_ops() { return later_table; }

const char* to_string(Family family) {
  switch (family) {
    case Family::program: return "program";
    case Family::constant: return "constant";
    case Family::arith: return "arithmetic";
    case Family::math: return "math";
    case Family::compare: return "compare";
    case Family::cast: return "cast";
    case Family::shape: return "shape";
    case Family::reduce: return "reduce";
    case Family::control: return "control";
    case Family::global: return "global memory";
    case Family::ring: return "ring";
    case Family::local: return "local memory";
    case Family::dot: return "dot";
    case Family::sync: return "synchronisation";
    case Family::copy: return "copy";
    case Family::workspace: return "workspace";
    case Family::launch: return "launch";
    case Family::flag: return "flag";
    case Family::cluster: return "cluster";
    case Family::tmem: return "tensor memory";
    case Family::debug: return "debug";
    case Family::inline_text: return "inline text";
  }
  return "";
}

int op_count() { return static_cast<int>(op_table.size()); }

std::optional<OpCode> parse_op_code(std::string_view text) {
  static const auto* index = [] {
    auto map = std::make_unique<std::unordered_map<std::string_view, OpCode>>();
    for (const OpInfo& row : op_table) map->emplace(row.text, row.code);
    return map.release();
  }();
  auto found = index->find(text);
  if (found == index->end()) return std::nullopt;
  return found->second;
}

namespace {

/// A value as a temporary of its own, which is then moved: that cannot fail.
template <class Base>
Base copy_of(const Base& other) {
  return std::visit([](auto value) { return Base(std::move(value)); }, other);
}

}  // namespace

Attr::Attr(const Attr& other) : variant(copy_of<variant>(other)) {}

const Attr* Attrs::find(std::string_view name) const {
  for (const auto& [key, value] : items_)
    if (key == name) return &value;
  return nullptr;
}

void Attrs::set(std::string_view name, Attr value) {
  for (auto& [key, old] : items_)
    if (key == name) {
      old = std::move(value);
      return;
    }
  items_.emplace_back(std::string(name), std::move(value));
}

int64_t Attrs::integer(std::string_view name, int64_t otherwise) const {
  const Attr* attr = find(name);
  const int64_t* value = attr ? std::get_if<int64_t>(attr) : nullptr;
  return value ? *value : otherwise;
}

std::string_view Attrs::text(std::string_view name) const {
  const Attr* attr = find(name);
  const std::string* value = attr ? std::get_if<std::string>(attr) : nullptr;
  return value ? std::string_view(*value) : std::string_view();
}

const std::vector<int64_t>& Attrs::list(std::string_view name) const {
  static const std::vector<int64_t> empty;
  const Attr* attr = find(name);
  const auto* value = attr ? std::get_if<std::vector<int64_t>>(attr) : nullptr;
  return value ? *value : empty;
}

Value Module::new_value(const Type& type, Op* def) {
  values_.push_back({type, def});
  return static_cast<Value>(values_.size() - 1);
}

uint32_t Module::add_location(const Location& location) {
  // A run of builder calls mostly comes from the same few lines: look at the newest first.
  for (size_t i = locations.size(), seen = 0; i-- > 0 && seen < 8; ++seen)
    if (locations[i] == location) return static_cast<uint32_t>(i);
  locations.push_back(location);
  return static_cast<uint32_t>(locations.size() - 1);
}

std::unique_ptr<Op> Module::make(OpCode code, std::vector<Value> operands, const std::vector<Type>& results,
                                 Attrs attrs, uint32_t location) {
  auto op = std::make_unique<Op>();
  op->code = code;
  op->operands = std::move(operands);
  for (const Type& type : results) op->results.push_back(new_value(type, op.get()));
  op->attrs = std::move(attrs);
  op->regions.resize(static_cast<size_t>(info(code).regions));
  op->location = location;
  return op;
}

Module Module::clone() const {
  Module copy;
  copy.name = name;
  copy.level = level;
  copy.target = target;
  copy.attrs = attrs;
  copy.locations = locations;
  copy.values_ = values_;
  clone_block(body, copy.body, copy);
  return copy;
}

void walk(Block& block, const std::function<void(Op&)>& fn) {
  for (auto& op : block.ops) {
    fn(*op);
    for (Block& region : op->regions) walk(region, fn);
  }
}

void walk(const Block& block, const std::function<void(const Op&)>& fn) {
  for (const auto& op : block.ops) {
    fn(*op);
    for (const Block& region : op->regions) walk(region, fn);
  }
}

std::vector<const Op*> numbered_ops(const Module& module) {
  std::vector<const Op*> ops;
  walk(module.body, [&](const Op& op) { ops.push_back(&op); });
  return ops;
}

TLXJIT_NAMESPACE_END
