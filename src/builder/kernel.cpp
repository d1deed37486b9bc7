// src/builder/kernel.cpp — declarations, schedules, tasks and control flow.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tlxjit/builder/kernel.h"

#include <algorithm>
#include <cstdint>
#include <new>

#include "src/builder/state_p.h"
#include "tlxjit/ir/verify.h"

TLXJIT_NAMESPACE_BEGIN

namespace {

Attrs named(std::string_view name) {
  Attrs attrs;
  attrs.set("name", std::string(name));
  return attrs;
}

Error no_memory() {
  Error error;
  error.kind = ErrorKind::environment;
  error.stage = Stage::verify;
  error.code = ErrorCode::out_of_resources;
  error.message = "no memory";  // short enough to need none
  return error;
}

}  // namespace

Kernel::Kernel(std::string name, std::source_location at)
    : state_(std::make_shared<BuilderState>(std::move(name), at)) {}
Kernel::Kernel(std::shared_ptr<BuilderState> state) : state_(std::move(state)) {}
Kernel::~Kernel() = default;
// What was moved away keeps the state, to tell it where it is used all the same.
// NOLINTNEXTLINE(performance-move-constructor-init)
Kernel::Kernel(Kernel&& other) noexcept : state_(other.state_), moved_(other.moved_) { other.moved_ = true; }
Kernel& Kernel::operator=(Kernel&& other) noexcept {
  if (this == &other) return *this;
  state_ = other.state_;
  moved_ = std::exchange(other.moved_, true);
  return *this;
}

BuilderState& Kernel::use(const std::source_location& at) {
  if (!moved_) return *state_;
  state_->fault("a kernel that was moved away is used here", at);
  if (!state_->leftovers) {
    state_->leftovers = std::make_shared<BuilderState>(state_->module.name, state_->at);
    state_->leftovers->discarded = true;
  }
  return *state_->leftovers;
}

Index Kernel::dim(std::string_view name, int64_t at_least, std::source_location at) {
  return dim(name, at_least, INT32_MAX, at);
}

Index Kernel::dim(std::string_view name, int64_t at_least, int64_t at_most, std::source_location at) {
  BuilderState& s = use(at);
  Attrs attrs = named(name);
  if (at_least != 0) attrs.set("min", at_least);
  if (at_most != INT32_MAX) attrs.set("max", at_most);
  return s.constant_handle(s.emit(OpCode::dim, {}, {Type::scalar(Elem::i32)}, std::move(attrs), at));
}

Tensor Kernel::tensor(Elem elem, std::string_view name, std::initializer_list<Operand> extents,
                      std::source_location at) {
  BuilderState& s = use(at);
  Tensor tensor;
  tensor.state_ = s.shared_from_this();
  tensor.value_ = s.emit(OpCode::tensor, s.indices(extents), {Type::tensor(static_cast<int32_t>(extents.size()), elem)},
                         named(name), at);
  return tensor;
}

Scalar Kernel::scalar(Elem elem, std::string_view name, std::optional<double> above, std::source_location at) {
  BuilderState& s = use(at);
  Attrs attrs = named(name);
  if (above) attrs.set("above", *above);
  return s.constant_handle(s.emit(OpCode::scalar, {}, {Type::scalar(elem)}, std::move(attrs), at));
}

void Kernel::fault(std::string message, std::source_location at) { use(at).fault(std::move(message), at); }

Ring Kernel::ring(int stages, std::source_location at) {
  // Fields come later, one slot() at a time: the op starts with none and is checked as a whole by verify().
  BuilderState& s = use(at);
  Ring ring;
  ring.state_ = s.shared_from_this();
  Attrs attrs;
  attrs.set("fields", std::string());
  auto op = s.module.make(OpCode::ring, {}, {Type::ring(stages)}, std::move(attrs), s.module.add_location(at));
  ring.value_ = op->results[0];
  s.blocks.back()->ops.push_back(std::move(op));
  return ring;
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
  auto op = s.module.make(OpCode::schedule, {count}, {Type::schedule(0)}, std::move(attrs), s.module.add_location(at));
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

Tiles Kernel::grid_of(const char* kind, const Operand& rows, const Operand& columns, PersistentOptions options) {
  BuilderState& s = use(rows.at);
  if (options.group < 0) s.fault("persistent: group is 0 or more, not " + std::to_string(options.group), rows.at);
  const Tile r = s.constant_handle(s.index(rows)), c = s.constant_handle(s.index(columns));
  const Tile total = Operand(r, rows.at) * Operand(c, columns.at);
  if (moved_) return {};
  return schedule(kind, Operand(total, rows.at), [&](Index t) -> TileAt {
    const Tile taken = s.constant_handle(s.literal(Operand(true, rows.at), Elem::b1));
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

TaskBuilder Kernel::task(std::string_view name, std::source_location at) {
  BuilderState& s = use(at);
  TaskBuilder task;
  task.state_ = s.shared_from_this();
  s.tasks.push_back({std::string(name), at, false});
  task.number_ = static_cast<int>(s.tasks.size());
  return task;
}

void TaskBuilder::run(const std::function<void(Task&)>& fn) {
  BuilderState& s = *state_;
  DeclaredTask& declared = s.tasks[static_cast<size_t>(number_) - 1];
  const Location at = declared.at;
  declared.has_body = true;
  if (s.in_task()) return s.fault("task: a task stands in no other task", at);
  if (!fn) return s.fault("task: the function is empty", at);
  Attrs attrs = named(declared.name);
  attrs.set("warps", int64_t{warps_});
  attrs.set("replicas", int64_t{replicas_});
  if (registers_ != 0) attrs.set("registers", int64_t{registers_});
  if (staggered_) attrs.set("staggered", int64_t{1});
  struct Leave {
    BuilderState& state;
    ~Leave() {
      state.task = 0;
      state.at_task_end.clear();
    }
  } leave{s};
  s.task = number_;
  s.task_warps = warps_ > 0 ? warps_ : 1;
  s.emit_with_regions(OpCode::task, {}, std::move(attrs), at, [&](Op& op) {
    s.inside(op.regions[0], [&] {
      Task task;
      task.state_ = state_;
      task.number_ = number_;
      task.replicas_ = replicas_ > 0 ? replicas_ : 1;
      fn(task);
      for (const auto& end : s.at_task_end) end();
    });
  });
}

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

Tile Kernel::variable(Operand value) {
  BuilderState& s = use(value.at);
  if (value.is_tile) return value.tile.state ? s.copy(value.tile, value.at) : of_no_kernel({&value}, no_tile, value.at);
  return s.handle(s.literal(value, Elem::i32), value.at);
}

void Kernel::when(Operand condition, const std::function<void()>& then, const std::function<void()>& otherwise) {
  BuilderState& s = use(condition.at);
  if (!condition.is_tile) return s.fault("when: the condition is a value of the kernel, not a number", condition.at);
  if (!then) return s.fault("when: the function is empty", condition.at);
  s.emit_with_regions(OpCode::if_, {s.read(condition.tile, condition.at)}, {}, condition.at, [&](Op& op) {
    s.inside(op.regions[0], then);
    if (otherwise) s.inside(op.regions[1], otherwise);
  });
}

void Kernel::loop(const std::function<Tile()>& condition, const std::function<void()>& body, std::source_location at) {
  BuilderState& s = use(at);
  if (!condition || !body) return s.fault("loop: the function is empty", at);
  s.emit_with_regions(OpCode::while_, {}, {}, at, [&](Op& op) {
    Value holds = no_value;
    s.inside(op.regions[0], [&] {
      holds = s.read(condition(), at);
      s.emit(OpCode::yield, {holds}, {}, {}, at);
    });
    s.inside(op.regions[1], body);
    return holds != no_value;
  });
}

const std::string& Kernel::name() const { return state_->module.name; }
const std::vector<Error>& Kernel::faults() const { return state_->faults; }

/// Whether regions nest deeper than `most`, which the verifier refuses.
static bool nests_deeper(const Block& block, int most) {
  for (const auto& op : block.ops)
    for (const Block& region : op->regions)
      if (most == 0 || nests_deeper(region, most - 1)) return true;
  return false;
}

std::vector<Error> BuilderState::finished(Module& out) const {
  std::vector<Error> all = faults;
  for (const DeclaredTask& task : tasks) {
    if (task.has_body) continue;
    all.push_back(fault_of("task: '" + task.name + "' has no body", task.at));
  }
  // What the verifier would say of a kernel with pieces missing repeats the builder's faults.
  if (!all.empty()) return all;
  out = module.clone();
  if (!nests_deeper(out.body, max_nesting)) promote_variables(out);  // its time is that of ops times depth
  all = tlxjit::verify(out);
  for (Error& fault : all)
    if (!fault.location.known()) fault.location = at;
  return all;
}

std::vector<Error> Kernel::verify() const {
  std::vector<Error> none;
  try {
    none.reserve(1);  // for what is told of a lack of memory
    if (moved_) return {BuilderState::fault_of("the kernel was moved away", state_->at)};
    Module module;
    return state_->finished(module);
  } catch (const std::bad_alloc&) {
    if (none.capacity() > 0) none.push_back(no_memory());
    return none;
  }
}

Result<Module> Kernel::module() const try {
  if (moved_) return BuilderState::fault_of("the kernel was moved away", state_->at);
  Module module;
  if (auto ok = first_of(state_->finished(module)); !ok) return std::move(ok).error();
  return module;
} catch (const std::bad_alloc&) {
  return no_memory();
}

TLXJIT_NAMESPACE_END
