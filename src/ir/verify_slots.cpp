// src/ir/verify_slots.cpp — the life of ring slots.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <map>

#include "src/ir/check_p.h"
#include "src/ir/verify_p.h"

TLXJIT_NAMESPACE_BEGIN

namespace {

struct SlotState {
  const Op* made = nullptr;
  const Block* block = nullptr;
  std::map<std::string, int, std::less<>> filled;
  bool ended = false;
};

struct RingUse {
  const Op* op = nullptr;
  bool filled = false, drained = false;
};

class SlotVerifier {
 public:
  SlotVerifier(const Module& module, const Report& report) : module_(module), report_(report) {}

  void run() {
    block(module_.body);
    for (auto& [value, use] : rings_) {
      if (!use.filled && !use.drained) continue;  // an unused ring costs nothing and is dropped
      if (!use.filled) report_(*use.op, "is waited for, but no task fills it");
      if (!use.drained) report_(*use.op, "is filled, but no task waits for it");
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
      use(op, block);
      if (op.code == OpCode::ring) rings_[op.results[0]].op = &op;
      if (op.code == OpCode::acquire || op.code == OpCode::wait_slot) {
        slots_[op.results[0]] = {&op, &block, {}, false};
        RingUse& ring = rings_[op.operands[0]];
        (op.code == OpCode::acquire ? ring.filled : ring.drained) = true;
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
      while (module_.def(v) && (module_.def(v)->code == OpCode::field || module_.def(v)->code == OpCode::part ||
                                module_.def(v)->code == OpCode::trans))
        v = module_.def(v)->operands[0];
      auto found = slots_.find(v);
      if (found == slots_.end()) continue;
      SlotState& slot = found->second;
      if (slot.ended) {
        report_(op,
                std::string("uses a slot after its ") + (slot.made->code == OpCode::acquire ? "publish" : "release"));
        return;
      }
      if (op.code == OpCode::load_field || op.code == OpCode::publish || op.code == OpCode::release) {
        if (&block != slot.block)
          report_(op, "stands in the block that made the slot, so that it happens once on every path");
        if (op.code == OpCode::load_field)
          ++slot.filled[std::string(op.attrs.text("field"))];
        else
          slot.ended = true;
      }
    }
  }

  void filled(const Op& acquire) {
    const SlotState& slot = slots_[acquire.results[0]];
    const Op* ring = module_.def(acquire.operands[0]);
    auto fields = parse_fields(ring->attrs.text("fields"));
    for (const RingField& field : *fields) {
      auto found = slot.filled.find(field.name);
      const int times = found == slot.filled.end() ? 0 : found->second;
      if (times != 1)
        report_(acquire,
                "field '" + field.name + "' is filled " + std::to_string(times) + " times; every field is filled once");
    }
  }

  const Module& module_;
  const Report& report_;
  std::map<Value, SlotState> slots_;
  std::map<Value, RingUse> rings_;
};

}  // namespace

void verify_slots(const Module& module, const Report& report) { SlotVerifier(module, report).run(); }

TLXJIT_NAMESPACE_END
