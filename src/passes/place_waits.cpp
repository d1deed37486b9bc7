// src/passes/place_waits.cpp — waits, fences and releases around asynchronous dots.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "src/passes/place_waits_p.h"

#include <algorithm>
#include <map>
#include <set>

#include "src/ir/check_p.h"
#include "src/passes/op_builder_p.h"
#include "src/passes/place_tasks_p.h"
#include "src/passes/shared_order_p.h"

TLXJIT_NAMESPACE_BEGIN

namespace {

/// What a dot reads while it is in flight.
struct DotReads {
  Value acc = no_value;
  Value variable = no_value;  ///< the variable whose value is operand a
  std::set<Value> slots;      ///< of rings
  std::set<Value> buffers;    ///< made by hand
};

/// At one point of the program, over all paths that lead there.
struct State {
  std::map<const Op*, int> in_flight;  ///< dot → least number of groups issued after it
  bool dirty = true;                   ///< registers of sums or operands were touched since the last fence
  SharedOrder shared;

  bool operator==(const State&) const = default;
  void join(const State& other) {
    for (const auto& [dot, younger] : other.in_flight) {
      auto [at, added] = in_flight.emplace(dot, younger);
      if (!added) at->second = std::min(at->second, younger);
    }
    dirty |= other.dirty;
    shared.join(other.shared);
  }
};

/// A release whose dots are still in flight.
struct Pending {
  Value slot = no_value;
  uint32_t location = 0;
  bool due = false;  ///< at the latest before the next op that may wait for another task; else at the block's end
};

/// Whether a release stands where a region ended before it was inlined.
bool is_implied(const Op& release) { return release.attrs.integer("implied", 0) != 0; }

/// The slot that a value is or is a view of.
Value slot_of(const Module& module, Value v) {
  if (module.type(v).kind == TypeKind::view) v = source_of(module, v);
  return v != no_value && module.type(v).kind == TypeKind::slot ? v : no_value;
}

/// The buffer that a value is or is a view of, the one that owns the storage.
Value buffer_of(const Module& module, Value v) {
  v = source_of(module, v);
  return v != no_value && module.type(v).kind == TypeKind::buffer ? v : no_value;
}

class Placer {
 public:
  Placer(Module& module, const std::set<Value>& by_hand) : module_(module), by_hand_(by_hand) {}

  void task(Op& task) {
    one_thread_ = on_one_thread(module_, task);
    survey(task.regions[0]);
    sink(task.regions[0]);
    add_releases(task.regions[0]);
    State state;
    process(task.regions[0], state, true);
    if (!state.in_flight.empty()) {
      OpBuilder b{module_, &task.regions[0].ops, task.location};
      wait(state, 0, &b);
    }
  }

 private:
  // --- preparation ---

  void survey(const Block& block) {
    walk(block, [&](const Op& op) {
      for (Value v : op.operands) ++uses_[v];
      if (op.code != OpCode::dot) return;
      DotReads& reads = dots_[&op];
      reads.acc = op.operands[0];
      for (size_t i : {size_t{1}, size_t{2}})
        if (Value slot = slot_of(module_, op.operands[i]); slot != no_value)
          reads.slots.insert(slot);
        else if (Value buffer = buffer_of(module_, op.operands[i]); buffer != no_value)
          reads.buffers.insert(buffer);
      const Op* a = module_.def(op.operands[1]);
      if (a && a->code == OpCode::get) {
        reads.variable = a->operands[0];
        operand_variables_.insert(reads.variable);
      }
    });
  }

  /// Moves the op that makes a value down to where the value is assigned to an operand of dots: made earlier,
  /// it would be evaluated while the former value is still being read.
  void sink(Block& block) {
    for (size_t i = 0; i < block.ops.size(); ++i) {
      for (Block& region : block.ops[i]->regions) sink(region);
      const Op& set = *block.ops[i];
      if (set.code != OpCode::set || !operand_variables_.count(set.operands[0]) || uses_[set.operands[1]] != 1)
        continue;
      const Op* def = module_.def(set.operands[1]);
      // A read of a variable stays: something in between may assign it.
      // One that makes several values stays with the first of its uses.
      if (!def || info(def->code).scope != Scope::pure || def->code == OpCode::get || def->results.size() != 1)
        continue;
      for (size_t j = i; j-- > 0;)
        if (block.ops[j].get() == def) {
          std::rotate(block.ops.begin() + static_cast<long>(j), block.ops.begin() + static_cast<long>(j) + 1,
                      block.ops.begin() + static_cast<long>(i));
          break;
        }
    }
  }

  bool uses_slot(const Op& op, Value slot) const {
    for (Value v : op.operands)
      if (slot_of(module_, v) == slot) return true;
    for (const Block& region : op.regions)
      for (const auto& inner : region.ops)
        if (uses_slot(*inner, slot)) return true;
    return false;
  }

  /// Slots without a release get one after their last use.
  void add_releases(Block& block) {
    for (size_t i = 0; i < block.ops.size(); ++i) {
      for (Block& region : block.ops[i]->regions) add_releases(region);
      if (block.ops[i]->code != OpCode::wait_slot) continue;
      const Value slot = block.ops[i]->results[0];
      size_t last = i;
      bool released = false;
      for (size_t j = i + 1; j < block.ops.size(); ++j) {
        if (!uses_slot(*block.ops[j], slot)) continue;
        if (block.ops[j]->code == OpCode::release)
          released |= !is_implied(*block.ops[j]);
        else
          last = j;
      }
      if (released) continue;
      auto release = module_.make(OpCode::release, {slot}, {}, {}, block.ops[i]->location);
      implied_.insert(release.get());
      block.ops.insert(block.ops.begin() + static_cast<long>(last) + 1, std::move(release));
    }
  }

  // --- placement ---

  /// Leaves `pending` groups in flight. Without a builder only the state changes.
  void wait(State& state, int pending, OpBuilder* b) {
    if (b) b->append(OpCode::dot_wait, {}, {}, OpBuilder::attr("pending", int64_t{pending}));
    std::erase_if(state.in_flight, [&](const auto& item) { return item.second >= pending; });
  }

  /// Waits until no dot for which `reads` holds is in flight.
  template <class Reads>
  void complete(State& state, OpBuilder* b, Reads&& reads) {
    int pending = -1;
    for (const auto& [dot, younger] : state.in_flight)
      if (reads(dots_.at(dot)) && (pending < 0 || younger < pending)) pending = younger;
    if (pending >= 0) wait(state, pending, b);
  }

  /// Whether an op may wait for another task.
  static bool blocks(const Op& op) {
    switch (op.code) {
      case OpCode::wait_slot:
      case OpCode::acquire:
      case OpCode::wait:
      case OpCode::flag_wait:
      case OpCode::cluster_sync:
      case OpCode::barrier_sync:
      case OpCode::stage: return true;
      default: break;
    }
    for (const Block& region : op.regions)
      for (const auto& inner : region.ops)
        if (blocks(*inner)) return true;
    return false;
  }

  bool reading(const State& state, Value slot) const {
    for (const auto& [dot, younger] : state.in_flight)
      if (dots_.at(dot).slots.count(slot)) return true;
    return false;
  }

  /// Follows a block; with `emit` also rewrites it.
  void process(Block& block, State& state, bool emit) {
    Ops old;
    if (emit) {
      old = std::move(block.ops);
      block.ops.clear();
    }
    const Ops& source = emit ? old : block.ops;
    std::vector<Pending> pending;
    OpBuilder builder{module_, &block.ops};
    OpBuilder* b = emit ? &builder : nullptr;
    const auto release_complete = [&] {
      std::erase_if(pending, [&](const auto& item) {
        if (reading(state, item.slot)) return false;
        if (b) {
          OpBuilder at = *b;
          at.location = item.location;
          at.append(OpCode::release, {item.slot});
        }
        return true;
      });
    };
    const auto finish = [&](bool due_only) {
      for (const Pending& item : std::vector<Pending>(pending))
        if (item.due || !due_only)
          complete(state, b, [&](const DotReads& reads) { return reads.slots.count(item.slot) != 0; });
      release_complete();
    };

    for (size_t i = 0; i < source.size(); ++i) {
      Op& op = *source[i];
      builder.location = op.location;
      if (op.code == OpCode::yield) finish(false);
      // A release that the author wrote may be what another task needs before it ends this wait; one that is
      // implied stands, for the author, at the end of the region, even if that was inlined (`splice`).
      if (blocks(op)) finish(true);
      before(op, i + 1 < source.size() ? source[i + 1].get() : nullptr, state, b);
      release_complete();
      if (op.code == OpCode::release && is_implied(op)) {
        for (Pending& item : pending) item.due |= item.slot == op.operands[0];
        continue;
      }
      if (op.code == OpCode::release) {
        pending.push_back({op.operands[0], op.location, !implied_.count(&op)});
        release_complete();
        continue;  // written by release_complete
      }
      regions(op, state, emit);
      state.shared.after(module_, op, by_hand_);
      if (op.code == OpCode::dot_wait) wait(state, static_cast<int>(op.attrs.integer("pending")), nullptr);
      if ((op.code == OpCode::arrive || op.code == OpCode::arrive_remote) && emit) forget_pending(op);
      if (op.code == OpCode::acc_read || op.code == OpCode::acc_write) state.dirty = true;
      if (op.code == OpCode::set && operand_variables_.count(op.operands[0])) state.dirty = true;
      if (emit) block.ops.push_back(std::move(old[i]));
      if (op.code == OpCode::dot) {
        if (b) b->append(OpCode::dot_commit, {});
        for (auto& [dot, younger] : state.in_flight) ++younger;
        state.in_flight[&op] = 0;
      }
      release_complete();
    }
    finish(false);
  }

  static void forget_pending(Op& arrive) {
    Attrs attrs;
    attrs.set("per", std::string(arrive.attrs.text("per")));
    arrive.attrs = std::move(attrs);
  }

  /// An arrival that the author wrote says that what this instance did before is done; accesses to buffers act in
  /// program order.
  void before_by_hand(const Op& op, State& state, OpBuilder* b) {
    const bool arrives =
        (op.code == OpCode::arrive || op.code == OpCode::arrive_remote || op.code == OpCode::barrier_sync) &&
        by_hand_.count(op.operands[0]);
    if (arrives) {
      const int64_t pending = op.attrs.integer("pending", 0);
      const bool late = std::any_of(state.in_flight.begin(), state.in_flight.end(),
                                    [&](const auto& item) { return item.second >= pending; });
      if (late) wait(state, static_cast<int>(pending), b);
    }
    for (const BufferAccess& access : accesses_of(module_, op))
      if (writes(access.kind))
        complete(state, b, [&](const DotReads& reads) { return reads.buffers.count(access.storage) != 0; });
    Order order = state.shared.before(module_, op, by_hand_);
    order.sync |= arrives && op.attrs.text("per") != "warp" && state.shared.ahead();
    if (order.fence) add(OpCode::fence, state, b);
    if (order.sync && !one_thread_) add(OpCode::sync, state, b);
  }

  /// Puts a fence or a meeting of the threads here.
  void add(OpCode code, State& state, OpBuilder* b) {
    Op op;
    op.code = code;
    state.shared.after(module_, op, by_hand_);
    if (b) b->append(code, {});
  }

  /// What must happen before an op.
  void before(const Op& op, const Op* next, State& state, OpBuilder* b) {
    before_by_hand(op, state, b);
    if (op.code == OpCode::acc_read || op.code == OpCode::acc_write)
      complete(state, b, [&](const DotReads& reads) { return reads.acc == op.operands[0]; });
    // Before the op that makes a value for an operand in flight, or before the assignment itself.
    const Op* set = op.code == OpCode::set ? &op : nullptr;
    if (next && next->code == OpCode::set && !op.results.empty() && next->operands[1] == op.results[0] &&
        info(op.code).scope == Scope::pure)
      set = next;
    if (set && operand_variables_.count(set->operands[0]))
      complete(state, b, [&](const DotReads& reads) { return reads.variable == set->operands[0]; });
    if (op.code == OpCode::dot) {
      const DotReads& reads = dots_.at(&op);
      const bool fresh_tile = module_.type(op.operands[1]).is_tile() && reads.variable == no_value;
      if (state.dirty || fresh_tile) {
        if (b) b->append(OpCode::dot_fence, {});
        state.dirty = false;
      }
    }
  }

  void regions(Op& op, State& state, bool emit) {
    if (op.code == OpCode::if_) {
      State other = state;
      process(op.regions[0], state, emit);
      process(op.regions[1], other, emit);
      state.join(other);
    } else if (op.code == OpCode::for_ || op.code == OpCode::while_) {
      const State head = head_of(op, state);
      state = head;
      if (!emit && op.code == OpCode::for_) return;  // its exit is its head
      State body = head;
      for (Block& region : op.regions) {
        process(region, body, emit);
        if (op.code != OpCode::while_) continue;
        if (&region == &op.regions[0]) state = body;
        if (!emit) return;
      }
    }
  }

  /// The state at a loop's head, over all trips, when it is entered with `entry`. Kept: nested loops are asked with
  /// the same states again and again.
  State head_of(Op& loop, const State& entry) {
    for (const auto& [in, head] : heads_[&loop])
      if (in == entry) return head;
    State head = entry;
    while (true) {  // the least number of younger groups only sinks, so this ends
      State body = head;
      for (Block& region : loop.regions) process(region, body, false);
      State joined = head;
      joined.join(body);
      if (joined == head) break;
      head = joined;
    }
    heads_[&loop].emplace_back(entry, head);
    return head;
  }

  Module& module_;
  const std::set<Value>& by_hand_;
  bool one_thread_ = false;
  std::map<const Op*, DotReads> dots_;
  std::set<Value> operand_variables_;
  std::map<Value, int> uses_;
  std::set<const Op*> implied_;
  std::map<const Op*, std::vector<std::pair<State, State>>> heads_;  ///< loop → (entry, head)
};

}  // namespace

Result<void> place_waits(Module& module, const std::set<Value>& by_hand) {
  for (auto& op : module.body.ops)
    if (op->code == OpCode::task) Placer(module, by_hand).task(*op);
  return {};
}

TLXJIT_NAMESPACE_END
