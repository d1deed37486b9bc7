// src/ir/check_memory.cpp — rules of tensors, of their views and elements, and of the workspace.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "src/ir/check_p.h"

TLXJIT_NAMESPACE_BEGIN

std::string check_memory(const Module& module, const Op& op) {
  if (op.code == OpCode::workspace) {
    const int64_t words = op.attrs.integer("words");
    return words >= 1 && words <= 1 << 20 ? "" : "words are 1 to 2^20";
  }
  if (op.code == OpCode::workspace_add && !is_i32(module.type(op.results[0]))) return "gives the former word, i32";
  if (op.code == OpCode::workspace_add || op.code == OpCode::workspace_set) return check_indices(module, op, 0);
  if (op.code == OpCode::tensor) return check_signature(module, op);
  const Type& tensor = module.type(op.operands[0]);
  if (tensor.kind != TypeKind::tensor) return "works on a tensor, not on " + to_string(tensor);
  const int64_t axis = op.attrs.integer("axis", 0);
  const int64_t indices = static_cast<int64_t>(op.operands.size());
  switch (op.code) {
    case OpCode::select_axis:
      if (axis < 0 || axis >= tensor.slots - 1)
        return "axis " + std::to_string(axis) + " cannot be dropped (axes 0 to rank − 2 can)";
      if (module.type(op.results[0]) != Type::tensor(tensor.slots - 1, tensor.elem)) return "gives one axis less";
      if (std::string what = check_indices(module, op, 1); !what.empty()) return what;
      return check_count(module, op.operands[1], "the index");
    case OpCode::window:
      if (axis < 0 || axis >= tensor.slots)
        return "axis " + std::to_string(axis) + " of " + to_string(tensor) + " is out of range";
      if (module.type(op.results[0]) != tensor) return "keeps the type";
      if (std::string what = check_indices(module, op, 1); !what.empty()) return what;
      if (std::string what = check_count(module, op.operands[1], "the offset"); !what.empty()) return what;
      return check_count(module, op.operands[2], "the extent");
    case OpCode::load_scalar: {
      if (module.type(op.results[0]) != Type::scalar(tensor.elem))
        return "gives one element: " + std::string(to_string(tensor.elem));
      const bool limited = op.attrs.find("window") != nullptr;
      const int64_t window = op.attrs.integer("window", -1);
      if (limited && (module.level != Level::lowered || window < 0 || window >= tensor.slots))
        return "window is an axis, in lowered IR";
      if (indices != tensor.slots + (limited ? 3 : 1))
        return "needs one index per axis of " + to_string(tensor) +
               (limited ? ", and begin and extent of the window" : ", not " + std::to_string(indices - 1));
      return check_indices(module, op, 1);
    }
    case OpCode::store:
    case OpCode::tile_store: {
      if (std::string what = check_boxed_tile(op, tensor, module.type(op.operands[1]), false); !what.empty())
        return what;
      if (op.code == OpCode::tile_store) return check_coordinates(module, op, 2);
      if (indices != tensor.slots + 2)
        return "needs one offset per axis of " + to_string(tensor) + ", not " + std::to_string(indices - 2);
      return check_offsets(module, std::span(op.operands).subspan(2));
    }
    default: return {};
  }
}

TLXJIT_NAMESPACE_END
