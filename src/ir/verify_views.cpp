// src/ir/verify_views.cpp — what boxes of tensor views may be: one window, begun inside it, and whole rows in copies.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <optional>
#include <set>
#include <vector>

#include "src/ir/access_p.h"
#include "src/ir/verify_p.h"

TLXJIT_NAMESPACE_BEGIN

namespace {

/// Which operand is the tensor of an op that works on a box of one, or on one element in a box's way.
std::optional<size_t> box_tensor(OpCode code) {
  switch (code) {
    case OpCode::load_field: return 1;
    case OpCode::load_scalar:
    case OpCode::store:
    case OpCode::copy_load:
    case OpCode::copy_store:
    case OpCode::copy_lanes:
    case OpCode::copy_prefetch: return 0;
    default: return is_box_access(code) ? std::optional<size_t>(0) : std::nullopt;
  }
}

/// The offsets of such an op, one per axis of the view.
std::vector<Value> offsets_of(const Module& module, const Op& op) {
  if (const auto access = is_box_access(op.code) ? access_of(module, op) : std::nullopt) return access->indices;
  const auto axes = module.type(op.operands[*box_tensor(op.code)]).slots;
  return {op.operands.end() - axes, op.operands.end()};
}

}  // namespace

void verify_views(const Module& portable, const Report& report) {
  std::set<const Op*> refused;
  const auto refuse = [&](const Op& window, const char* what) {
    if (refused.insert(&window).second) report(window, what);
  };
  walk(portable.body, [&](const Op& op) {
    const auto operand = box_tensor(op.code);
    if (!operand) return;
    std::vector<Value> offsets = offsets_of(portable, op);
    int window = -1;  // its axis
    // From the view to the parameter; axis numbers are those of the view at hand.
    const Op* view = portable.def(op.operands[*operand]);
    for (; view->code != OpCode::tensor; view = portable.def(view->operands[0])) {
      const int axis = static_cast<int>(view->attrs.integer("axis"));
      if (view->code == OpCode::select_axis) {
        offsets.insert(offsets.begin() + axis, no_value);
        window += window >= axis;
        continue;
      }
      if (window >= 0) return refuse(*view, "a tensor is narrowed along one axis only; mask the tile along the other");
      const Value at = offsets[static_cast<size_t>(axis)];
      if (const Op* offset = at == no_value ? nullptr : portable.def(at))
        if (offset->code == OpCode::constant && offset->attrs.integer("value") < 0)
          return refuse(*view, "a tile begins before the window; offsets in a window are at least 0");
      window = axis;
    }
    if (window < 0 || window + 1 < static_cast<int>(offsets.size())) return;
    if (op.code == OpCode::load_field)
      report(op, "a window along the last axis cannot fill a slot; load its tile, and store that in the slot");
    else if (info(op.code).family == Family::copy)
      report(op, "a window along the last axis cannot be copied as a whole");
  });
}

TLXJIT_NAMESPACE_END
