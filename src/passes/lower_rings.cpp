// src/passes/lower_rings.cpp — rings to buffers, barriers and cursors.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "src/passes/lower_rings_p.h"

#include <map>
#include <optional>
#include <set>

#include "src/ir/check_p.h"
#include "src/passes/cursor_p.h"
#include "src/passes/op_builder_p.h"
#include "src/passes/place_tasks_p.h"
#include "src/passes/tensor_view_p.h"

TLXJIT_NAMESPACE_BEGIN

namespace {

struct RingPlan {
  int stages = 1;
  std::vector<RingField> fields;
  std::vector<Value> buffers;
  Value full = no_value, free = no_value;
  int fillers = 0, drainers = 0;  ///< instances
  int64_t free_arrivals = 0;      ///< of all drainers, for one slot
};

/// How an instance fills the slots that one op acquires.
struct Filling {
  int64_t bytes = 0;    ///< that copies bring
  bool stores = false;  ///< tiles are stored to fields
};

class Lowering : public Rewriter {
 public:
  Lowering(Module& module, const Target& target) : Rewriter(module), target_(target) {}

  Result<void> run_all() {
    int number = 0;
    for (const auto& op : module_.body.ops) {
      if (op->code == OpCode::ring) {
        RingPlan& ring = rings_[op->results[0]];
        ring.stages = module_.type(op->results[0]).slots;
        ring.fields = *parse_fields(op->attrs.text("fields"));
        names_[op->results[0]] = "ring" + std::to_string(number++);
      }
      if (op->code == OpCode::task) survey(*op);
    }
    Rewriter::run(module_.body);
    if (fault_) return std::move(*fault_);
    return {};
  }

 private:
  using Users = std::set<std::pair<const Op*, Value>>;  ///< (task, ring)

  /// Where what a task's op reads lies in a ring.
  void note(Users& users, const Op& task, Value read) {
    const Value slot = source_of(module_, read);
    if (slot != no_value && module_.type(slot).kind == TypeKind::slot)
      users.insert({&task, module_.def(slot)->operands[0]});
  }

  void survey(const Op& task) {
    std::set<Value> filled, drained;
    walk(task.regions[0], [&](const Op& op) {
      switch (op.code) {
        case OpCode::acquire: filled.insert(op.operands[0]); break;
        case OpCode::wait_slot: drained.insert(op.operands[0]); break;
        case OpCode::load_field: fillings_[op.operands[0]].bytes += field_bytes(op); break;
        case OpCode::store_field: fillings_[op.operands[0]].stores = true; break;
        case OpCode::view_load:
        case OpCode::view_gather: note(tile_readers_, task, op.operands[0]); break;
        case OpCode::dot:
          note(dot_readers_, task, op.operands[1]);
          note(dot_readers_, task, op.operands[2]);
          break;
        default: break;
      }
    });
    const int64_t replicas = task.attrs.integer("replicas"), warps = task.attrs.integer("warps");
    for (Value ring : filled) rings_[ring].fillers += static_cast<int>(replicas);
    for (Value ring : drained) {
      RingPlan& plan = rings_[ring];
      const int64_t each = tile_readers_.count({&task, ring}) ? warps : 1;
      if (const int64_t drainers = module_.def(ring)->attrs.integer("drainers", 0); drainers > 0)
        plan.free_arrivals = drainers * each;  // the same for every task
      else
        plan.free_arrivals += replicas * each;
      plan.drainers += static_cast<int>(replicas);
    }
  }

  /// The field that an op fills.
  const Type& field_type(const Op& fill) {
    const RingPlan& ring = rings_[module_.def(fill.operands[0])->operands[0]];
    return ring.fields[field_index(ring, fill.attrs.text("field"))].view;
  }
  int64_t field_bytes(const Op& fill) {
    const Type& field = field_type(fill);
    return field.shape.elements() * bytes(field.elem);
  }

  void fail(Error error) {
    if (!fault_) fault_ = std::move(error);
  }

  void rewrite(std::unique_ptr<Op> op, OpBuilder& b) override {
    switch (op->code) {
      case OpCode::ring: return declare(*op, b);
      case OpCode::task: return task(std::move(op), b);
      case OpCode::acquire: return acquire(*op, b);
      case OpCode::load_field: return load(*op, b);
      case OpCode::store_field: return store(*op, b);
      case OpCode::publish: return publish(*op, b);
      case OpCode::skip: return cursors_[{op->operands[0], op->attrs.text("side") == "fill"}].skip(op->operands[1], b);
      case OpCode::wait_slot: return wait(*op, b);
      case OpCode::field: return field(*op, b);
      case OpCode::release: {
        const Value slot = op->operands[0], ring = rings_of_[slot];
        meet(ring, b);
        b.append(OpCode::arrive, {rings_[ring].free, slots_[slot]}, {},
                 OpBuilder::attr("per", std::string(tile_readers_.count({task_, ring}) ? "warp" : "instance")));
        if (cursor_at_end_[slot]) cursors_[{ring, false}].advance(b);
        return;
      }
      default: return keep(std::move(op), b);
    }
  }

  void declare(Op& op, OpBuilder& b) {
    RingPlan& ring = rings_[op.results[0]];
    if (!ring.drainers) return;  // unused
    const std::string& name = names_[op.results[0]];
    for (const RingField& f : ring.fields) {
      const int64_t swizzle = target_.tensor_maps ? 128 : 0;
      if (target_.tensor_maps && f.view.shape.rank != 2)
        return fail(lower_error(
            module_, op,
            "field '" + f.name + "' has rank " + std::to_string(f.view.shape.rank) + "; " + target_.name + " wants 2"));
      const int64_t row = f.view.shape[1] * bytes(f.view.elem);
      if (target_.tensor_maps && row % 128)
        return fail(lower_error(module_, op,
                                "field '" + f.name + "' has rows of " + std::to_string(row) + " bytes; " +
                                    target_.name + " wants multiples of 128"));
      if (target_.tensor_maps && f.view.shape[0] > 256)
        return fail(lower_error(module_, op,
                                "field '" + f.name + "' has " + std::to_string(f.view.shape[0]) +
                                    " rows, and one copy fills at most 256: make two fields of it"));
      ring.buffers.push_back(b.value(OpCode::buffer, {}, Type::buffer(ring.stages, f.view.shape, f.view.elem),
                                     OpBuilder::attr("swizzle", swizzle)));
    }
    const auto barrier = [&](const char* side, int64_t count) {
      Attrs attrs = OpBuilder::attr("count", count);
      attrs.set("name", name + side);
      return b.value(OpCode::barrier, {}, Type::barrier(ring.stages), std::move(attrs));
    };
    ring.full = barrier(".full", op.attrs.integer("fillers", ring.fillers));
    ring.free = barrier(".free", ring.free_arrivals);
  }

  void task(std::unique_ptr<Op> op, OpBuilder& b) {
    cursors_.clear();
    task_ = op.get();
    one_thread_ = on_one_thread(module_, *op);
    add_publishes(op->regions[0]);
    Ops prologue;
    OpBuilder p{module_, &prologue, op->location};
    walk(op->regions[0], [&](const Op& inner) {
      if (inner.code != OpCode::acquire && inner.code != OpCode::wait_slot && inner.code != OpCode::skip) return;
      const std::pair<Value, bool> key{inner.operands[0], fills(inner)};
      if (!cursors_.count(key)) cursors_[key] = RingCursor::make(p, rings_[key.first].stages);
    });
    Op& kept = *op;
    keep(std::move(op), b);
    Ops& ops = kept.regions[0].ops;
    ops.insert(ops.begin(), std::make_move_iterator(prologue.begin()), std::make_move_iterator(prologue.end()));
  }

  /// A slot without a publish gets one after its last fill. Also decides, for each slot, whether the cursor
  /// can move on at its end; another slot of the ring taken meanwhile wants it to move at once.
  void add_publishes(Block& block) {
    for (size_t i = 0; i < block.ops.size(); ++i) {
      for (Block& region : block.ops[i]->regions) add_publishes(region);
      const Op& op = *block.ops[i];
      if (op.code != OpCode::acquire && op.code != OpCode::wait_slot) continue;
      const Value slot = op.results[0];
      const OpCode end_code = op.code == OpCode::acquire ? OpCode::publish : OpCode::release;
      size_t end = block.ops.size(), last_fill = i;
      for (size_t j = i + 1; j < block.ops.size(); ++j) {
        if (block.ops[j]->operands.empty() || block.ops[j]->operands[0] != slot) continue;
        if (block.ops[j]->code == OpCode::load_field || block.ops[j]->code == OpCode::store_field) last_fill = j;
        if (block.ops[j]->code == end_code) end = j;
      }
      if (end == block.ops.size() && op.code == OpCode::acquire) {  // place_waits has put every release
        end = last_fill + 1;
        block.ops.insert(block.ops.begin() + static_cast<long>(end),
                         module_.make(OpCode::publish, {slot}, {}, {}, op.location));
      }
      bool alone = true;
      for (size_t j = i + 1; j < end; ++j) alone &= !moves(*block.ops[j], fills(op), op.operands[0]);
      cursor_at_end_[slot] = alone;
    }
  }

  /// The side of a ring that an acquire, wait or skip is on.
  static bool fills(const Op& op) {
    return op.code == OpCode::acquire || (op.code == OpCode::skip && op.attrs.text("side") == "fill");
  }

  /// Whether an op moves the ring's cursor on one side.
  static bool moves(const Op& op, bool filling, Value ring) {
    if ((op.code == OpCode::acquire || op.code == OpCode::wait_slot || op.code == OpCode::skip) &&
        op.operands[0] == ring && fills(op) == filling)
      return true;
    for (const Block& region : op.regions)
      for (const auto& inner : region.ops)
        if (moves(*inner, filling, ring)) return true;
    return false;
  }

  void enter(const Op& op, OpBuilder& b) {
    const Value slot = op.results[0], ring = op.operands[0];
    const bool filling = op.code == OpCode::acquire;
    rings_of_[slot] = ring;
    const RingCursor& cursor = cursors_[{ring, filling}];
    slots_[slot] = cursor.slot_now(b);
    if (filling) {
      b.append(OpCode::wait, {rings_[ring].free, slots_[slot], cursor.former_phase(b)});
      // Where tiles are stored too, the one arrival of this instance comes after them.
      if (!fillings_[slot].stores) {
        meet(ring, b);
        expect(slot, b);
      }
    } else {
      b.append(OpCode::wait, {rings_[ring].full, slots_[slot], cursor.phase_now(b)});
    }
    if (!cursor_at_end_[slot]) cursor.advance(b);
  }

  /// Before one thread lets the other side of the ring go on: all threads are through the wait for the slot, or one
  /// that is two phases late would take one for the other. No dot ends before all threads are at it, and each warp
  /// that reads tiles arrives for itself.
  void meet(Value ring, OpBuilder& b) {
    if (!one_thread_ && !dot_readers_.count({task_, ring}) && !tile_readers_.count({task_, ring}))
      b.append(OpCode::sync, {});
  }

  void expect(Value slot, OpBuilder& b) {
    b.append(OpCode::expect, {rings_[rings_of_[slot]].full, slots_[slot]}, {},
             OpBuilder::attr("bytes", fillings_[slot].bytes));
  }

  void publish(Op& op, OpBuilder& b) {
    const Value slot = op.operands[0], ring = rings_of_[slot];
    const Filling& filling = fillings_[slot];
    if (filling.stores) {
      b.append(OpCode::fence, {});
      b.append(OpCode::sync, {});
      if (filling.bytes > 0)
        expect(slot, b);
      else
        b.append(OpCode::arrive, {rings_[ring].full, slots_[slot]}, {},
                 OpBuilder::attr("per", std::string("instance")));
    }
    if (cursor_at_end_[slot]) cursors_[{ring, true}].advance(b);
  }

  void acquire(Op& op, OpBuilder& b) { enter(op, b); }
  void wait(Op& op, OpBuilder& b) { enter(op, b); }

  size_t field_index(const RingPlan& ring, std::string_view name) const {
    for (size_t i = 0; i < ring.fields.size(); ++i)
      if (ring.fields[i].name == name) return i;
    return 0;
  }

  void load(Op& op, OpBuilder& b) {
    const Value slot = op.operands[0];
    const RingPlan& ring = rings_[rings_of_[slot]];
    if (ring.buffers.size() != ring.fields.size()) return;  // refused above
    const size_t i = field_index(ring, op.attrs.text("field"));
    const TensorPlace place =
        resolve(module_, op.operands[1], ring.fields[i].view.shape, {op.operands.begin() + 2, op.operands.end()}, b);
    const int rank = static_cast<int>(place.box.size());
    if (target_.tensor_maps && place.ragged >= 0 && rank > 3)
      return fail(lower_error(
          module_, op, "a window of a tensor of rank " + std::to_string(rank) + " cannot fill a slot; rank 3 at most"));
    std::vector<Value> operands = {place.tensor, ring.buffers[i], slots_[slot], ring.full, slots_[slot]};
    for (Value v : place.operands()) operands.push_back(v);
    b.append(OpCode::copy_load, std::move(operands), {}, place.attrs());
  }

  void store(Op& op, OpBuilder& b) {
    const Value slot = op.operands[0];
    const RingPlan& ring = rings_[rings_of_[slot]];
    if (ring.buffers.size() != ring.fields.size()) return;
    const size_t i = field_index(ring, op.attrs.text("field"));
    if (op.operands.size() == 2) {
      b.append(OpCode::buffer_store, {ring.buffers[i], slots_[slot], op.operands[1]});
      return;
    }
    const Value view = b.value(OpCode::view, {ring.buffers[i], slots_[slot]}, ring.fields[i].view);
    const Type& tile = module_.type(op.operands[1]);
    const Value part = b.value(OpCode::part, {view, op.operands[2]}, Type::view(tile.shape, tile.elem));
    b.append(OpCode::view_store, {part, op.operands[1]});
  }

  void field(Op& op, OpBuilder& b) {
    const RingPlan& ring = rings_[rings_of_[op.operands[0]]];
    if (ring.buffers.size() != ring.fields.size()) return;
    const size_t i = field_index(ring, op.attrs.text("field"));
    replace(op.results[0], b.value(OpCode::view, {ring.buffers[i], slots_[op.operands[0]]}, ring.fields[i].view));
  }

  const Target& target_;
  std::map<Value, RingPlan> rings_;
  std::map<Value, std::string> names_;
  std::map<Value, Value> rings_of_;  ///< slot value → ring
  std::map<Value, Value> slots_;     ///< slot value → slot number
  std::map<Value, bool> cursor_at_end_;
  std::map<Value, Filling> fillings_;  ///< by acquired slot
  Users tile_readers_, dot_readers_;   ///< whose fields are read as tiles, and by dots
  const Op* task_ = nullptr;
  bool one_thread_ = false;                               ///< of each instance does all of the task
  std::map<std::pair<Value, bool>, RingCursor> cursors_;  ///< (ring, filling)
  std::optional<Error> fault_;
};

}  // namespace

Result<void> lower_rings(Module& module, const Target& target) { return Lowering(module, target).run_all(); }

TLXJIT_NAMESPACE_END
