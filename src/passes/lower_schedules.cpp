// src/passes/lower_schedules.cpp — schedules to loops, counters and a hidden ring.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "src/passes/lower_schedules_p.h"

#include <algorithm>
#include <map>

#include "src/ir/schedule_use_p.h"
#include "src/passes/cursor_p.h"
#include "src/passes/op_builder_p.h"

TLXJIT_NAMESPACE_BEGIN

namespace {

constexpr int hidden_stages = 2;  // the scheduling task runs one tile ahead

/// What is known of one schedule.
struct Plan {
  bool dynamic = false;
  bool one_each = false;  ///< a program per tile
  Value total = no_value;
  Block region;
  int word = 0;                   ///< its first word in the workspace
  const Op* scheduler = nullptr;  ///< the task that takes tiles from the counter
  int reader_warps = 0;           ///< warps of the other instances
  Value buffer = no_value, full = no_value, free = no_value;
};

class Lowering : public Rewriter {
 public:
  explicit Lowering(Module& module) : Rewriter(module) {}

  void run_all() {
    survey();
    Rewriter::run(module_.body);
  }

 private:
  void survey() {
    const ScheduleUse use = use_of_schedule(module_);
    for (const auto& op : module_.body.ops) {
      if (op->code != OpCode::schedule) continue;
      Plan& plan = plans_[op->results[0]];
      plan.dynamic = op->attrs.text("kind") == "dynamic";
      plan.one_each = op->attrs.text("kind") == "grid";
      plan.scheduler = use.scheduler;
      for (const Op* task : use.readers)
        if (task != use.scheduler)
          plan.reader_warps += static_cast<int>(task->attrs.integer("replicas") * task->attrs.integer("warps"));
    }
  }

  void rewrite(std::unique_ptr<Op> op, OpBuilder& b) override {
    if (op->code == OpCode::schedule) return declare(*op, b);
    if (op->code == OpCode::each) return iterate(*op, b);
    const bool is_task = op->code == OpCode::task;
    if (is_task) task_ = op.get();
    keep(std::move(op), b);
    if (is_task) task_ = nullptr;
  }

  void declare(Op& op, OpBuilder& b) {
    Plan& plan = plans_[op.results[0]];
    plan.total = op.operands[0];
    plan.region = std::move(op.regions[0]);
    module_.set_def(op.results[0], nullptr);
    if (plan.one_each) {
      b.append(OpCode::grid, {plan.total});
      return;
    }
    b.append(OpCode::grid, {b.binary(OpCode::min, plan.total, b.value(OpCode::sms, {}, Type::scalar(Elem::i32)))});
    if (!plan.dynamic) return;
    b.append(OpCode::workspace, {}, {}, OpBuilder::attr("words", int64_t{2}));
    if (plan.reader_warps == 0) return;
    const int64_t words = module_.type(op.results[0]).slots + 1;  // the indices, and whether there is a tile
    plan.buffer = b.value(OpCode::buffer, {}, Type::buffer(hidden_stages, {words}, Elem::i32),
                          OpBuilder::attr("swizzle", int64_t{0}));
    const auto barrier = [&](const char* name, int64_t count) {
      Attrs attrs = OpBuilder::attr("count", count);
      attrs.set("name", std::string(name));
      return b.value(OpCode::barrier, {}, Type::barrier(hidden_stages), std::move(attrs));
    };
    plan.full = barrier("tiles.full", 1);
    plan.free = barrier("tiles.free", plan.reader_warps);
  }

  /// Appends the schedule's region for tile t; gives `taken` and the indices.
  std::vector<Value> map_tile(const Plan& plan, Value t, OpBuilder& b) {
    std::unordered_map<Value, Value> map = {{plan.region.args[0], t}};
    Block copy;
    OpBuilder inner = b.in(copy);
    clone_ops(plan.region, map, inner);
    std::vector<Value> yielded = copy.ops.back()->operands;
    copy.ops.pop_back();
    for (auto& op : copy.ops) b.out->push_back(std::move(op));
    return yielded;
  }

  bool always(Value v) const {
    const Op* def = module_.def(v);
    return def && def->code == OpCode::constant && def->attrs.integer("value") == 1;
  }

  /// Runs `fn` with the builder for what happens if tile `taken` exists.
  template <class Fn>
  void if_taken(Value taken, OpBuilder& b, Fn&& fn) {
    if (always(taken)) return fn(b);
    Op& branch = b.append(OpCode::if_, {taken});
    OpBuilder inner = b.in(branch.regions[0]);
    fn(inner);
  }

  void body(Op& each, const std::vector<Value>& indices, OpBuilder& b) {
    Block& region = each.regions[0];
    for (size_t i = 0; i < region.args.size(); ++i) replace(region.args[i], indices[i + 1]);
    run(region);
    splice(region, b);
  }

  void iterate(Op& each, OpBuilder& b) {
    const Plan& plan = plans_[each.operands[0]];
    Value first = b.value(OpCode::program_id, {}, Type::scalar(Elem::i32));
    if (plan.one_each) return one_tile(each, plan, first, b);
    Value programs = b.value(OpCode::num_programs, {}, Type::scalar(Elem::i32));
    if (!plan.dynamic) {
      if (const int64_t n = replicas_that_split(each); n > 1) {
        const Value replica = b.value(OpCode::replica, {}, Type::scalar(Elem::i32));
        first = b.binary(OpCode::add, first, b.binary(OpCode::mul, replica, programs));
        programs = b.binary(OpCode::mul, programs, b.i32(n));
      }
      Op& loop = b.append(OpCode::for_, {first, plan.total, programs});
      const Value t = module_.new_value(Type::scalar(Elem::i32));
      loop.regions[0].args.push_back(t);
      OpBuilder inner = b.in(loop.regions[0]);
      const std::vector<Value> tile = map_tile(plan, t, inner);
      if_taken(tile[0], inner, [&](OpBuilder& in) { body(each, tile, in); });
    } else if (task_ == plan.scheduler) {
      take(each, plan, first, programs, b);
    } else {
      receive(each, plan, b);
    }
  }

  /// Among how many instances of the task the tiles are divided.
  int64_t replicas_that_split(const Op& each) const {
    return each.attrs.integer("split", 0) ? task_->attrs.integer("replicas") : 1;
  }

  /// Runs `fn` with the builder for what happens on this replica's turn: that of a count of tiles from 0 on.
  template <class Fn>
  void if_mine(Value count, int64_t replicas, OpBuilder& b, Fn&& fn) {
    if (replicas == 1) return fn(b);
    const Value replica = b.value(OpCode::replica, {}, Type::scalar(Elem::i32));
    Op& branch = b.append(OpCode::if_, {b.compare("eq", b.get(count), replica)});
    OpBuilder inner = b.in(branch.regions[0]);
    fn(inner);
    const Value next = b.binary(OpCode::add, b.get(count), b.i32(1));
    b.set(count, b.binary(OpCode::mod, next, b.i32(replicas)));
  }

  /// The one tile of this program.
  void one_tile(Op& each, const Plan& plan, Value program, OpBuilder& b) {
    const std::vector<Value> tile = map_tile(plan, program, b);
    const auto taken = [&](OpBuilder& in) { if_taken(tile[0], in, [&](OpBuilder& it) { body(each, tile, it); }); };
    if (replicas_that_split(each) == 1) return taken(b);
    const Value replica = b.value(OpCode::replica, {}, Type::scalar(Elem::i32));
    OpBuilder first = b.in(b.append(OpCode::if_, {b.compare("eq", replica, b.i32(0))}).regions[0]);
    taken(first);
  }

  /// The task that takes tiles from the counter and passes their indices on.
  void take(Op& each, const Plan& plan, Value first, Value programs, OpBuilder& b) {
    const Value t = b.variable(first);
    const RingCursor cursor = plan.reader_warps ? RingCursor::make(b, hidden_stages) : RingCursor{};
    const int live = static_cast<int>(plan.region.ops.back()->operands.size()) - 1;
    const auto pass_on = [&](OpBuilder& in, const std::vector<Value>& tile, bool is_live) {
      if (!plan.reader_warps) return;
      const Value slot = cursor.slot_now(in);
      in.append(OpCode::wait, {plan.free, slot, cursor.former_phase(in)});
      if (is_live)
        for (int i = 0; i < live; ++i)
          in.append(OpCode::buffer_put, {plan.buffer, slot, in.i32(i), tile[static_cast<size_t>(i) + 1]});
      in.append(OpCode::buffer_put, {plan.buffer, slot, in.i32(live), in.i32(is_live)});
      in.append(OpCode::arrive, {plan.full, slot}, {}, OpBuilder::attr("per", std::string("instance")));
      cursor.advance(in);
    };

    Op& loop = b.append(OpCode::while_, {});
    OpBuilder condition = b.in(loop.regions[0]);
    const Value now = condition.get(t);
    condition.append(OpCode::yield, {condition.compare("lt", now, plan.total)});
    OpBuilder inner = b.in(loop.regions[1]);
    // Taken at the start and used at the end: the counter's latency passes while the tile is loaded.
    const Value taken_before = inner.value(OpCode::workspace_add, {inner.i32(1)}, Type::scalar(Elem::i32),
                                           OpBuilder::attr("word", int64_t{plan.word}));
    const Value next = inner.binary(OpCode::add, taken_before, programs);
    const std::vector<Value> tile = map_tile(plan, now, inner);
    if_taken(tile[0], inner, [&](OpBuilder& in) {
      pass_on(in, tile, true);
      body(each, tile, in);
    });
    inner.set(t, next);

    pass_on(b, {}, false);
    // The last program to finish leaves the counters as it found them.
    const Value finished = b.value(OpCode::workspace_add, {b.i32(1)}, Type::scalar(Elem::i32),
                                   OpBuilder::attr("word", int64_t{plan.word + 1}));
    const Value last = b.compare("eq", finished, b.binary(OpCode::sub, programs, b.i32(1)));
    OpBuilder reset = b.in(b.append(OpCode::if_, {last}).regions[0]);
    for (int word : {plan.word, plan.word + 1})
      reset.append(OpCode::workspace_set, {reset.i32(0)}, {}, OpBuilder::attr("word", int64_t{word}));
  }

  void receive(Op& each, const Plan& plan, OpBuilder& b) {
    const RingCursor cursor = RingCursor::make(b, hidden_stages);
    const int64_t replicas = replicas_that_split(each);
    const Value count = replicas > 1 ? b.variable(b.i32(0)) : no_value;
    Op& loop = b.append(OpCode::while_, {});
    OpBuilder condition = b.in(loop.regions[0]);
    const Value slot = cursor.slot_now(condition);
    condition.append(OpCode::wait, {plan.full, slot, cursor.phase_now(condition)});
    std::vector<Value> tile = {no_value};
    const int live = static_cast<int>(plan.region.ops.back()->operands.size()) - 1;
    const auto element = [&](int i) {
      return condition.value(OpCode::buffer_get, {plan.buffer, slot, condition.i32(i)}, Type::scalar(Elem::i32));
    };
    for (int i = 0; i < live; ++i) tile.push_back(element(i));
    const Value goes_on = condition.compare("ne", element(live), condition.i32(0));
    condition.append(OpCode::arrive, {plan.free, slot}, {}, OpBuilder::attr("per", std::string("warp")));
    cursor.advance(condition);
    condition.append(OpCode::yield, {goes_on});
    OpBuilder inner = b.in(loop.regions[1]);
    if_mine(count, replicas, inner, [&](OpBuilder& in) { body(each, tile, in); });
  }

  std::map<Value, Plan> plans_;
  const Op* task_ = nullptr;
};

}  // namespace

void lower_schedules(Module& module) { Lowering(module).run_all(); }

TLXJIT_NAMESPACE_END
