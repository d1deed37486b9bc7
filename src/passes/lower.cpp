// src/passes/lower.cpp — the order of the lowering passes; target tables.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "src/passes/lower_p.h"

#include "src/passes/allocate_shared_p.h"
#include "src/passes/lower_accumulators_p.h"
#include "src/passes/lower_rings_p.h"
#include "src/passes/lower_schedules_p.h"
#include "src/passes/lower_stores_p.h"
#include "src/passes/place_tasks_p.h"
#include "src/passes/place_waits_p.h"
#include "tlxjit/ir/verify.h"

TLXJIT_NAMESPACE_BEGIN

Result<Target> find_target(std::string_view name) {
  if (name == "cpu") return Target{"cpu", false, int64_t{64} << 20, 0};
  if (name == "sm_90a") return Target{"sm_90a", true, 232448, 65536};
  Error error;
  error.kind = ErrorKind::user;
  error.stage = Stage::lower;
  error.code = ErrorCode::unsupported;
  error.message = "there is no target '" + std::string(name) + "'; known are cpu and sm_90a";
  return error;
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
  Module module = portable.clone();
  module.level = Level::lowered;
  module.target = target.name;
  TLXJIT_TRY(lower_schedules(module));
  TLXJIT_TRY(lower_accumulators(module));
  TLXJIT_TRY(place_waits(module));
  TLXJIT_TRY(lower_rings(module, target));
  TLXJIT_TRY(lower_stores(module, target));
  TLXJIT_TRY(allocate_shared(module, target));
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
