// backends/cpu/emit/tile.cpp — which tile ops run in one loop, and where tiles are kept.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <algorithm>

#include "backends/cpu/emit/emitter_p.h"

TLXJIT_NAMESPACE_BEGIN
namespace cpu {

// Tile ops are gathered into groups, one per shape, and emitted as one loop when something other than an
// elementwise op needs a result. Inside a loop every op acts on the same element, so their order is kept; two
// groups never touch the same storage, because an op that reads another group's result has that group emitted first.
// So any group may be emitted at any time, and a large one is: LLVM takes time that grows with the square of what
// stands in one loop, and what a second loop must read again is little beside what the first computes.

namespace {

constexpr size_t largest_group = 512;

}  // namespace

bool Emitter::is_tile_op(const Op& op, const Module& module) {
  switch (op.code) {
    case OpCode::set: return module.type(op.operand(1)).is_tile();
    case OpCode::acc_write:
    case OpCode::buffer_store:
    case OpCode::view_store:
    case OpCode::view_scatter:
    case OpCode::reduce: return true;
    case OpCode::var: return module.type(op.operand(0)).is_tile();
    default: return op.results.size() == 1 && module.type(op.result()).is_tile();
  }
}

Shape Emitter::domain(const Op& op) const {
  switch (op.code) {
    case OpCode::reduce:
    case OpCode::var: return type(op.operand(0)).shape;
    case OpCode::set:
    case OpCode::acc_write:
    case OpCode::view_store: return type(op.operand(1)).shape;
    case OpCode::buffer_store:
    case OpCode::view_scatter: return type(op.operand(2)).shape;
    default: return type(op.result()).shape;
  }
}

bool Emitter::pending(Value v, size_t& group) const {
  const Op* def = unit_.module.def(v);
  for (group = 0; group < groups_.size(); ++group)
    if (groups_[group].has.contains(def)) return true;
  return false;
}

void Emitter::tile_op(const Op& op) {
  const Shape shape = domain(op);
  if (!shape.valid() || shape.rank < 1) unsupported(op, "a tile of this shape");
  auto flush_at = [&](size_t i) {
    Group group = std::move(groups_[i]);
    groups_.erase(groups_.begin() + static_cast<std::ptrdiff_t>(i));
    flush(std::move(group));
  };
  for (Value v : op.operands) {
    size_t i = 0;
    if (type(v).is_tile() && pending(v, i) && (groups_[i].domain != shape || op.code == OpCode::broadcast)) flush_at(i);
  }
  auto same = [&](const Group& g) { return g.domain == shape; };
  const bool writes_shared =
      op.code == OpCode::buffer_store || op.code == OpCode::view_store || op.code == OpCode::view_scatter;
  if (op.code == OpCode::acc_write || writes_shared) {
    // Sums are also read as parts, by groups of other shapes, shared memory by any view; those reads come first.
    const auto reads_shared = [](const Group& g) {
      return std::any_of(g.ops.begin(), g.ops.end(),
                         [](const Op* o) { return o->code == OpCode::view_load || o->code == OpCode::view_gather; });
    };
    for (size_t i = 0; i < groups_.size();)
      same(groups_[i]) && !(writes_shared && reads_shared(groups_[i])) ? void(++i) : flush_at(i);
  }
  auto found = std::find_if(groups_.begin(), groups_.end(), same);
  if (found != groups_.end() && found->ops.size() == largest_group) {
    flush_at(static_cast<size_t>(found - groups_.begin()));
    found = groups_.end();
  }
  if (found == groups_.end()) found = groups_.insert(groups_.end(), {shape, {}, {}});
  found->ops.push_back(&op);
  found->has.insert(&op);
  const bool gives_scalar = op.code == OpCode::reduce && type(op.result()).is_scalar();  // which anything may read
  if (op.code == OpCode::acc_write || writes_shared || gives_scalar)
    flush_at(static_cast<size_t>(found - groups_.begin()));
}

void Emitter::flush_all() {
  while (!groups_.empty()) {
    Group group = std::move(groups_.front());
    groups_.erase(groups_.begin());
    flush(std::move(group));
  }
  for (Value v : dead_)
    if (auto found = tiles_.find(v); found != tiles_.end()) {
      arena_.give(found->second);
      tiles_.erase(found);
    }
  dead_.clear();
}

/// Whether the op reads a tile variable for dots of its block alone, none of them after an assignment: they find the
/// value where the variable lies, and no copy is made.
bool Emitter::read_in_place(const Block& block, size_t at) const {
  const Op& get = *block.ops[at];
  if (get.code != OpCode::get || !type(get.result()).is_tile()) return false;
  size_t left = unit_.users[get.result()].size();
  for (size_t i = at + 1; i < block.ops.size() && left > 0; ++i) {
    const Op& op = *block.ops[i];
    if (op.code == OpCode::dot) {
      left -= static_cast<size_t>(std::count(op.operands.begin(), op.operands.end(), get.result()));
      continue;
    }
    if (!op.regions.empty() || (op.code == OpCode::set && op.operand(0) == get.operand(0))) return false;
  }
  return left == 0;
}

bool Emitter::stored(Value v, const Group& group) const {
  return std::ranges::any_of(unit_.users[v], [&](const Op* user) { return !group.has.contains(user); });
}

void Emitter::flush(Group group) {
  for (const Op* op : group.ops)
    if (!op->results.empty() && !type(op->result()).is_scalar() &&
        (op->code == OpCode::reduce || op->code == OpCode::var || stored(op->result(), group)))
      take(op->result());
  emit_group(group);
}

int64_t Emitter::take(Value v) {
  const Type& t = type(v);
  const int64_t offset = arena_.take(t.shape.elements() * size(t.elem));
  tiles_[v] = offset;
  // Variables and sums live to the end of their block, as do values that a later region sees.
  const Op* death = unit_.death[v];
  if (death && !t.variable && t.kind == TypeKind::tile)
    deaths_[death].push_back(v);
  else
    scopes_.back().push_back(v);
  return offset;
}

void Emitter::died(const Op& op) {
  if (auto found = deaths_.find(&op); found != deaths_.end()) {
    dead_.insert(dead_.end(), found->second.begin(), found->second.end());
    deaths_.erase(found);
  }
}

void Emitter::close_scope() {
  for (Value v : scopes_.back())
    if (auto found = tiles_.find(v); found != tiles_.end()) {
      arena_.give(found->second);
      tiles_.erase(found);
    }
  scopes_.pop_back();
}

Node Emitter::tile_address(Value v) {
  if (auto variable = in_place_.find(v); variable != in_place_.end()) v = variable->second;
  auto found = tiles_.find(v);
  if (found == tiles_.end()) unsupported(task_, "a tile from outside the task");
  return arena_address(found->second);
}

Node Emitter::arena_address(int64_t offset) { return at(field(offsetof(Context, arena), b.getPtrTy()), offset); }

}  // namespace cpu
TLXJIT_NAMESPACE_END
