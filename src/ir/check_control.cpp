// src/ir/check_control.cpp — rules of what a program is made of: parameters, tasks, schedules, variables, control flow.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cmath>
#include <cstdint>
#include <limits>

#include "src/ir/check_p.h"
#include "src/ir/evaluate_p.h"

TLXJIT_NAMESPACE_BEGIN

namespace {

std::string check_task(const Op& op) {
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

std::string check_schedule(const Module& module, const Op& op) {
  const std::string_view kind = op.attrs.text("kind");
  if (kind != "static" && kind != "dynamic" && kind != "grid") return "kind is static, dynamic or grid";
  const Block& region = op.regions[0];
  const Type& result = module.type(op.results[0]);
  if (result.kind != TypeKind::schedule) return "gives a schedule";
  if (region.args.size() != 1 || !is_i32(module.type(region.args[0]))) return "the region has one index (i32)";
  if (region.ops.empty() || region.ops.back()->code != OpCode::yield) return "the region ends with a yield";
  const Op& yield = *region.ops.back();
  if (yield.operands.empty() || static_cast<int64_t>(yield.operands.size()) - 1 != result.slots)
    return "the region yields b1 and the indices";
  if (module.type(yield.operands[0]) != Type::scalar(Elem::b1)) return "the region's first value is a b1";
  if (std::string what = check_indices(module, yield, 1); !what.empty()) return what;
  if (std::string what = check_indices(module, op, 0); !what.empty()) return what;
  return check_count(module, op.operands[0], "the number of tiles");
}

std::string check_each(const Module& module, const Op& op) {
  const Type& schedule = module.type(op.operands[0]);
  if (schedule.kind != TypeKind::schedule) return "runs over a schedule, not " + to_string(schedule);
  if (static_cast<int32_t>(op.regions[0].args.size()) != schedule.slots)
    return "the region has the schedule's " + std::to_string(schedule.slots) + " indices";
  for (Value v : op.regions[0].args)
    if (!is_i32(module.type(v))) return "indices are i32";
  return {};
}

/// var, get and set.
std::string check_variable(const Module& module, const Op& op) {
  const Type& a = module.type(op.operands[0]);
  if (op.code == OpCode::var) {
    if (!is_value(a)) return "holds a scalar or a tile, not " + to_string(a);
    return module.type(op.results[0]) == a.as_variable() ? "" : "the types of variable and value differ";
  }
  if (!a.variable)
    return op.code == OpCode::get ? "reads a variable, not " + to_string(a)
                                  : "assigns to a variable, not to " + to_string(a);
  if (op.code == OpCode::get)
    return module.type(op.results[0]) == a.as_value() ? "" : "the types of variable and value differ";
  const Type& value = module.type(op.operands[1]);
  return value == a.as_value() ? "" : "assigns " + to_string(value) + " to a " + to_string(a);
}

std::string check_for(const Module& module, const Op& op) {
  if (op.regions[0].args.size() != 1 || !is_i32(module.type(op.regions[0].args[0])))
    return "the region has one index (i32)";
  if (std::string what = check_indices(module, op, 0); !what.empty()) return what;
  if (const auto step = known_number(module, op.operands[2]); step && *step < 1)
    return "the step is at least 1, not " + std::to_string(*step) + "; count upwards, and compute the index from that";
  return {};
}

std::string check_while(const Module& module, const Op& op) {
  const auto& ops = op.regions[0].ops;
  if (ops.empty() || ops.back()->code != OpCode::yield || ops.back()->operands.size() != 1 ||
      module.type(ops.back()->operands[0]) != Type::scalar(Elem::b1))
    return "region 0 ends with a yield of one b1";
  return {};
}

}  // namespace

std::string check_control(const Module& module, const Op& op) {
  switch (op.code) {
    case OpCode::dim:
    case OpCode::scalar: return check_signature(module, op);
    case OpCode::sms:
    case OpCode::program_id:
    case OpCode::num_programs:
    case OpCode::replica: return is_i32(module.type(op.results[0])) ? "" : "gives i32";
    case OpCode::grid: {
      std::string what = check_indices(module, op, 0);
      return what.empty() ? check_count(module, op.operands[0], "the number of programs") : what;
    }
    case OpCode::task: return check_task(op);
    case OpCode::stage: {
      const int64_t priority = op.attrs.integer("priority", -1);
      return priority >= 0 && priority <= 3 ? "" : "priority is 0 to 3, not " + std::to_string(priority);
    }
    case OpCode::var:
    case OpCode::get:
    case OpCode::set: return check_variable(module, op);
    case OpCode::for_: return check_for(module, op);
    case OpCode::if_: {
      const Type& condition = module.type(op.operands[0]);
      return condition == Type::scalar(Elem::b1) ? "" : "the condition is a b1 scalar, not " + to_string(condition);
    }
    case OpCode::while_: return check_while(module, op);
    case OpCode::schedule: return check_schedule(module, op);
    case OpCode::each: return check_each(module, op);
    default: return {};
  }
}

TLXJIT_NAMESPACE_END
