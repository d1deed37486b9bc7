// src/passes/lower.cpp — the order of the lowering passes; target tables.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "src/passes/lower_p.h"

#include <algorithm>
#include <array>
#include <set>

#include "src/passes/allocate_shared_p.h"
#include "src/passes/lower_accesses_p.h"
#include "src/passes/lower_accumulators_p.h"
#include "src/passes/lower_rings_p.h"
#include "src/passes/lower_schedules_p.h"
#include "src/passes/lower_stages_p.h"
#include "src/passes/lower_stores_p.h"
#include "src/passes/place_tasks_p.h"
#include "src/passes/place_waits_p.h"
#include "tlxjit/ir/verify.h"

TLXJIT_NAMESPACE_BEGIN

namespace {

std::array<Target, 2> targets() {
  return {Target{"cpu", false, int64_t{64} << 20, 0, {"*"}}, Target{"sm_90a", true, 232448, 65536, {"tma"}}};
}

/// Names the barriers that the lowering has made for rings (src/ir/ring_barriers_p.h).
void mark_rings(Module& module, const std::set<Value>& by_hand) {
  std::vector<int64_t> rings;
  int64_t number = 0;
  for (const auto& op : module.body.ops) {
    if (op->code != OpCode::barrier) continue;
    if (!by_hand.count(op->result()) && op->attrs.text("name").ends_with(".full")) rings.push_back(number);
    ++number;
  }
  if (!rings.empty()) module.attrs.set("rings", std::move(rings));
}

bool has(const Target& target, std::string_view need) {
  return std::ranges::any_of(target.capabilities, [&](std::string_view c) { return c == "*" || c == need; });
}

}  // namespace

Result<Target> find_target(std::string_view name) {
  std::string known;
  for (const Target& target : targets()) {
    if (target.name == name) return target;
    known += (known.empty() ? "" : " and ") + target.name;
  }
  Error error;
  error.kind = ErrorKind::user;
  error.stage = Stage::lower;
  error.code = ErrorCode::unsupported;
  error.message = "there is no target '" + std::string(name) + "'; known are " + known;
  return error;
}

Result<void> check_capabilities(const Module& module, const Target& target) {
  for (const Op* op : numbered_ops(module)) {
    std::string_view rest = info(op->code).needs;
    while (!rest.empty()) {
      const std::string_view need = rest.substr(0, rest.find(' '));
      rest.remove_prefix(std::min(rest.size(), need.size() + 1));
      if (has(target, need)) continue;
      std::string others;
      for (const Target& other : targets())
        if (has(other, need)) others += (others.empty() ? "" : ", ") + other.name;
      return lower_error(module, *op,
                         target.name + " has no " + std::string(need) + "; targets that have it: " + others);
    }
  }
  return {};
}

Error lower_error(const Module& module, const Op& op, std::string message, ErrorCode code) {
  Error error;
  error.kind = ErrorKind::user;
  error.stage = Stage::lower;
  error.code = code;
  error.message = std::string(info(op.code).text) + ": " + std::move(message);
  error.location = module.location(op);
  return error;
}

Result<Module> lower(const Module& portable, const Target& target) {
  if (portable.level != Level::portable) {
    Error error;
    error.kind = ErrorKind::user;
    error.stage = Stage::lower;
    error.code = ErrorCode::unsupported;
    error.message = "the module is lowered already, for " + portable.target;
    return error;
  }
  TLXJIT_TRY(check_capabilities(portable, target));  // before what a pass has to say of it
  Module module = portable.clone();
  module.level = Level::lowered;
  module.target = target.name;
  std::set<Value> by_hand;
  for (const auto& op : module.body.ops)
    if (op->code == OpCode::barrier || op->code == OpCode::buffer) by_hand.insert(op->result());
  lower_schedules(module);
  TLXJIT_TRY(lower_accumulators(module));
  TLXJIT_TRY(place_waits(module, by_hand));
  TLXJIT_TRY(lower_stages(module));
  TLXJIT_TRY(lower_rings(module, target));
  mark_rings(module, by_hand);
  lower_accesses(module);
  TLXJIT_TRY(lower_stores(module, target));
  TLXJIT_TRY(allocate_shared(module, target));
  TLXJIT_TRY(check_capabilities(module, target));
  if (target.registers > 0) {  // a target with warps
    auto placement = place_tasks(module);
    if (!placement) return placement.error();
    TLXJIT_TRY(check_registers(module, *placement, target.registers));
    module.attrs.set("threads", int64_t{128} * placement->groups());
  }
  if (auto faults = verify(module); !faults.empty()) {
    Error error = first_of(faults).error();
    error.kind = ErrorKind::internal;
    error.stage = Stage::lower;
    error.code = ErrorCode::internal_error;
    error.message = "the lowering made a module that is not well formed: " + error.message;
    return error;
  }
  return module;
}

TLXJIT_NAMESPACE_END
