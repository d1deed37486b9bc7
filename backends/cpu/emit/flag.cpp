// backends/cpu/emit/flag.cpp — flags: elements of tensors by which programs wait for one another.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <llvm/IR/MDBuilder.h>

#include "backends/cpu/emit/emitter_p.h"

TLXJIT_NAMESPACE_BEGIN
namespace cpu {

namespace {

uint32_t predicate_bits(std::string_view text) {
  constexpr std::string_view texts[] = {"eq", "ne", "lt", "le", "gt", "ge"};
  return static_cast<uint32_t>(std::find(std::begin(texts), std::end(texts), text) - std::begin(texts));
}

}  // namespace

/// The address of the element that operands 1 to rank name, and its number if rows were packed.
Node Emitter::flag_address(const Op& op, Node& element) {
  const Value tensor = op.operand(0);
  const auto rank = static_cast<size_t>(type(tensor).slots);
  const Op& declared = *unit_.module.def(tensor);
  Node at_tensor = tensor_address(tensor);
  Node offset = i64(0);
  element = i64(0);
  for (size_t axis = 0; axis < rank; ++axis) {
    Node extent = index64(declared.operand(axis));
    Node index = bounded(index64(op.operand(1 + axis)), extent, op);
    element = b.CreateAdd(b.CreateMul(element, extent), index);
    if (axis + 1 < rank)  // the innermost stride is 1
      index = b.CreateMul(
          index, b.CreateLoad(b.getInt64Ty(),
                              at(at_tensor, static_cast<int64_t>(offsetof(tlxjit_cpu_tensor, strides) + 8 * axis))));
    offset = b.CreateAdd(offset, index);
  }
  Node data = b.CreateLoad(b.getPtrTy(), at_tensor);
  return at(data, b.CreateMul(offset, i64(size(type(tensor).elem))));
}

void Emitter::flag(const Op& op) {
  const Elem elem = type(op.operand(0)).elem;
  const llvm::Align align(static_cast<uint64_t>(size(elem)));
  Node element = nullptr;
  Node address = flag_address(op, element);
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
  const std::string_view pred = op.attrs.text("pred");
  const uint32_t test = predicate_bits(pred) | (size(elem) == 8 ? uint32_t{FlagTest::wide} : 0) |
                        (is_signed ? uint32_t{FlagTest::is_signed} : 0);
  auto* look = llvm::BasicBlock::Create(b.getContext(), "flag", fn_);
  auto* stand = llvm::BasicBlock::Create(b.getContext(), "flag.wait", fn_);
  auto* go_on = llvm::BasicBlock::Create(b.getContext(), "flag.set", fn_);
  b.CreateBr(look);
  b.SetInsertPoint(look);
  auto* present = b.CreateAlignedLoad(reg(elem, 1), address, align);
  present->setAtomic(llvm::AtomicOrdering::Acquire);
  b.CreateCondBr(b.CreateCmp(predicate(pred, elem, op), present, value), go_on, stand);
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
