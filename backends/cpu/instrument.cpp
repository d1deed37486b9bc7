// backends/cpu/instrument.cpp — LLVM's sanitizer passes over generated code.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/cpu/instrument_p.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/Transforms/Instrumentation/AddressSanitizer.h>
#include <llvm/Transforms/Instrumentation/ThreadSanitizer.h>

#include "backends/cpu/sanitizers_p.h"

TLXJIT_NAMESPACE_BEGIN
namespace cpu {
namespace {

/// LLVM's pass leaves accesses of more than 16 bytes out: they become ranges here.
struct WideAccesses : llvm::PassInfoMixin<WideAccesses> {
  llvm::PreservedAnalyses run(llvm::Function& fn, llvm::FunctionAnalysisManager&) {
    llvm::IRBuilder<> b(fn.getContext());
    const llvm::DataLayout& layout = fn.getParent()->getDataLayout();
    for (llvm::Instruction& i : llvm::instructions(fn)) {
      const auto* load = llvm::dyn_cast<llvm::LoadInst>(&i);
      const auto* store = llvm::dyn_cast<llvm::StoreInst>(&i);
      if (!load && !store) continue;
      llvm::Type* type = load ? load->getType() : store->getValueOperand()->getType();
      const uint64_t bytes = layout.getTypeStoreSize(type).getFixedValue();
      if (bytes <= 16 && (bytes & (bytes - 1)) == 0) continue;
      b.SetInsertPoint(&i);
      llvm::Value* at = llvm::getLoadStorePointerOperand(&i);
      auto range = fn.getParent()->getOrInsertFunction(load ? "__tsan_read_range" : "__tsan_write_range", b.getVoidTy(),
                                                       b.getPtrTy(), b.getInt64Ty());
      b.CreateCall(range, {at, b.getInt64(bytes)});
    }
    return llvm::PreservedAnalyses::none();
  }
};

/// Constants get no red zones: the run time would have to be told of them, and no code computes their addresses.
struct PlainConstants : llvm::PassInfoMixin<PlainConstants> {
  llvm::PreservedAnalyses run(llvm::Module& module, llvm::ModuleAnalysisManager&) {
    llvm::GlobalValue::SanitizerMetadata plain;
    plain.NoAddress = true;
    for (llvm::GlobalVariable& global : module.globals()) global.setSanitizerMetadata(plain);
    return llvm::PreservedAnalyses::none();
  }
};

}  // namespace

void mark_for_sanitizer(llvm::Function& fn) {
  if (asan) fn.addFnAttr(llvm::Attribute::SanitizeAddress);
  if (tsan) fn.addFnAttr(llvm::Attribute::SanitizeThread);
}

void instrument(llvm::Module& code, llvm::ModuleAnalysisManager& analyses) {
  if (!asan && !tsan) return;
  llvm::ModulePassManager passes;
  if (asan) {
    passes.addPass(PlainConstants());
    // Without constructors, which nobody would run; the run time is there already.
    passes.addPass(llvm::AddressSanitizerPass({}, false, false, llvm::AsanDtorKind::None, llvm::AsanCtorKind::None));
  }
  if (tsan) {
    passes.addPass(llvm::createModuleToFunctionPassAdaptor(llvm::ThreadSanitizerPass()));
    passes.addPass(llvm::createModuleToFunctionPassAdaptor(WideAccesses()));
  }
  passes.run(code, analyses);
}

}  // namespace cpu
TLXJIT_NAMESPACE_END
