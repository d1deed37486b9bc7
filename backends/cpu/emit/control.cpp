// backends/cpu/emit/control.cpp — loops, branches and variables.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <llvm/IR/MDBuilder.h>

#include "backends/cpu/emit/emitter_p.h"

TLXJIT_NAMESPACE_BEGIN
namespace cpu {

/// Goes on where `holds`; else ends the launch at `op` by a function of the plug-in, which gets the details.
void Emitter::demand(Node holds, const char* function, llvm::ArrayRef<Node> details, const Op& op) {
  auto* stop = llvm::BasicBlock::Create(b.getContext(), "stop", fn_);
  auto* go_on = llvm::BasicBlock::Create(b.getContext(), "holds", fn_);
  b.CreateCondBr(holds, go_on, stop, llvm::MDBuilder(b.getContext()).createLikelyBranchWeights());
  b.SetInsertPoint(stop);
  llvm::SmallVector<Node, 4> args{context_};
  args.append(details.begin(), details.end());
  args.push_back(b.getInt32(unit_.number.at(&op)));
  llvm::SmallVector<llvm::Type*, 4> types;
  for (Node arg : args) types.push_back(arg->getType());
  auto* call = b.CreateCall(
      unit_.code.getOrInsertFunction(function, llvm::FunctionType::get(b.getVoidTy(), types, false)), args);
  call->addFnAttr(llvm::Attribute::NoReturn);
  call->addFnAttr(llvm::Attribute::Cold);
  b.CreateUnreachable();
  b.SetInsertPoint(go_on);
}

void Emitter::for_loop(const Op& op) {
  const Block& body = op.regions[0];
  if (body.args.size() != 1) unsupported(op, "a loop whose region has not one argument");
  llvm::Type* type = reg(this->type(body.args[0]).elem, 1);
  // Counted in 64 bits, so that the step past a bound near 2^31 does not wrap.
  Node begin = index64(op.operand(0)), end = index64(op.operand(1)), step = index64(op.operand(2));
  // A constant below 1 may come of folding what the verifier takes for unknown.
  if (const auto* known = llvm::dyn_cast<llvm::ConstantInt>(step); !known || known->getSExtValue() < 1)
    demand(b.CreateICmpSGT(step, i64(0)), "tlxjit_cpu_step", {step}, op);
  llvm::BasicBlock* before = b.GetInsertBlock();
  auto* head = llvm::BasicBlock::Create(b.getContext(), "for", fn_);
  auto* inside = llvm::BasicBlock::Create(b.getContext(), "for.body", fn_);
  auto* exit = llvm::BasicBlock::Create(b.getContext(), "for.end", fn_);
  b.CreateBr(head);
  b.SetInsertPoint(head);
  llvm::PHINode* i = b.CreatePHI(b.getInt64Ty(), 2);
  i->addIncoming(begin, before);
  b.CreateCondBr(b.CreateICmpSLT(i, end), inside, exit);
  b.SetInsertPoint(inside);
  scalars_[body.args[0]] = b.CreateSExtOrTrunc(i, type);
  block(body);
  close_scope();
  i->addIncoming(b.CreateAdd(i, step, "", false, true), b.GetInsertBlock());
  b.CreateBr(head);
  b.SetInsertPoint(exit);
}

void Emitter::while_loop(const Op& op) {
  auto* head = llvm::BasicBlock::Create(b.getContext(), "while", fn_);
  auto* inside = llvm::BasicBlock::Create(b.getContext(), "while.body", fn_);
  auto* exit = llvm::BasicBlock::Create(b.getContext(), "while.end", fn_);
  b.CreateBr(head);
  b.SetInsertPoint(head);
  const Block& test = op.regions[0];
  if (test.ops.empty() || test.ops.back()->code != OpCode::yield || test.ops.back()->operands.size() != 1)
    unsupported(op, "a while whose first region does not yield one value");
  block(test);
  b.CreateCondBr(scalar(test.ops.back()->operand(0)), inside, exit);
  b.SetInsertPoint(inside);
  block(op.regions[1]);
  close_scope();
  close_scope();  // region 1 sees the values of region 0
  b.CreateBr(head);
  b.SetInsertPoint(exit);
}

void Emitter::if_else(const Op& op) {
  auto* yes = llvm::BasicBlock::Create(b.getContext(), "if", fn_);
  auto* no = llvm::BasicBlock::Create(b.getContext(), "else", fn_);
  auto* exit = llvm::BasicBlock::Create(b.getContext(), "endif", fn_);
  b.CreateCondBr(scalar(op.operand(0)), yes, no);
  for (size_t i = 0; i < 2; ++i) {
    b.SetInsertPoint(i == 0 ? yes : no);
    block(op.regions[i]);
    close_scope();
    b.CreateBr(exit);
  }
  b.SetInsertPoint(exit);
}

void Emitter::declare(const Op& op) {
  const Value v = op.result();
  const Type& type = this->type(v);
  if (op.code == OpCode::accumulator) {
    if (type.elem != Elem::f32 && type.elem != Elem::i32) unsupported(op, "sums that are neither f32 nor i32");
    const int64_t bytes = type.shape.elements() * size(type.elem);
    take(v);
    b.CreateMemSet(tile_address(v), b.getInt8(0), static_cast<uint64_t>(bytes), llvm::MaybeAlign(64));
    return;
  }
  if (type.kind != TypeKind::scalar) unsupported(op, "a variable of this type");
  variables_[v] = entry_alloca(reg(type.elem, 1));
  b.CreateStore(scalar(op.operand(0)), variables_[v]);
}

void Emitter::set(const Op& op) { b.CreateStore(scalar(op.operand(1)), variables_.at(op.operand(0))); }

}  // namespace cpu
TLXJIT_NAMESPACE_END
