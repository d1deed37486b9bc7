// src/passes/lower_rings.cpp — rings to buffers, barriers and cursors.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "src/passes/lower_rings_p.h"

#include <map>
#include <optional>

#include "src/ir/check_p.h"
#include "src/passes/cursor_p.h"
#include "src/passes/op_builder_p.h"
#include "src/passes/tensor_view_p.h"

TLXJIT_NAMESPACE_BEGIN

namespace {

struct RingPlan {
  int stages = 1;
  std::vector<RingField> fields;
  std::vector<Value> buffers;
  Value full = no_value, empty = no_value;
  int fillers = 0, drainers = 0;  ///< instances
  int64_t bytes = 0;
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
      if (op->code == OpCode::task) TLXJIT_TRY(survey(*op));
    }
    Rewriter::run(module_.body);
    if (fault_) return std::move(*fault_);
    return {};
  }

 private:
  Result<void> survey(const Op& task) {
    std::map<Value, std::pair<bool, bool>> uses;
    walk(task.regions[0], [&](const Op& op) {
      if (op.code == OpCode::acquire) uses[op.operands[0]].first = true;
      if (op.code == OpCode::wait_slot) uses[op.operands[0]].second = true;
    });
    const int replicas = static_cast<int>(task.attrs.integer("replicas"));
    for (auto& [ring, use] : uses) {
      if (use.first) rings_[ring].fillers += replicas;
      if (use.second) rings_[ring].drainers += replicas;
      if (rings_[ring].fillers > 1)
        return lower_error(module_, *module_.def(ring), "is filled by several instances; one can fill it");
    }
    return {};
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
      case OpCode::publish:
        if (cursor_at_end_[op->operands[0]]) cursors_[{rings_of_[op->operands[0]], true}].advance(b);
        return;
      case OpCode::wait_slot: return wait(*op, b);
      case OpCode::field: return field(*op, b);
      case OpCode::release: {
        const Value slot = op->operands[0], ring = rings_of_[slot];
        b.append(OpCode::arrive, {rings_[ring].empty, slots_[slot]}, {},
                 OpBuilder::attr("per", std::string("instance")));
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
      const int64_t row = f.view.shape[1] * bytes(f.view.elem);
      if (target_.tensor_maps && row % 128)
        return fail(lower_error(module_, op,
                                "field '" + f.name + "' has rows of " + std::to_string(row) + " bytes; " +
                                    target_.name + " wants multiples of 128"));
      if (target_.tensor_maps && f.view.shape[0] > 256)
        return fail(
            lower_error(module_, op, "field '" + f.name + "' has more than 256 rows, the most that one copy fills"));
      ring.buffers.push_back(b.value(OpCode::buffer, {}, Type::buffer(ring.stages, f.view.shape, f.view.elem),
                                     OpBuilder::attr("swizzle", swizzle)));
      ring.bytes += f.view.shape.elements() * bytes(f.view.elem);
    }
    const auto barrier = [&](const char* side, int64_t count) {
      Attrs attrs = OpBuilder::attr("count", count);
      attrs.set("name", name + side);
      return b.value(OpCode::barrier, {}, Type::barrier(ring.stages), std::move(attrs));
    };
    ring.full = barrier(".full", ring.fillers);
    ring.empty = barrier(".empty", ring.drainers);
  }

  void task(std::unique_ptr<Op> op, OpBuilder& b) {
    cursors_.clear();
    add_publishes(op->regions[0]);
    Ops prologue;
    OpBuilder p{module_, &prologue, op->location};
    walk(op->regions[0], [&](const Op& inner) {
      if (inner.code != OpCode::acquire && inner.code != OpCode::wait_slot) return;
      const std::pair<Value, bool> key{inner.operands[0], inner.code == OpCode::acquire};
      if (!cursors_.count(key)) cursors_[key] = Cursor::make(p, rings_[key.first].stages);
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
        if (block.ops[j]->code == OpCode::load_field) last_fill = j;
        if (block.ops[j]->code == end_code) end = j;
      }
      if (end == block.ops.size() && op.code == OpCode::acquire) {  // place_waits has put every release
        end = last_fill + 1;
        block.ops.insert(block.ops.begin() + static_cast<long>(end),
                         module_.make(OpCode::publish, {slot}, {}, {}, op.location));
      }
      bool alone = true;
      for (size_t j = i + 1; j < end; ++j) alone &= !takes(*block.ops[j], op.code, op.operands[0]);
      cursor_at_end_[slot] = alone;
    }
  }

  static bool takes(const Op& op, OpCode code, Value ring) {
    if (op.code == code && op.operands[0] == ring) return true;
    for (const Block& region : op.regions)
      for (const auto& inner : region.ops)
        if (takes(*inner, code, ring)) return true;
    return false;
  }

  void enter(const Op& op, OpBuilder& b) {
    const Value slot = op.results[0], ring = op.operands[0];
    const bool filling = op.code == OpCode::acquire;
    rings_of_[slot] = ring;
    const Cursor& cursor = cursors_[{ring, filling}];
    slots_[slot] = cursor.slot_now(b);
    if (filling) {
      b.append(OpCode::wait, {rings_[ring].empty, slots_[slot], cursor.former_phase(b)});
      b.append(OpCode::expect, {rings_[ring].full, slots_[slot]}, {}, OpBuilder::attr("bytes", rings_[ring].bytes));
    } else {
      b.append(OpCode::wait, {rings_[ring].full, slots_[slot], cursor.phase_now(b)});
    }
    if (!cursor_at_end_[slot]) cursor.advance(b);
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
    auto place =
        resolve(module_, op.operands[1], ring.fields[i].view.shape, {op.operands.begin() + 2, op.operands.end()}, b);
    if (!place) return fail(place.error());
    const int rank = static_cast<int>(place->box.size());
    if (place->ragged == rank - 1)
      return fail(lower_error(module_, op, "a window along the last axis cannot fill a slot"));
    if (target_.tensor_maps && place->ragged >= 0 && rank > 3)
      return fail(lower_error(
          module_, op, "a window of a tensor of rank " + std::to_string(rank) + " cannot fill a slot; rank 3 at most"));
    std::vector<Value> operands = {place->tensor, ring.buffers[i], slots_[slot], ring.full, slots_[slot]};
    for (Value v : place->operands()) operands.push_back(v);
    b.append(OpCode::copy_load, std::move(operands), {}, place->attrs());
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
  std::map<std::pair<Value, bool>, Cursor> cursors_;  ///< (ring, filling)
  std::optional<Error> fault_;
};

}  // namespace

Result<void> lower_rings(Module& module, const Target& target) { return Lowering(module, target).run_all(); }

TLXJIT_NAMESPACE_END
