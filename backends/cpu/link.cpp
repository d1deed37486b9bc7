// backends/cpu/link.cpp — an object file to code in memory; the symbols that it finds.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/cpu/link_p.h"

#include <llvm/ExecutionEngine/JITLink/JITLinkMemoryManager.h>
#include <llvm/ExecutionEngine/Orc/AbsoluteSymbols.h>
#include <llvm/ExecutionEngine/Orc/LLJIT.h>
#include <llvm/ExecutionEngine/Orc/ObjectLinkingLayer.h>

#include <cmath>
#include <cstring>

#include "backends/cpu/instrument_p.h"

// Conversions that the compiler's run-time library has for hosts without the instructions.
extern "C" {
float __extendhfsf2(_Float16);
_Float16 __truncsfhf2(float);
_Float16 __truncdfhf2(double);
}

TLXJIT_NAMESPACE_BEGIN
namespace cpu {

std::string task_name(size_t i) { return "task_" + std::to_string(i); }

llvm::Error link(llvm::orc::JITTargetMachineBuilder builder, std::unique_ptr<llvm::MemoryBuffer> object,
                 Program& program) {
  namespace orc = llvm::orc;
  // A plain linking layer: code has no unwind tables, no debugger hooks, and sees no symbol of the host.
  auto layer = [](orc::ExecutionSession& session) -> llvm::Expected<std::unique_ptr<orc::ObjectLayer>> {
    auto memory = llvm::jitlink::InProcessMemoryManager::Create();
    if (!memory) return memory.takeError();
    return std::make_unique<orc::ObjectLinkingLayer>(session, std::move(*memory));
  };
  auto jit = orc::LLJITBuilder()
                 .setJITTargetMachineBuilder(std::move(builder))
                 .setObjectLinkingLayerCreator(layer)
                 .setPlatformSetUp(orc::setUpInactivePlatform)
                 .setLinkProcessSymbolsByDefault(false)
                 .create();
  if (!jit) return jit.takeError();
  // Told before the lookup fails, which does not say why.
  const auto reported = std::make_shared<std::string>();
  (*jit)->getExecutionSession().setErrorReporter(
      [reported](llvm::Error error) { *reported += llvm::toString(std::move(error)) + "\n"; });
  orc::SymbolMap symbols;
  auto add_address = [&](const char* name, orc::ExecutorAddr address) {
    symbols[(*jit)->mangleAndIntern(name)] = {address, llvm::JITSymbolFlags::Exported | llvm::JITSymbolFlags::Callable};
  };
  auto add = [&](const char* name, auto* fn) { add_address(name, orc::ExecutorAddr::fromPtr(fn)); };
  add("tlxjit_cpu_wait", &tlxjit_cpu_wait);
  add("tlxjit_cpu_flag_wait", &tlxjit_cpu_flag_wait);
  add("tlxjit_cpu_cluster_sync", &tlxjit_cpu_cluster_sync);
  add("tlxjit_cpu_settle", &tlxjit_cpu_settle);
  add("tlxjit_cpu_meet", &tlxjit_cpu_meet);
  add("tlxjit_cpu_outside", &tlxjit_cpu_outside);
  add("tlxjit_cpu_step", &tlxjit_cpu_step);
  add("tlxjit_cpu_assert", &tlxjit_cpu_assert);
  add("tlxjit_cpu_print", &tlxjit_cpu_print);
  add("tlxjit_cpu_copy", &tlxjit_cpu_copy);
  add("memcpy", static_cast<void* (*)(void*, const void*, size_t)>(&std::memcpy));
  add("memmove", static_cast<void* (*)(void*, const void*, size_t)>(&std::memmove));
  add("memset", static_cast<void* (*)(void*, int, size_t)>(&std::memset));
#define TLX_LIBM(name)                                                    \
  add("tlxjit_libm_" #name, static_cast<double (*)(double)>(&std::name)); \
  add("tlxjit_libm_" #name "f", static_cast<float (*)(float)>(&std::name));
#define TLX_LIBM_2(name)                                                          \
  add("tlxjit_libm_" #name, static_cast<double (*)(double, double)>(&std::name)); \
  add("tlxjit_libm_" #name "f", static_cast<float (*)(float, float)>(&std::name));
#define TLX_LIBM_PLAIN(name)                            \
  add(#name, static_cast<double (*)(double)>(&::name)); \
  add(#name "f", &::name##f);
#include "backends/cpu/libm.def"
#undef TLX_LIBM_PLAIN
#undef TLX_LIBM_2
#undef TLX_LIBM
  add("fma", static_cast<double (*)(double, double, double)>(&std::fma));
  add("fmaf", static_cast<float (*)(float, float, float)>(&std::fma));
  add("__extendhfsf2", &__extendhfsf2);
  add("__truncsfhf2", &__truncsfhf2);
  add("__truncdfhf2", &__truncdfhf2);
  for (const SanitizerSymbol& symbol : sanitizer_symbols())
    add_address(symbol.name, orc::ExecutorAddr::fromPtr(symbol.address));
  if (auto error = (*jit)->getMainJITDylib().define(orc::absoluteSymbols(std::move(symbols)))) return error;
  if (auto error = (*jit)->addObjectFile(std::move(object))) return error;
  for (size_t i = 0; i < program.tasks.size(); ++i) {
    auto address = (*jit)->lookup(task_name(i));
    if (!address) return llvm::createStringError(*reported + llvm::toString(address.takeError()));
    program.tasks[i].entry = address->toPtr<TaskFunction>();
  }
  program.code = std::shared_ptr<orc::LLJIT>(std::move(*jit));
  return llvm::Error::success();
}

}  // namespace cpu
TLXJIT_NAMESPACE_END
