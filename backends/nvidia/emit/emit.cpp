// backends/nvidia/emit/emit.cpp — lowered IR to CUDA C++.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/nvidia/emit/emit_p.h"

#include "backends/nvidia/emit/target_p.h"

TLXJIT_NAMESPACE_BEGIN
namespace nvidia {

Result<EmittedKernel> emit_cuda(const Module& lowered) {
  if (lowered.level != Level::lowered || lowered.target != "sm_90a") {
    Error error;
    error.stage = Stage::emit;
    error.message = "the CUDA emitter reads modules lowered for sm_90a, not '" + lowered.target + "'";
    return error;
  }
  auto facts = find_target(lowered.target);
  if (!facts) return facts.error();
  TLXJIT_TRY(check_capabilities(lowered, *facts));
  auto abi = make_abi(lowered);
  if (!abi) return abi.error();
  auto placement = place_tasks(lowered);
  if (!placement) return placement.error();
  TLXJIT_TRY(check_registers(lowered, *placement, facts->registers));
  if (abi->shared_bytes > facts->shared_limit) {
    Error error;
    error.kind = ErrorKind::user;
    error.stage = Stage::emit;
    error.code = ErrorCode::out_of_resources;
    error.message = "the kernel needs " + std::to_string(abi->shared_bytes) + " bytes of shared memory, " +
                    facts->name + " has " + std::to_string(facts->shared_limit);
    return error;
  }
  TileLayouts layouts(lowered);
  for (const TaskPlace& place : placement->tasks) TLXJIT_TRY(assign_fragments(lowered, *place.task, layouts));
  EmittedKernel kernel;
  kernel.entry = "tlx_" + identifier(lowered.name);
  HopperTarget target(*facts);
  auto source = Emitter(lowered, *abi, *placement, layouts, target).run(kernel.entry);
  if (!source) return source.error();
  kernel.source = std::move(*source);
  kernel.abi = std::move(*abi);
  return kernel;
}

}  // namespace nvidia
TLXJIT_NAMESPACE_END
