// backends/cpu/emit/debug.cpp — prints and assertions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
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

}  // namespace cpu
TLXJIT_NAMESPACE_END
