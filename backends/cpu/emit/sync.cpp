// backends/cpu/emit/sync.cpp — waits and arrivals at barriers.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <llvm/IR/MDBuilder.h>

#include "backends/cpu/emit/emitter_p.h"

TLXJIT_NAMESPACE_BEGIN
namespace cpu {

Node Emitter::barrier_address(Value barrier, Value slot, const Op& op) {
  Node first = at(field(offsetof(Context, barriers), b.getPtrTy()),
                  static_cast<int64_t>(unit_.index.at(barrier) * sizeof(Barrier)));
  return at(first, b.CreateMul(bounded(slot, type(barrier).slots, op), i64(sizeof(Barrier))));
}

void Emitter::wait(const Op& op) {
  Node barrier = barrier_address(op.operand(0), op.operand(1), op);
  Node parity = b.CreateTrunc(bounded(op.operand(2), 2, op), b.getInt32Ty());
  auto call = [&] {
    auto runtime = unit_.code.getOrInsertFunction("tlxjit_cpu_wait", b.getVoidTy(), b.getPtrTy(), b.getPtrTy(),
                                                  b.getInt32Ty(), b.getInt32Ty(), b.getInt32Ty(), b.getInt32Ty());
    b.CreateCall(runtime, {context_, barrier, parity, scalar(op.operand(1)), b.getInt32(unit_.number.at(&op)),
                           b.getInt32(unit_.number.at(unit_.module.def(op.operand(0))))});
  };
  if (tsan) return call();  // it orders
  Node phase = b.CreateLoad(b.getInt32Ty(), at(barrier, offsetof(Barrier, phase)));
  auto* stand = llvm::BasicBlock::Create(b.getContext(), "wait", fn_);
  auto* go_on = llvm::BasicBlock::Create(b.getContext(), "ready", fn_);
  b.CreateCondBr(b.CreateICmpEQ(phase, parity), stand, go_on);
  b.SetInsertPoint(stand);
  call();
  b.CreateBr(go_on);
  b.SetInsertPoint(go_on);
}

void Emitter::meet(const Op& op) {
  auto runtime = unit_.code.getOrInsertFunction("tlxjit_cpu_meet", b.getVoidTy(), b.getPtrTy(), b.getPtrTy(),
                                                b.getInt32Ty(), b.getInt32Ty(), b.getInt32Ty());
  Node barrier = barrier_address(op.operand(0), op.operand(1), op);
  b.CreateCall(runtime, {context_, barrier, scalar(op.operand(1)), b.getInt32(unit_.number.at(&op)),
                         b.getInt32(unit_.number.at(unit_.module.def(op.operand(0))))});
}

void Emitter::arrive(const Op& op) {
  Node barrier = barrier_address(op.operand(0), op.operand(1), op);
  if (op.code == OpCode::expect) return settle(barrier, b.getInt32(1), i64(op.attrs.integer("bytes")));
  settle(barrier, b.getInt32(static_cast<uint32_t>(arrivals(op))), i64(0));
}

/// How often an arrive of this instance counts.
int64_t Emitter::arrivals(const Op& op) const {
  if (op.attrs.text("per") == "warp") return task_.attrs.integer("warps", 1);
  if (op.attrs.text("per") != "instance") unsupported(op, "an arrive that is neither per instance nor per warp");
  return 1;
}

/// Takes arrivals from and adds bytes to what the present phase misses; re-arms when nothing is missing.
void Emitter::settle(Node barrier, Node arrivals, Node bytes) {
  if (tsan) {  // it orders
    auto runtime = unit_.code.getOrInsertFunction("tlxjit_cpu_settle", b.getVoidTy(), b.getPtrTy(), b.getInt32Ty(),
                                                  b.getInt64Ty());
    b.CreateCall(runtime, {barrier, arrivals, bytes});
    return;
  }
  auto word = [&](size_t offset) { return at(barrier, static_cast<int64_t>(offset)); };
  Node missing = b.CreateSub(b.CreateLoad(b.getInt32Ty(), word(offsetof(Barrier, missing))), arrivals);
  Node open = b.CreateAdd(b.CreateLoad(b.getInt64Ty(), word(offsetof(Barrier, bytes))), bytes);
  Node count = b.CreateLoad(b.getInt32Ty(), word(offsetof(Barrier, count)));
  Node phase = b.CreateLoad(b.getInt32Ty(), word(offsetof(Barrier, phase)));
  Node complete = b.CreateAnd(b.CreateICmpSLE(missing, b.getInt32(0)), b.CreateICmpEQ(open, i64(0)));
  b.CreateStore(b.CreateSelect(complete, b.CreateAdd(missing, count), missing), word(offsetof(Barrier, missing)));
  b.CreateStore(open, word(offsetof(Barrier, bytes)));
  b.CreateStore(b.CreateXor(phase, b.CreateZExt(complete, b.getInt32Ty())), word(offsetof(Barrier, phase)));
}

}  // namespace cpu
TLXJIT_NAMESPACE_END
