// src/ir/check_memory.cpp — rules of declarations, control flow, tensors and the workspace.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cmath>

#include "src/ir/check_p.h"

TLXJIT_NAMESPACE_BEGIN

namespace {

bool is_i32(const Type& t) { return t == Type::scalar(Elem::i32); }

/// Operands from `first` on are i32 scalars.
std::string check_indices(const Module& module, const Op& op, size_t first) {
  for (size_t i = first; i < op.operands.size(); ++i)
    if (!is_i32(module.type(op.operands[i])))
      return "operand " + std::to_string(i) + " is an index (i32), not " + to_string(module.type(op.operands[i])) +
             "; cast first";
  return {};
}

}  // namespace

std::string check_box(const Op& op, const Type& tensor, const Shape& tile) {
  const auto& box = op.attrs.list("box");
  if (static_cast<int32_t>(box.size()) != tensor.slots) return "box has one extent per axis of the tensor";
  if (box_elements(box) != tile.elements()) return "box and tile differ in size";
  const int64_t ragged = op.attrs.integer("ragged", -2);
  if (ragged < -1 || ragged >= tensor.slots) return "ragged is -1 or an axis";
  return {};
}

std::string check_control(const Module& module, const Op& op) {
  switch (op.code) {
    case OpCode::dim:
      if (op.attrs.text("name").empty()) return "needs a name";
      if (const int64_t least = op.attrs.integer("min", op.attrs.find("min") ? -1 : 0); least < 0 || least > INT32_MAX)
        return "its least value is 0 to 2^31 − 1";
      [[fallthrough]];
    case OpCode::sms:
    case OpCode::program_id:
    case OpCode::num_programs:
    case OpCode::replica: return is_i32(module.type(op.results[0])) ? "" : "gives i32";
    case OpCode::scalar:
      if (op.attrs.text("name").empty()) return "needs a name";
      if (const Attr* above = op.attrs.find("above"))
        if (!std::holds_alternative<double>(*above) || std::isnan(std::get<double>(*above)) ||
            (module.type(op.results[0]).elem != Elem::f32 && module.type(op.results[0]).elem != Elem::f64))
          return "above is a real number, for a scalar of f32 or f64";
      return module.type(op.results[0]).is_scalar() ? "" : "gives a scalar";
    case OpCode::grid: return check_indices(module, op, 0);
    case OpCode::task: {
      if (op.attrs.text("name").empty()) return "needs a name";
      const int64_t warps = op.attrs.integer("warps"), replicas = op.attrs.integer("replicas");
      const int64_t registers = op.attrs.integer("registers", 0);
      if (warps != 1 && warps != 2 && warps != 4 && warps != 8)
        return "an instance has 1, 2, 4 or 8 warps, not " + std::to_string(warps);
      if (replicas < 1 || replicas > 32) return "replicas are 1 to 32, not " + std::to_string(replicas);
      if (registers != 0 && (registers < 24 || registers > 256 || registers % 8))
        return "registers are 24 to 256 in steps of 8, not " + std::to_string(registers);
      if (op.attrs.find("staggered") && (op.attrs.integer("staggered") < 0 || op.attrs.integer("staggered") > 1))
        return "staggered is 0 or 1";
      return {};
    }
    case OpCode::stage:
      return op.attrs.integer("priority", -1) >= 0 && op.attrs.integer("priority") <= 3
                 ? ""
                 : "priority is 0 to 3, not " + std::to_string(op.attrs.integer("priority", -1));
    case OpCode::var: {
      const Type& value = module.type(op.operands[0]);
      if (!value.is_scalar() && !value.is_tile()) return "holds a scalar or a tile, not " + to_string(value);
      return module.type(op.results[0]) == value.as_variable() ? "" : "the types of variable and value differ";
    }
    case OpCode::get: {
      const Type& variable = module.type(op.operands[0]);
      if (!variable.variable) return "reads a variable, not " + to_string(variable);
      return module.type(op.results[0]) == variable.as_value() ? "" : "the types of variable and value differ";
    }
    case OpCode::set: {
      const Type& variable = module.type(op.operands[0]);
      const Type& value = module.type(op.operands[1]);
      if (!variable.variable) return "assigns to a variable, not to " + to_string(variable);
      return value == variable.as_value() ? "" : "assigns " + to_string(value) + " to a " + to_string(variable);
    }
    case OpCode::for_:
      if (op.regions[0].args.size() != 1 || !is_i32(module.type(op.regions[0].args[0])))
        return "the region has one index (i32)";
      if (std::string what = check_indices(module, op, 0); !what.empty()) return what;
      if (const Op* step = module.def(op.operands[2]); step && step->code == OpCode::constant)
        if (const int64_t n = step->attrs.integer("value"); n < 1)
          return "the step is at least 1, not " + std::to_string(n) +
                 "; count upwards, and compute the index from that";
      return {};
    case OpCode::if_:
      return module.type(op.operands[0]) == Type::scalar(Elem::b1)
                 ? ""
                 : "the condition is a b1 scalar, not " + to_string(module.type(op.operands[0]));
    case OpCode::while_: {
      const auto& ops = op.regions[0].ops;
      if (ops.empty() || ops.back()->code != OpCode::yield || ops.back()->operands.size() != 1 ||
          module.type(ops.back()->operands[0]) != Type::scalar(Elem::b1))
        return "region 0 ends with a yield of one b1";
      return {};
    }
    case OpCode::schedule: {
      const std::string_view kind = op.attrs.text("kind");
      if (kind != "static" && kind != "dynamic" && kind != "grid") return "kind is static, dynamic or grid";
      const Block& region = op.regions[0];
      const Type& result = module.type(op.results[0]);
      if (result.kind != TypeKind::schedule) return "gives a schedule";
      if (region.args.size() != 1 || !is_i32(module.type(region.args[0]))) return "the region has one index (i32)";
      if (region.ops.empty() || region.ops.back()->code != OpCode::yield) return "the region ends with a yield";
      const Op& yield = *region.ops.back();
      if (static_cast<int32_t>(yield.operands.size()) != result.slots + 1)
        return "the region yields b1 and the indices";
      if (module.type(yield.operands[0]) != Type::scalar(Elem::b1)) return "the region's first value is a b1";
      if (std::string what = check_indices(module, yield, 1); !what.empty()) return what;
      return check_indices(module, op, 0);
    }
    case OpCode::each: {
      const Type& schedule = module.type(op.operands[0]);
      if (schedule.kind != TypeKind::schedule) return "runs over a schedule, not " + to_string(schedule);
      if (static_cast<int32_t>(op.regions[0].args.size()) != schedule.slots)
        return "the region has the schedule's " + std::to_string(schedule.slots) + " indices";
      for (Value v : op.regions[0].args)
        if (!is_i32(module.type(v))) return "indices are i32";
      return {};
    }
    default: return {};
  }
}

std::string check_memory(const Module& module, const Op& op) {
  if (op.code == OpCode::workspace) {
    const int64_t words = op.attrs.integer("words");
    return words >= 1 && words <= 1 << 20 ? "" : "words are 1 to 2^20";
  }
  if (op.code == OpCode::workspace_add || op.code == OpCode::workspace_set) return check_indices(module, op, 0);
  if (op.code == OpCode::tensor) {
    const Type& t = module.type(op.results[0]);
    if (op.attrs.text("name").empty()) return "needs a name";
    if (t.kind != TypeKind::tensor || t.slots != static_cast<int32_t>(op.operands.size()) || t.slots < 1)
      return "has one extent per axis, 1 to 5 axes";
    if (bytes(t.elem) == 0) return std::string(to_string(t.elem)) + " has no whole bytes: keep it in u8, and bitcast";
    return check_indices(module, op, 0);
  }
  const Type& tensor = module.type(op.operands[0]);
  if (tensor.kind != TypeKind::tensor) return "works on a tensor, not on " + to_string(tensor);
  const int64_t axis = op.attrs.integer("axis", 0);
  const int64_t indices = static_cast<int64_t>(op.operands.size());
  switch (op.code) {
    case OpCode::select_axis:
      if (axis < 0 || axis >= tensor.slots - 1)
        return "axis " + std::to_string(axis) + " cannot be dropped (axes 0 to rank − 2 can)";
      if (module.type(op.results[0]) != Type::tensor(tensor.slots - 1, tensor.elem)) return "gives one axis less";
      return check_indices(module, op, 1);
    case OpCode::window:
      if (axis < 0 || axis >= tensor.slots)
        return "axis " + std::to_string(axis) + " of " + to_string(tensor) + " is out of range";
      if (module.type(op.results[0]) != tensor) return "keeps the type";
      return check_indices(module, op, 1);
    case OpCode::load_scalar:
      if (module.type(op.results[0]) != Type::scalar(tensor.elem))
        return "gives one element: " + std::string(to_string(tensor.elem));
      if (indices != tensor.slots + 1)
        return "needs one index per axis of " + to_string(tensor) + ", not " + std::to_string(indices - 1);
      return check_indices(module, op, 1);
    case OpCode::store:
    case OpCode::tile_store: {
      const Type& tile = module.type(op.operands[1]);
      if (!tile.is_tile()) return "writes a tile, not " + to_string(tile) + "; full() makes one of a scalar";
      if (tile.elem != tensor.elem)
        return "writes " + std::string(to_string(tile.elem)) + " to a tensor of " + to_string(tensor.elem) +
               "; cast first";
      if (op.code == OpCode::store) {
        if (tile.shape.rank != tensor.slots)
          return "a tile of rank " + std::to_string(tile.shape.rank) + " does not fit " + to_string(tensor) +
                 "; drop axes with at(axis, index)";
        if (indices != tensor.slots + 2)
          return "needs one offset per axis of " + to_string(tensor) + ", not " + std::to_string(indices - 2);
      } else {
        if (std::string what = check_box(op, tensor, tile.shape); !what.empty()) return what;
        if (indices != tensor.slots + 2 + (op.attrs.integer("ragged") >= 0))
          return "needs one coordinate per axis, and a bound if ragged";
      }
      return check_indices(module, op, 2);
    }
    default: return {};
  }
}

TLXJIT_NAMESPACE_END
