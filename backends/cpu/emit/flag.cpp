// backends/cpu/emit/flag.cpp — flags: elements of tensors by which programs wait for one another.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/cpu/emit/emitter_p.h"

TLXJIT_NAMESPACE_BEGIN
namespace cpu {

void Emitter::flag(const Op& op) {
  const Elem elem = type(op.operand(0)).elem;
  const llvm::Align align(static_cast<uint64_t>(size(elem)));
  Node element = nullptr;
  Node address = tensor_element(op, element);
  Node value = scalar(op.operands.back());
  if (op.code == OpCode::flag_set) {
    b.CreateAlignedStore(value, address, align)->setAtomic(llvm::AtomicOrdering::Release);
    return;
  }
  if (op.code == OpCode::flag_add) {
    b.CreateAtomicRMW(llvm::AtomicRMWInst::Add, address, value, align, llvm::AtomicOrdering::AcquireRelease);
    return;
  }
  const bool is_signed = is_signed_int(elem);
  const auto pred = word_of<Predicate>(op, "pred");
  const uint32_t test = static_cast<uint32_t>(pred) | (size(elem) == 8 ? uint32_t{FlagTest::wide} : 0) |
                        (is_signed ? uint32_t{FlagTest::is_signed} : 0);
  auto* look = llvm::BasicBlock::Create(b.getContext(), "flag", fn_);
  auto* stand = llvm::BasicBlock::Create(b.getContext(), "flag.wait", fn_);
  auto* go_on = llvm::BasicBlock::Create(b.getContext(), "flag.set", fn_);
  b.CreateBr(look);
  b.SetInsertPoint(look);
  auto* present = b.CreateAlignedLoad(reg(elem, 1), address, align);
  present->setAtomic(llvm::AtomicOrdering::Acquire);
  b.CreateCondBr(b.CreateCmp(predicate(pred, elem), present, value), go_on, stand);
  b.SetInsertPoint(stand);
  auto runtime =
      unit_.code.getOrInsertFunction("tlxjit_cpu_flag_wait", b.getVoidTy(), b.getPtrTy(), b.getPtrTy(), b.getInt64Ty(),
                                     b.getInt64Ty(), b.getInt32Ty(), b.getInt32Ty(), b.getInt32Ty());
  b.CreateCall(runtime,
               {context_, address, element,
                is_signed ? b.CreateSExt(value, b.getInt64Ty()) : b.CreateZExt(value, b.getInt64Ty()), b.getInt32(test),
                b.getInt32(unit_.number.at(&op)), b.getInt32(unit_.number.at(unit_.module.def(op.operand(0))))});
  b.CreateBr(look);
  b.SetInsertPoint(go_on);
}

}  // namespace cpu
TLXJIT_NAMESPACE_END
