// backends/nvidia/emit/barrier.cpp — waits, arrivals and syncs of an instance.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fmt/format.h>

#include "backends/nvidia/emit/target_p.h"

TLXJIT_NAMESPACE_BEGIN
namespace nvidia {

std::string shared_address(Emitter& e, int64_t offset, Value slot, int64_t stride) {
  int64_t constant = 0;
  if (e.is_constant(slot, constant)) return fmt::format("base + {}", offset + constant * stride);
  return fmt::format("base + {} + {} * {}", offset, e.scalar(slot), stride);
}

std::string HopperTarget::barrier_slot(Emitter& e, Value barrier, Value slot) {
  const Op* op = e.module().def(barrier);
  return shared_address(e, op->attrs.integer("offset"), slot, 8);
}

void HopperTarget::wait(Emitter& e, const Op& op) {
  e.out().line(ptx_(Ptx::mbar_wait, {barrier_slot(e, op.operand(0), op.operand(1)), e.scalar(op.operand(2))}));
}

void HopperTarget::arrive(Emitter& e, const Op& op) {
  const std::string statement = ptx_(Ptx::mbar_arrive, {barrier_slot(e, op.operand(0), op.operand(1))});
  if (op.attrs.text("per") != "warp" || e.place().elected) return e.issue(statement);
  // The warp's reads come before its one arrival.
  e.out().line("__syncwarp();");
  e.out().line("if (" + e.lane() + " == 0) { " + statement + " }");
}

void HopperTarget::expect(Emitter& e, const Op& op) {
  // An mbarrier counts so many: PTX ISA, "mbarrier: tracking of asynchronous operations".
  if (op.attrs.integer("bytes") >= 1 << 20) return e.fail(op, "bytes are 1 to 2^20 − 1 on this target");
  e.issue(ptx_(Ptx::mbar_expect,
               {barrier_slot(e, op.operand(0), op.operand(1)), std::to_string(op.attrs.integer("bytes"))}));
}

void HopperTarget::sync(Emitter& e, const Op&) {
  const TaskPlace& place = e.place();
  if (place.warps == 1) return e.out().line("__syncwarp();");
  const std::string threads = std::to_string(32 * place.warps);
  // An immediate where there is one instance: ptxas reserves all 16 barriers for a number in a register.
  if (place.replicas == 1) return e.out().line(ptx_(Ptx::bar_sync_n, {std::to_string(place.barrier), threads}));
  e.out().line(ptx_(Ptx::bar_sync, {fmt::format("{} + {}", e.replica(), place.barrier), threads}));
}

}  // namespace nvidia
TLXJIT_NAMESPACE_END
