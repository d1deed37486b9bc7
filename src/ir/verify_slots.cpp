// src/ir/verify_slots.cpp — the life of ring slots.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <map>
#include <set>
#include <vector>

#include "src/ir/check_p.h"
#include "src/ir/verify_p.h"

TLXJIT_NAMESPACE_BEGIN

namespace {

struct SlotState {
  const Op* made = nullptr;
  const Block* block = nullptr;
  std::map<std::string, int, std::less<>> filled;
  std::set<std::string, std::less<>> parted;  ///< fields of which each replica fills its part
  bool ended = false;
};

/// How one task fills the slots of a ring.
struct TaskFills {
  const Op* task = nullptr;
  const Op* acquire = nullptr;  ///< the first
  int64_t replicas = 1;
  std::map<std::string, int64_t, std::less<>> times;  ///< field → fills of a slot by all its instances
};

struct RingUse {
  const Op* op = nullptr;
  bool filled = false, drained = false;
  std::vector<TaskFills> tasks;
  std::map<const Op*, int64_t> drainers;  ///< task → instances
  std::set<const Op*> tile_readers;       ///< tasks that read tiles of it: each of their warps drains a slot
};

class SlotVerifier {
 public:
  SlotVerifier(const Module& module, const Report& report) : module_(module), report_(report) {}

  void run() {
    block(module_.body);
    for (auto& [value, use] : rings_) {
      if (!use.filled && !use.drained) continue;  // an unused ring costs nothing and is dropped
      if (!use.filled)
        report_(*use.op, "is waited for, but no task fills it");
      else if (!use.drained)
        report_(*use.op, "is filled, but no task waits for it");
      else
        shares(use);
    }
  }

 private:
  void block(const Block& block, bool condition = false) {
    for (const auto& o : block.ops) {
      const Op& op = *o;
      if (condition && (op.code == OpCode::acquire || op.code == OpCode::wait_slot))
        report_(
            op,
            "stands in a loop's condition, whose end would give the slot back before the body; take it in the body");
      if (op.code == OpCode::task) task_ = &op;
      use(op, block);
      if (op.code == OpCode::ring) rings_[op.results[0]].op = &op;
      if (op.code == OpCode::acquire || op.code == OpCode::wait_slot) {
        slots_[op.results[0]] = {&op, &block, {}, {}, false};
        RingUse& ring = rings_[op.operands[0]];
        (op.code == OpCode::acquire ? ring.filled : ring.drained) = true;
        if (op.code == OpCode::wait_slot) ring.drainers[task_] = task_->attrs.integer("replicas");
      }
      for (const Block& region : op.regions)
        this->block(region, condition || (op.code == OpCode::while_ && &region == &op.regions[0]));
    }
    for (const auto& o : block.ops)
      if (o->code == OpCode::acquire) filled(*o);
  }

  void use(const Op& op, const Block& block) {
    for (Value v : op.operands) {
      // A view belongs to the slot that it was taken from.
      if (module_.type(v).kind == TypeKind::view) v = source_of(module_, v);
      auto found = slots_.find(v);
      if (found == slots_.end()) continue;
      SlotState& slot = found->second;
      if (op.code == OpCode::view_load || op.code == OpCode::view_gather)
        rings_[slot.made->operands[0]].tile_readers.insert(task_);
      if (slot.ended) {
        report_(op,
                std::string("uses a slot after its ") + (slot.made->code == OpCode::acquire ? "publish" : "release"));
        return;
      }
      const bool fills = op.code == OpCode::load_field || op.code == OpCode::store_field;
      if (fills || op.code == OpCode::publish || op.code == OpCode::release) {
        if (&block != slot.block)
          report_(op, "stands in the block that made the slot, so that it happens once on every path");
        const std::string field(op.attrs.text("field"));
        if (fills)
          ++slot.filled[field];
        else
          slot.ended = true;
        if (op.code == OpCode::store_field && op.operands.size() == 3) {
          slot.parted.insert(field);
          const int64_t parts = slot_rows(op) / module_.type(op.operands[1]).shape[0];
          if (const int64_t replicas = task_->attrs.integer("replicas"); parts != replicas)
            report_(op, "fills one of " + std::to_string(parts) + " parts, by " + std::to_string(replicas) +
                            " replicas; each fills one part");
        }
      }
    }
  }

  /// Rows of the field that an op fills.
  int64_t slot_rows(const Op& fill) const {
    const Op* ring = module_.def(module_.def(fill.operands[0])->operands[0]);
    const auto fields = *parse_fields(ring->attrs.text("fields"));
    for (const RingField& field : fields)
      if (field.name == fill.attrs.text("field")) return field.view.shape[0];
    return 1;
  }

  /// What one acquire of a task fills; every acquire of a ring in a task fills the same.
  void filled(const Op& acquire) {
    const SlotState& slot = slots_[acquire.results[0]];
    RingUse& ring = rings_[acquire.operands[0]];
    TaskFills fills{task_, &acquire, task_->attrs.integer("replicas"), {}};
    for (const auto& [field, times] : slot.filled) {
      if (times > 1)
        report_(acquire,
                "field '" + field + "' is filled " + std::to_string(times) + " times; every field is filled once");
      fills.times[field] = slot.parted.count(field) ? 1 : fills.replicas;
    }
    for (const TaskFills& other : ring.tasks)
      if (other.task == task_) {
        if (other.times != fills.times)
          report_(acquire, "fills other fields of the ring than this task does elsewhere");
        return;
      }
    ring.tasks.push_back(std::move(fills));
  }

  /// The instances that fill a slot fill each of its fields once between them.
  void shares(const RingUse& ring) {
    int64_t instances = 0;
    for (const TaskFills& task : ring.tasks) instances += task.replicas;
    const int64_t fillers = ring.op->attrs.integer("fillers", instances);
    if (fillers != 1 && fillers != instances)
      return report_(*ring.op, "fillers are 1 or all " + std::to_string(instances) + " instances that acquire");
    int64_t drainers = 0;
    for (const auto& [task, replicas] : ring.drainers) drainers += replicas;
    if (ring.op->attrs.integer("drainers", 1) > drainers)
      report_(*ring.op, "drainers are at most the " + std::to_string(drainers) + " instances that wait");
    std::set<int64_t> arrivals;  // of an instance, for one slot
    for (const auto& [task, replicas] : ring.drainers)
      arrivals.insert(ring.tile_readers.count(task) ? task->attrs.integer("warps") : 1);
    if (ring.op->attrs.find("drainers") && arrivals.size() > 1)
      report_(*ring.op, "drainers() wants tasks that drain alike: all by dots, or tiles by equal warps");
    const auto fields = *parse_fields(ring.op->attrs.text("fields"));
    for (const RingField& field : fields) {
      int64_t times = 0;
      for (const TaskFills& task : ring.tasks) {
        auto found = task.times.find(field.name);
        const int64_t own = found == task.times.end() ? 0 : found->second;
        times += own;
        // One instance fills the slot: all of it.
        if (fillers == 1 && own != task.replicas) return wrong(ring, field.name, own == 0 ? 0 : -1, &task);
      }
      if (fillers != 1 && times != 1) return wrong(ring, field.name, times, nullptr);
    }
  }

  void wrong(const RingUse& ring, const std::string& field, int64_t times, const TaskFills* task) {
    if (times < 0) return report_(*ring.op, "field '" + field + "' is filled in parts, by a task of one filler");
    const bool one = ring.tasks.size() == 1 && (task || ring.tasks[0].replicas == 1);
    const Op& op = task ? *task->acquire : one ? *ring.tasks[0].acquire : *ring.op;
    report_(op, "field '" + field + "' is filled " + std::to_string(times) + " times; every field is filled once" +
                    (one ? "" : " by the instances that fill a slot"));
  }

  const Module& module_;
  const Report& report_;
  std::map<Value, SlotState> slots_;
  std::map<Value, RingUse> rings_;
  const Op* task_ = nullptr;
};

}  // namespace

void verify_slots(const Module& module, const Report& report) { SlotVerifier(module, report).run(); }

TLXJIT_NAMESPACE_END
