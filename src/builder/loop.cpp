// src/builder/loop.cpp — counted loops, schedules and their tiles.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tlxjit/builder/loop.h"

#include <algorithm>
#include <cstdint>

#include "src/builder/state_p.h"
#include "tlxjit/builder/kernel.h"

TLXJIT_NAMESPACE_BEGIN

Range Kernel::range(Operand high) { return range(Operand(0, high.at), high, Operand(1, high.at)); }
Range Kernel::range(Operand low, Operand high) { return range(low, high, Operand(1, low.at)); }

Range Kernel::range(Operand low, Operand high, Operand step) {
  BuilderState& s = use(low.at);
  Range range;
  range.state_ = s.shared_from_this();
  range.low_ = s.index(low);
  range.high_ = s.index(high);
  range.step_ = s.index(step);
  return range;
}

void Range::run(const std::function<void(Index&)>& fn, std::source_location at) const {
  if (!state_) return;
  if (!fn) return state_->fault("each: the function is empty", at);
  state_->emit_with_regions(OpCode::for_, {low_, high_, step_}, {}, at, [&](Op& op) {
    Block& region = op.regions[0];
    region.args.push_back(state_->module.new_value(Type::scalar(Elem::i32)));
    state_->inside(region, [&] {
      Index i = state_->constant_handle(region.args[0]);
      fn(i);
    });
  });
}

Tiles Kernel::schedule(const char* kind, Operand total, const std::function<TileAt(Index)>& map) {
  BuilderState& s = use(total.at);
  Tiles tiles;
  tiles.state_ = s.shared_from_this();
  const Location at = total.at;
  if (!map) {
    s.fault("schedule: the function is empty", at);
    return tiles;
  }
  Attrs attrs;
  attrs.set("kind", std::string(kind));
  const Value count = s.index(total);
  if (count == no_value) return tiles;
  auto op = s.module.make(OpCode::schedule, {count}, {Type::schedule(0)}, std::move(attrs), s.add_location(at));
  const ForgetUnlessKept guard{s, op};
  Block& region = op->regions[0];
  region.args.push_back(s.module.new_value(Type::scalar(Elem::i32)));
  bool poison = false;
  s.inside(region, [&] {
    TileAt tile = map(s.constant_handle(region.args[0]));
    std::vector<Value> yielded = {s.read(tile.taken, at)};
    for (const Index& i : tile.indices) yielded.push_back(s.read(i, at));
    poison = std::ranges::find(yielded, no_value) != yielded.end();
    s.emit(OpCode::yield, std::move(yielded), {}, {}, at);
    s.module.set_type(op->results[0], Type::schedule(static_cast<int32_t>(tile.indices.size())));
  });
  if (poison || !s.check(op, at)) return tiles;
  tiles.value_ = op->results[0];
  s.blocks.back()->ops.push_back(std::move(op));
  return tiles;
}

Tiles Kernel::persistent(Operand rows, Operand columns, PersistentOptions options) {
  return grid_of("static", rows, columns, options);
}
Tiles Kernel::tiles(Operand rows, Operand columns) { return grid_of("grid", rows, columns, {}); }

namespace {

/// No number of this value is greater, by what is known of dims and constants.
int64_t most_of(const Module& module, Value v) {
  const Op* op = v == no_value ? nullptr : module.def(v);
  if (!op) return INT32_MAX;
  const auto constant = [&](size_t i) {
    const Op* def = module.def(op->operands[i]);
    return def && def->code == OpCode::constant ? def->attrs.integer("value") : 0;
  };
  switch (op->code) {
    case OpCode::constant: return op->attrs.integer("value");
    case OpCode::dim: return op->attrs.integer("max", INT32_MAX);
    case OpCode::div:
    case OpCode::ceil_div:
      if (const int64_t by = constant(1); by > 0) return (most_of(module, op->operands[0]) + by - 1) / by;
      return INT32_MAX;
    default: return INT32_MAX;
  }
}

/// What is written while it lives has the place of the call that the library carries out.
class Behalf {
 public:
  Behalf(BuilderState& state, const Location& at) : state_(state), before_(state.caller) {
    if (!before_) state.caller = at;
  }
  ~Behalf() { state_.caller = before_; }
  Behalf(const Behalf&) = delete;

 private:
  BuilderState& state_;
  const std::optional<Location> before_;
};

}  // namespace

Tiles Kernel::grid_of(const char* kind, const Operand& rows, const Operand& columns, PersistentOptions options) {
  BuilderState& s = use(rows.at);
  const Behalf behalf(s, rows.at);
  if (options.group < 0) s.fault("persistent: group is 0 or more, not " + std::to_string(options.group), rows.at);
  const Tile r = s.constant_handle(s.index(rows)), c = s.constant_handle(s.index(columns));
  const Tile total = Operand(r, rows.at) * Operand(c, columns.at);
  if (moved_) return {};
  return schedule(kind, Operand(total, rows.at), [&](Index t) -> TileAt {
    const Tile taken = s.constant_handle(s.literal(Operand(true, rows.at), Elem::b1));
    if (options.group <= 0) return {taken, {t / c, t % c}};
    // Groups of rows, inside a group column by column: a wave of programs covers a nearly square piece of the
    // grid, so that it re-reads as little as possible.
    // No more rows than there are, where a group of so many columns might have more tiles than 2^31: all in one group.
    const bool fits = most_of(s.module, Access::value(c)) <= INT32_MAX / options.group;
    const Index in_group = (fits ? Operand(options.group) : Operand(min(r, options.group))) * c;
    const Index group = t / in_group, rest = t % in_group;
    // At least 1 for every tile; said so, the divisions below are known to be unsigned.
    const Index height = max(min(r - group * options.group, options.group), 1);
    return {taken, {group * options.group + rest % height, rest / height}};
  });
}

Tiles Kernel::dynamic(Operand total, const std::function<TileAt(Index)>& map) {
  return schedule("dynamic", total, map);
}
Tiles Kernel::persistent(Operand total, const std::function<TileAt(Index)>& map) {
  return schedule("static", total, map);
}

Tiles Tiles::split(const Task& task, std::source_location at) const {
  Tiles tiles = *this;
  tiles.split_ = true;
  if (!kernel_of({&state_, &task.state_}, at) || !task.is_here(at)) tiles.value_ = no_value;
  return tiles;
}

int Tiles::indices() const { return !state_ || value_ == no_value ? 0 : state_->module.type(value_).slots; }

void Tiles::run(const std::function<void(std::vector<Index>&)>& fn, int wanted, std::source_location at) const {
  if (!state_ || value_ == no_value) return;
  if (!fn) return state_->fault("each: the function is empty", at);
  if (wanted >= 0 && wanted != indices())
    return state_->fault("each: the schedule yields " + std::to_string(indices()) + " indices, the function takes " +
                             std::to_string(wanted),
                         at);
  Attrs attrs;
  if (split_) attrs.set("split", int64_t{1});
  state_->emit_with_regions(OpCode::each, {value_}, std::move(attrs), at, [&](Op& op) {
    Block& region = op.regions[0];
    std::vector<Index> indices;
    for (int i = 0; i < this->indices(); ++i) {
      region.args.push_back(state_->module.new_value(Type::scalar(Elem::i32)));
      indices.push_back(state_->constant_handle(region.args.back()));
    }
    state_->inside(region, [&] { fn(indices); });
  });
}

TLXJIT_NAMESPACE_END
