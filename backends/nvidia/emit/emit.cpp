// backends/nvidia/emit/emit.cpp — lowered IR to CUDA C++.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/nvidia/emit/emit_p.h"

#include <algorithm>

#include "backends/nvidia/emit/target_p.h"

TLXJIT_NAMESPACE_BEGIN
namespace nvidia {

namespace {

/// setmaxnreg's limits, and the register file that all groups share.
Result<void> check_registers(const Module& module, const Placement& placement, const Abi& abi) {
  const int share = register_share(abi);
  int sum = 0, largest = 0;
  for (size_t g = 0; g < placement.registers.size(); ++g) {
    const int request = placement.registers[g];
    sum += request ? request : share;
    largest = std::max(largest, request);
    if (request == 0 || (request % 8 == 0 && request >= 24 && request <= 256)) continue;
    sum = -1;
    break;
  }
  if (sum >= 0 && (largest == 0 || sum * 128 <= share * abi.threads)) return {};
  Error error;
  error.kind = ErrorKind::user;
  error.stage = Stage::emit;
  error.code = ErrorCode::out_of_resources;
  error.message = sum < 0 ? "registers per thread are a multiple of 8, from 24 to 256"
                          : "the tasks ask for " + std::to_string(sum * 128) + " registers together; a program of " +
                                std::to_string(abi.threads) + " threads has " + std::to_string(share * abi.threads);
  error.location = module.location(*placement.tasks.front().task);
  return error;
}

}  // namespace

Result<EmittedKernel> emit_cuda(const Module& lowered) {
  if (lowered.level != Level::lowered || lowered.target != "sm_90a") {
    Error error;
    error.stage = Stage::emit;
    error.message = "the CUDA emitter reads modules lowered for sm_90a, not '" + lowered.target + "'";
    return error;
  }
  auto abi = make_abi(lowered);
  if (!abi) return abi.error();
  auto placement = place_tasks(lowered);
  if (!placement) return placement.error();
  TLXJIT_TRY(check_registers(lowered, *placement, *abi));
  TileLayouts layouts(lowered);
  for (const TaskPlace& place : placement->tasks) TLXJIT_TRY(assign_fragments(lowered, *place.task, layouts));
  EmittedKernel kernel;
  kernel.entry = "tlx_" + identifier(lowered.name);
  HopperTarget target;
  auto source = Emitter(lowered, *abi, *placement, layouts, target).run(kernel.entry);
  if (!source) return source.error();
  kernel.source = std::move(*source);
  kernel.abi = std::move(*abi);
  return kernel;
}

}  // namespace nvidia
TLXJIT_NAMESPACE_END
