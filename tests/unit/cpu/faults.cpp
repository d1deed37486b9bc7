// tests/unit/cpu/faults.cpp — plants faults in the code that a plug-in is about to compile.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/ErrorHandling.h>

#include <cstdlib>
#include <stdexcept>
#include <string_view>

#include "tests/support/hold.h"

namespace {

void plant(llvm::Module& module, std::string_view fault) {
  if (fault == "fatal") llvm::report_fatal_error("a planted fatal error");
  if (fault == "memory") llvm::report_bad_alloc_error("planted");
  if (fault == "throw") throw std::out_of_range("a planted exception");
  if (fault.starts_with("hang ")) tlxjit::Hold::at(fault.data() + 5).wait();
  for (llvm::Function& fn : module) {
    if (fn.isDeclaration()) continue;
    llvm::IRBuilder<> b(&*fn.getEntryBlock().getFirstInsertionPt());
    if (fault == "asm")
      b.CreateCall(llvm::InlineAsm::get(llvm::FunctionType::get(b.getVoidTy(), false), "nonsense", "", true));
    if (fault == "select")
      b.CreateCall(module.getOrInsertFunction("llvm.nvvm.barrier.cta.sync.aligned.all", b.getVoidTy(), b.getInt32Ty()),
                   {b.getInt32(0)});
    if (fault == "invalid") b.CreateUnreachable();  // a block that goes on behind its end
  }
}

}  // namespace

// The linker sends the plug-in's call of llvm::verifyModule here first.
extern "C" bool real_verify(const llvm::Module&, llvm::raw_ostream*,
                            bool*) __asm__("__real__ZN4llvm12verifyModuleERKNS_6ModuleEPNS_11raw_ostreamEPb");
extern "C" bool wrapped_verify(const llvm::Module&, llvm::raw_ostream*,
                               bool*) __asm__("__wrap__ZN4llvm12verifyModuleERKNS_6ModuleEPNS_11raw_ostreamEPb");

extern "C" bool wrapped_verify(const llvm::Module& module, llvm::raw_ostream* out, bool* broken) {
  if (const char* fault = std::getenv("TLXJIT_TEST_FAULT")) plant(const_cast<llvm::Module&>(module), fault);
  return real_verify(module, out, broken);
}
