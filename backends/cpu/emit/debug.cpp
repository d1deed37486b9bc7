// backends/cpu/emit/debug.cpp — prints, assertions, inline text.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <llvm/IR/InlineAsm.h>
#include <llvm/Support/Error.h>

#include "backends/cpu/emit/emitter_p.h"

TLXJIT_NAMESPACE_BEGIN
namespace cpu {

void Emitter::print(const Op& op) {
  Node values = entry_alloca(llvm::ArrayType::get(b.getPtrTy(), op.operands.size() + 1));
  for (size_t i = 0; i < op.operands.size(); ++i) {
    const Type& t = type(op.operand(i));
    Node address = t.is_tile() ? tile_address(op.operand(i)) : entry_alloca(mem(t.elem, 1));
    if (!t.is_tile()) store(scalar(op.operand(i)), address, t.elem);
    b.CreateStore(address, at(values, static_cast<int64_t>(i * sizeof(void*))));
  }
  auto runtime =
      unit_.code.getOrInsertFunction("tlxjit_cpu_print", b.getVoidTy(), b.getPtrTy(), b.getPtrTy(), b.getInt32Ty());
  b.CreateCall(runtime, {context_, values, b.getInt32(unit_.number.at(&op))});
}

void Emitter::assertion(const Op& op) {
  const Value v = op.operand(0);
  if (!type(v).is_tile()) return demand(scalar(v), "tlxjit_cpu_assert", {i64(-1)}, op);
  loop(type(v).shape.elements(), 1, [&](Node i) { demand(element(v, i), "tlxjit_cpu_assert", {i}, op); });
}

void Emitter::inline_text(const Op& op) {
  if (op.attrs.text("target") != "cpu")
    throw Unsupported{&op, "inline text for " + std::string(op.attrs.text("target"))};
  std::vector<llvm::Type*> types;
  for (Value v : op.operands) types.push_back(reg(type(v).elem, 1));
  const Type& out = type(op.result());
  auto* signature = llvm::FunctionType::get(reg(out.elem, 1), types, false);
  const std::string constraints(op.attrs.text("constraints"));
  if (auto error = llvm::InlineAsm::verify(signature, constraints))
    throw Unsupported{&op, "inline text with constraints '" + constraints +
                               "' for these operands: " + llvm::toString(std::move(error))};
  auto* text = llvm::InlineAsm::get(signature, std::string(op.attrs.text("text")), constraints, true);
  const auto call = [&](Node i) {
    std::vector<Node> in;
    for (Value v : op.operands) in.push_back(type(v).is_tile() ? element(v, i) : scalar(v));
    auto* made = b.CreateCall(text, in);
    // What LLVM then says of the text names the op by this number.
    auto* number = llvm::ConstantAsMetadata::get(b.getInt64(unit_.number.at(&op) + 1));
    made->setMetadata("srcloc", llvm::MDNode::get(b.getContext(), {number}));
    return made;
  };
  if (out.is_scalar()) {
    scalars_[op.result()] = call(nullptr);
    return;
  }
  loop(out.shape.elements(), 1, [&](Node i) { store(call(i), element_address(op.result(), i), out.elem); });
}

}  // namespace cpu
TLXJIT_NAMESPACE_END
