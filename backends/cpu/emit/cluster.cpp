// backends/cpu/emit/cluster.cpp — barriers and buffers of the other programs of a cluster.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/cpu/emit/emitter_p.h"

TLXJIT_NAMESPACE_BEGIN
namespace cpu {

Node Emitter::remote_barrier(Value barrier, Value slot, Value rank, const Op& op) {
  const auto slots = static_cast<int64_t>(unit_.barrier_counts.size());
  const auto first = static_cast<int64_t>(unit_.index.at(barrier));
  Node index = b.CreateAdd(b.CreateMul(bounded(rank, unit_.cluster, op), i64(slots)),
                           b.CreateAdd(bounded(slot, type(barrier).slots, op), i64(first)));
  return at(field(offsetof(Context, cluster_barriers), b.getPtrTy()), b.CreateMul(index, i64(sizeof(Barrier))));
}

/// Where the slot lies in the program of that rank.
Node Emitter::remote_slot(Value buffer, Value slot, Value rank, const Op& op) {
  const Type& t = type(buffer);
  Node base = at(field(offsetof(Context, cluster_shared), b.getPtrTy()), unit_.buffer_offset.at(buffer));
  Node program =
      b.CreateMul(bounded(rank, unit_.cluster, op), i64(static_cast<int64_t>(shared_stride(unit_.shared_bytes))));
  Node within = b.CreateMul(bounded(slot, t.slots, op), i64(t.shape.elements() * size(t.elem)));
  return at(base, b.CreateAdd(program, within));
}

void Emitter::cluster_op(const Op& op) {
  switch (op.code) {
    case OpCode::cluster_sync: {
      auto runtime =
          unit_.code.getOrInsertFunction("tlxjit_cpu_cluster_sync", b.getVoidTy(), b.getPtrTy(), b.getInt32Ty());
      b.CreateCall(runtime, {context_, b.getInt32(unit_.number.at(&op))});
      return;
    }
    case OpCode::arrive_remote:
      return settle(remote_barrier(op.operand(0), op.operand(1), op.operand(2), op),
                    b.getInt32(static_cast<uint32_t>(arrivals(op))), i64(0));
    case OpCode::buffer_store_remote: {
      const Type& t = type(op.operand(0));
      const int64_t bytes = t.shape.elements() * size(t.elem);
      b.CreateMemCpy(remote_slot(op.operand(0), op.operand(1), op.operand(3), op), llvm::MaybeAlign(1),
                     tile_address(op.operand(2)), llvm::MaybeAlign(64), static_cast<uint64_t>(bytes));
      return settle(remote_barrier(op.operand(4), op.operand(5), op.operand(3), op), b.getInt32(0), i64(-bytes));
    }
    default: unsupported(op, "this op of a cluster");
  }
}

}  // namespace cpu
TLXJIT_NAMESPACE_END
