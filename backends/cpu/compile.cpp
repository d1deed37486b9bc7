// backends/cpu/compile.cpp — the text of lowered IR to machine code in memory: parse, emit, optimise, link.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/cpu/compile_p.h"

#include <llvm/ExecutionEngine/JITLink/JITLinkMemoryManager.h>
#include <llvm/ExecutionEngine/Orc/AbsoluteSymbols.h>
#include <llvm/ExecutionEngine/Orc/LLJIT.h>
#include <llvm/ExecutionEngine/Orc/ObjectLinkingLayer.h>
#include <llvm/IR/DiagnosticInfo.h>
#include <llvm/IR/DiagnosticPrinter.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Support/SmallVectorMemoryBuffer.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/TargetParser/Host.h>
#include <llvm/Transforms/InstCombine/InstCombine.h>
#include <llvm/Transforms/Scalar/DCE.h>
#include <llvm/Transforms/Scalar/EarlyCSE.h>
#include <llvm/Transforms/Scalar/LICM.h>
#include <llvm/Transforms/Scalar/LoopPassManager.h>
#include <llvm/Transforms/Scalar/SimplifyCFG.h>
#include <llvm/Transforms/Utils/Mem2Reg.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>

#include "backends/cpu/emit/emitter_p.h"
#include "backends/cpu/executor_p.h"
#include "backends/cpu/llvm_guard_p.h"
#include "tlxjit/ir/text.h"
#include "tlxjit/ir/verify.h"

// Conversions that the compiler's run-time library has for hosts without the instructions.
extern "C" {
float __extendhfsf2(_Float16);
_Float16 __truncsfhf2(float);
_Float16 __truncdfhf2(double);
}

TLXJIT_NAMESPACE_BEGIN
namespace cpu {
namespace {

/// Collects LLVM's diagnostics, and the size of each function's stack frame; its own handler would print them and exit.
struct Diagnostics final : llvm::DiagnosticHandler {
  Diagnostics(std::string& text, std::map<std::string, uint64_t>& frames) : text(text), frames(frames) {}
  bool handleDiagnostics(const llvm::DiagnosticInfo& info) override {
    if (const auto* frame = llvm::dyn_cast<llvm::DiagnosticInfoStackSize>(&info))
      frames[frame->getFunction().getName().str()] = frame->getStackSize();
    if (info.getSeverity() != llvm::DS_Error) return true;
    llvm::raw_string_ostream out(text);
    llvm::DiagnosticPrinterRawOStream printer(out);
    info.print(printer);
    out << '\n';
    return true;
  }
  std::string& text;
  std::map<std::string, uint64_t>& frames;
};

struct Compilation {
  std::string_view text;
  Program& program;
  tlxjit_cpu_failure& failure;
  tlxjit_cpu_status status = TLXJIT_CPU_OK;

  void stop(tlxjit_cpu_status s, const std::string& message, uint32_t op = UINT32_MAX) {
    status = fail(failure, s, message.c_str(), op);
  }
  void run();
  void build(const Module& module);
  bool size_stacks(const std::map<std::string, uint64_t>& frames);
  bool emit(const Module& module, llvm::Module& code, int vector_bits);
  void link(llvm::orc::JITTargetMachineBuilder builder, std::unique_ptr<llvm::MemoryBuffer> object);
};

std::string task_name(size_t i) { return "task_" + std::to_string(i); }

/// Code is written with its vectors and unrolling; what is left is what an emitter does badly: variables in memory,
/// addresses formed again and again, and loop invariants. LLVM's O2 takes five times as long for the same speed.
void optimise(llvm::Module& code, llvm::TargetMachine& machine) {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager graphs;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder builder(&machine);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(graphs);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, graphs, modules);
  llvm::FunctionPassManager passes;
  passes.addPass(llvm::PromotePass());
  passes.addPass(llvm::EarlyCSEPass());
  passes.addPass(llvm::InstCombinePass(llvm::InstCombineOptions().setMaxIterations(1)));
  passes.addPass(llvm::SimplifyCFGPass());
  passes.addPass(llvm::createFunctionToLoopPassAdaptor(llvm::LICMPass(llvm::LICMOptions()), true));
  passes.addPass(llvm::EarlyCSEPass());
  passes.addPass(llvm::DCEPass());
  for (llvm::Function& fn : code)
    if (!fn.isDeclaration()) passes.run(fn, functions);
}

int vector_bits(const llvm::orc::JITTargetMachineBuilder& builder) {
  const std::string features = builder.getFeatures().getString();
  if (!builder.getTargetTriple().isX86()) return 128;
  if (features.find("+avx512f") != std::string::npos && features.find("+avx512vl") != std::string::npos) return 512;
  return features.find("+avx2") != std::string::npos ? 256 : 128;
}

void Compilation::run() {
  auto module = parse(text);
  if (!module) return stop(TLXJIT_CPU_BAD_TEXT, module.error().message);
  if (module->level != Level::lowered)
    return stop(TLXJIT_CPU_BAD_TEXT, "the text is portable IR; the plug-in reads lowered IR");
  if (const auto faults = verify(*module); !faults.empty()) return stop(TLXJIT_CPU_BAD_TEXT, faults[0].message);
  build(*module);
}

bool Compilation::emit(const Module& module, llvm::Module& code, int bits) {
  const auto number = [&](const Op* op) {
    const auto ops = numbered_ops(module);
    for (uint32_t i = 0; i < ops.size(); ++i)
      if (ops[i] == op) return i;
    return UINT32_MAX;
  };
  std::unique_ptr<Unit> unit;
  try {
    unit = std::make_unique<Unit>(module, code);
  } catch (const Unsupported& e) {
    stop(TLXJIT_CPU_BAD_TEXT, "not lowered IR: " + e.what, number(e.op));
    return false;
  }
  unit->vector_bits = bits;
  for (const auto& op : module.body.ops) {
    if (op->code != OpCode::task) continue;
    const int64_t replicas = op->attrs.integer("replicas", 1);
    if (replicas < 1 || replicas > 64) {
      stop(TLXJIT_CPU_BAD_TEXT, "a task with fewer than 1 or more than 64 replicas", number(op.get()));
      return false;
    }
    try {
      TaskCode task;
      task.op = unit->number.at(op.get());
      task.replicas = static_cast<int32_t>(replicas);
      task.arena_bytes = static_cast<size_t>(Emitter(*unit, *op).run(task_name(program.tasks.size())));
      program.tasks.push_back(task);
    } catch (const Unsupported& e) {
      stop(TLXJIT_CPU_UNSUPPORTED, "the CPU back end lacks " + e.what, e.op ? number(e.op) : number(op.get()));
      return false;
    } catch (const std::out_of_range&) {
      stop(TLXJIT_CPU_BAD_TEXT, "a task uses a value that is not what its op needs", number(op.get()));
      return false;
    }
  }
  program.barrier_counts = unit->barrier_counts;
  program.shared_bytes = unit->shared_bytes;
  program.words = unit->words;
  return true;
}

void Compilation::build(const Module& module) {
  auto builder = llvm::orc::JITTargetMachineBuilder::detectHost();
  if (!builder) return stop(TLXJIT_CPU_COMPILER, llvm::toString(builder.takeError()));
  builder->setCodeGenOptLevel(llvm::CodeGenOptLevel::Default);
  auto machine = builder->createTargetMachine();
  if (!machine) return stop(TLXJIT_CPU_COMPILER, llvm::toString(machine.takeError()));

  std::string diagnostics;
  std::map<std::string, uint64_t> frames;
  llvm::LLVMContext context;
  context.setDiagnosticHandler(std::make_unique<Diagnostics>(diagnostics, frames));
  llvm::Module code("tlxjit", context);
  code.setTargetTriple((*machine)->getTargetTriple());
  code.setDataLayout((*machine)->createDataLayout());
  if (!emit(module, code, vector_bits(*builder))) return;

  std::string fault;
  llvm::raw_string_ostream out(fault);
  if (llvm::verifyModule(code, &out)) return stop(TLXJIT_CPU_COMPILER, "the emitted code is invalid: " + fault);
  optimise(code, **machine);
  llvm::SmallVector<char, 0> bytes;
  llvm::raw_svector_ostream object(bytes);
  llvm::legacy::PassManager passes;
  if ((*machine)->addPassesToEmitFile(passes, object, nullptr, llvm::CodeGenFileType::ObjectFile))
    return stop(TLXJIT_CPU_COMPILER, "LLVM cannot write objects for this host");
  passes.run(code);
  if (!diagnostics.empty()) return stop(TLXJIT_CPU_COMPILER, diagnostics);
  if (!size_stacks(frames)) return;
  link(std::move(*builder), std::make_unique<llvm::SmallVectorMemoryBuffer>(std::move(bytes), false));
}

/// A task calls at most one function of its own at a time, a dot.
bool Compilation::size_stacks(const std::map<std::string, uint64_t>& frames) {
  uint64_t largest = 0;
  std::vector<uint64_t> of_task(program.tasks.size(), 0);
  for (const auto& [name, bytes] : frames) {
    bool is_task = false;
    for (size_t i = 0; i < of_task.size() && !is_task; ++i)
      if (name == task_name(i)) of_task[i] = bytes, is_task = true;
    if (!is_task) largest = std::max(largest, bytes);
  }
  for (size_t i = 0; i < of_task.size(); ++i) {
    program.tasks[i].stack_bytes = StackPool::size_for(of_task[i] + largest);
    if (program.tasks[i].stack_bytes != 0) continue;
    stop(TLXJIT_CPU_UNSUPPORTED,
         "a task needs " + std::to_string(of_task[i] + largest) + " bytes of stack: split it, or use loops",
         program.tasks[i].op);
    return false;
  }
  return true;
}

void Compilation::link(llvm::orc::JITTargetMachineBuilder builder, std::unique_ptr<llvm::MemoryBuffer> object) {
  namespace orc = llvm::orc;
  auto failed = [&](llvm::Error error) { stop(TLXJIT_CPU_COMPILER, llvm::toString(std::move(error))); };
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
  if (!jit) return failed(jit.takeError());
  (*jit)->getExecutionSession().setErrorReporter([](llvm::Error error) { llvm::consumeError(std::move(error)); });
  orc::SymbolMap symbols;
  auto add = [&](const char* name, auto* fn) {
    symbols[(*jit)->mangleAndIntern(name)] = {orc::ExecutorAddr::fromPtr(fn),
                                              llvm::JITSymbolFlags::Exported | llvm::JITSymbolFlags::Callable};
  };
  add("tlxjit_cpu_wait", &tlxjit_cpu_wait);
  add("tlxjit_cpu_outside", &tlxjit_cpu_outside);
  add("tlxjit_cpu_copy", &tlxjit_cpu_copy);
  add("memcpy", static_cast<void* (*)(void*, const void*, size_t)>(&std::memcpy));
  add("memmove", static_cast<void* (*)(void*, const void*, size_t)>(&std::memmove));
  add("memset", static_cast<void* (*)(void*, int, size_t)>(&std::memset));
  add("__extendhfsf2", &__extendhfsf2);
  add("__truncsfhf2", &__truncsfhf2);
  add("__truncdfhf2", &__truncdfhf2);
  if (auto error = (*jit)->getMainJITDylib().define(orc::absoluteSymbols(std::move(symbols))))
    return failed(std::move(error));
  if (auto error = (*jit)->addObjectFile(std::move(object))) return failed(std::move(error));
  for (size_t i = 0; i < program.tasks.size(); ++i) {
    auto address = (*jit)->lookup(task_name(i));
    if (!address) return failed(address.takeError());
    program.tasks[i].entry = address->toPtr<TaskFunction>();
  }
  program.code = std::shared_ptr<orc::LLJIT>(std::move(*jit));
}

/// LLVM's own tables, once in a process. The guard stands inside call_once: a jump out of it would leave the flag
/// taken, and every later compile would wait for ever.
bool initialise(std::string& message) {
  static std::once_flag once;
  static bool whole = false;
  static auto* const why = new std::string;
  std::call_once(once, [] {
    whole = guarded(
        [](void*) {
          llvm::InitializeNativeTarget();
          llvm::InitializeNativeTargetAsmPrinter();
        },
        nullptr, *why);
  });
  if (!whole) message = *why;
  return whole;
}

void run_compilation(void* data) { static_cast<Compilation*>(data)->run(); }

}  // namespace

tlxjit_cpu_status compile(std::string_view text, Program& program, tlxjit_cpu_failure& failure) {
  Compilation compilation{text, program, failure};
  std::string message;
  if (!initialise(message) || !guarded(run_compilation, &compilation, message))
    compilation.stop(TLXJIT_CPU_COMPILER, "LLVM gave up: " + message);
  return compilation.status;
}

const char* cpu_name() {
  static const auto* name = new std::string(llvm::sys::getHostCPUName());
  return name->c_str();
}

}  // namespace cpu
TLXJIT_NAMESPACE_END
