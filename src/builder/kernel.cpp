// src/builder/kernel.cpp — declarations, schedules, tasks and control flow.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tlxjit/builder/kernel.h"

#include "src/builder/state_p.h"
#include "tlxjit/ir/verify.h"

TLXJIT_NAMESPACE_BEGIN

namespace {

Attrs named(std::string_view name) {
  Attrs attrs;
  attrs.set("name", std::string(name));
  return attrs;
}

}  // namespace

Kernel::Kernel(std::string name) : state_(std::make_shared<BuilderState>(std::move(name))) {}
Kernel::Kernel(std::shared_ptr<BuilderState> state) : state_(std::move(state)) {}
Kernel::~Kernel() = default;
// A moved-from Kernel stays one more handle of the same kernel: no call on it can fail for want of a state.
// NOLINTNEXTLINE(performance-move-constructor-init)
Kernel::Kernel(Kernel&& other) noexcept : state_(other.state_) {}
Kernel& Kernel::operator=(Kernel&& other) noexcept {
  state_ = other.state_;
  return *this;
}

Index Kernel::dim(std::string_view name, int64_t at_least, std::source_location at) {
  Attrs attrs = named(name);
  if (at_least > 0) attrs.set("min", at_least);
  return state_->constant_handle(state_->emit(OpCode::dim, {}, {Type::scalar(Elem::i32)}, std::move(attrs), at));
}

Tensor Kernel::tensor(Elem elem, std::string_view name, std::initializer_list<Operand> extents,
                      std::source_location at) {
  Tensor tensor;
  tensor.state_ = state_;
  tensor.value_ = state_->emit(OpCode::tensor, state_->indices(extents),
                               {Type::tensor(static_cast<int32_t>(extents.size()), elem)}, named(name), at);
  return tensor;
}

Scalar Kernel::scalar(Elem elem, std::string_view name, std::optional<double> above, std::source_location at) {
  Attrs attrs = named(name);
  if (above) attrs.set("above", *above);
  return state_->constant_handle(state_->emit(OpCode::scalar, {}, {Type::scalar(elem)}, std::move(attrs), at));
}

void Kernel::fault(std::string message, std::source_location at) { state_->fault(std::move(message), at); }

Ring Kernel::ring(int stages, std::source_location at) {
  // Fields come later, one slot() at a time: the op starts with none and is checked as a whole by verify().
  Ring ring;
  ring.state_ = state_;
  Attrs attrs;
  attrs.set("fields", std::string());
  auto op =
      state_->module.make(OpCode::ring, {}, {Type::ring(stages)}, std::move(attrs), state_->module.add_location(at));
  ring.value_ = op->results[0];
  state_->blocks.back()->ops.push_back(std::move(op));
  return ring;
}

Tiles Kernel::schedule(const char* kind, Operand total, const std::function<TileAt(Index)>& map) {
  Tiles tiles;
  tiles.state_ = state_;
  Attrs attrs;
  attrs.set("kind", std::string(kind));
  const Location at = total.at;
  const Value count = state_->index(total);
  if (count == no_value) return tiles;
  auto op = state_->module.make(OpCode::schedule, {count}, {Type::schedule(0)}, std::move(attrs),
                                state_->module.add_location(at));
  const ForgetUnlessKept guard{*state_, op};
  Block& region = op->regions[0];
  region.args.push_back(state_->module.new_value(Type::scalar(Elem::i32)));
  state_->inside(region, [&] {
    TileAt tile = map(state_->constant_handle(region.args[0]));
    std::vector<Value> yielded = {state_->read(tile.taken, at)};
    for (const Index& i : tile.indices) yielded.push_back(state_->read(i, at));
    state_->emit(OpCode::yield, std::move(yielded), {}, {}, at);
    state_->module.set_type(op->results[0], Type::schedule(static_cast<int32_t>(tile.indices.size())));
  });
  if (!state_->check(op, at)) return tiles;
  tiles.value_ = op->results[0];
  state_->blocks.back()->ops.push_back(std::move(op));
  return tiles;
}

Tiles Kernel::persistent(Operand rows, Operand columns, PersistentOptions options) {
  return grid_of("static", rows, columns, options);
}
Tiles Kernel::tiles(Operand rows, Operand columns) { return grid_of("grid", rows, columns, {}); }

Tiles Kernel::grid_of(const char* kind, const Operand& rows, const Operand& columns, PersistentOptions options) {
  const Tile r = state_->constant_handle(state_->index(rows)), c = state_->constant_handle(state_->index(columns));
  const Tile total = Operand(r, rows.at) * Operand(c, columns.at);
  return schedule(kind, Operand(total, rows.at), [&](Index t) -> TileAt {
    const Tile taken = state_->constant_handle(state_->literal(Operand(true, rows.at), Elem::b1));
    if (options.group <= 0) return {taken, {t / c, t % c}};
    // Groups of rows, inside a group column by column: a wave of programs covers a nearly square piece of the
    // grid, so that it re-reads as little as possible.
    const Index in_group = options.group * c;
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

void Kernel::grid(Operand programs) { state_->emit(OpCode::grid, {state_->index(programs)}, {}, {}, programs.at); }

Index Kernel::program_id(std::source_location at) {
  return state_->handle(state_->emit(OpCode::program_id, {}, {Type::scalar(Elem::i32)}, {}, at), at);
}

TaskBuilder Kernel::task(std::string_view name, std::source_location at) {
  TaskBuilder task;
  task.state_ = state_;
  task.name_ = std::string(name);
  task.at_ = at;
  return task;
}

void TaskBuilder::run(const std::function<void(Task&)>& fn) {
  if (state_->in_task()) return state_->fault("task: a task stands in no other task", at_);
  Attrs attrs = named(name_);
  attrs.set("warps", int64_t{warps_});
  attrs.set("replicas", int64_t{replicas_});
  if (registers_ > 0) attrs.set("registers", int64_t{registers_});
  if (staggered_) attrs.set("staggered", int64_t{1});
  struct Leave {
    BuilderState& state;
    ~Leave() {
      state.task_replicas = 0;
      state.at_task_end.clear();
    }
  } leave{*state_};
  state_->task_replicas = replicas_ > 0 ? replicas_ : 1;
  state_->task_warps = warps_ > 0 ? warps_ : 1;
  state_->task_name = name_;
  state_->emit_with_regions(OpCode::task, {}, std::move(attrs), at_, [&](Op& op) {
    state_->inside(op.regions[0], [&] {
      Task task;
      task.state_ = state_;
      fn(task);
      for (const auto& end : state_->at_task_end) end();
    });
  });
}

Range Kernel::range(Operand high) { return range(Operand(0, high.at), high, Operand(1, high.at)); }

Range Kernel::range(Operand low, Operand high, Operand step) {
  Range range;
  range.state_ = state_;
  range.low_ = state_->index(low);
  range.high_ = state_->index(high);
  range.step_ = state_->index(step);
  return range;
}

void Range::run(const std::function<void(Index&)>& fn, std::source_location at) const {
  state_->emit_with_regions(OpCode::for_, {low_, high_, step_}, {}, at, [&](Op& op) {
    Block& region = op.regions[0];
    region.args.push_back(state_->module.new_value(Type::scalar(Elem::i32)));
    state_->inside(region, [&] {
      Index i = state_->constant_handle(region.args[0]);
      fn(i);
    });
  });
}

void Kernel::when(Operand condition, const std::function<void()>& then, const std::function<void()>& otherwise) {
  if (!condition.tile) return state_->fault("when: the condition is a value of the kernel, not a number", condition.at);
  state_->emit_with_regions(OpCode::if_, {state_->read(*condition.tile, condition.at)}, {}, condition.at, [&](Op& op) {
    if (then) state_->inside(op.regions[0], then);
    if (otherwise) state_->inside(op.regions[1], otherwise);
  });
}

void Kernel::loop(const std::function<Tile()>& condition, const std::function<void()>& body, std::source_location at) {
  state_->emit_with_regions(OpCode::while_, {}, {}, at, [&](Op& op) {
    state_->inside(op.regions[0], [&] {
      const Tile c = condition();
      state_->emit(OpCode::yield, {state_->read(c, at)}, {}, {}, at);
    });
    state_->inside(op.regions[1], body);
  });
}

const std::string& Kernel::name() const { return state_->module.name; }
const std::vector<Error>& Kernel::faults() const { return state_->faults; }

std::vector<Error> Kernel::verify() const {
  std::vector<Error> faults = state_->faults;
  // What the verifier would say of a kernel with pieces missing repeats the builder's faults.
  if (faults.empty()) {
    Module module = state_->module.clone();
    promote_variables(module);
    faults = tlxjit::verify(module);
  }
  return faults;
}

Result<Module> Kernel::module() const {
  if (auto ok = first_of(state_->faults); !ok) return std::move(ok).error();
  Module module = state_->module.clone();
  promote_variables(module);
  if (auto ok = first_of(tlxjit::verify(module)); !ok) return std::move(ok).error();
  return module;
}

TLXJIT_NAMESPACE_END
