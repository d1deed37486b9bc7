// backends/cpu/compile.cpp — the text of lowered IR to machine code in memory: parse, emit, optimise, link.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/cpu/compile_p.h"

#include <llvm/IR/DiagnosticInfo.h>
#include <llvm/IR/DiagnosticPrinter.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/OptBisect.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Support/VirtualFileSystem.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/Transforms/InstCombine/InstCombine.h>
#include <llvm/Transforms/Scalar/DCE.h>
#include <llvm/Transforms/Scalar/EarlyCSE.h>
#include <llvm/Transforms/Scalar/LICM.h>
#include <llvm/Transforms/Scalar/LoopPassManager.h>
#include <llvm/Transforms/Scalar/SimplifyCFG.h>
#include <llvm/Transforms/Utils/Mem2Reg.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>

#include "backends/cpu/emit/emitter_p.h"
#include "backends/cpu/executor_p.h"
#include "backends/cpu/host_p.h"
#include "backends/cpu/image_p.h"
#include "backends/cpu/instrument_p.h"
#include "backends/cpu/link_p.h"
#include "backends/cpu/llvm_guard_p.h"
#include "src/ir/ring_barriers_p.h"
#include "tlxjit/ir/text.h"
#include "tlxjit/ir/verify.h"

TLXJIT_NAMESPACE_BEGIN
namespace cpu {
namespace {

/// Collects LLVM's diagnostics, and the size of each function's stack frame; its own handler would print them and exit.
struct Diagnostics final : llvm::DiagnosticHandler {
  Diagnostics(std::string& text, std::map<std::string, uint64_t>& frames, uint32_t& inline_op)
      : text(text), frames(frames), inline_op(inline_op) {}
  bool handleDiagnostics(const llvm::DiagnosticInfo& info) override {
    if (const auto* frame = llvm::dyn_cast<llvm::DiagnosticInfoStackSize>(&info))
      frames[frame->getFunction().getName().str()] = frame->getStackSize();
    if (info.getSeverity() != llvm::DS_Error) return true;
    // Inline text carries the number of its op, plus 1.
    uint64_t cookie = 0;
    if (const auto* parsed = llvm::dyn_cast<llvm::DiagnosticInfoSrcMgr>(&info)) cookie = parsed->getLocCookie();
    if (const auto* selected = llvm::dyn_cast<llvm::DiagnosticInfoInlineAsm>(&info)) cookie = selected->getLocCookie();
    if (cookie != 0) inline_op = static_cast<uint32_t>(cookie - 1);
    llvm::raw_string_ostream out(text);
    llvm::DiagnosticPrinterRawOStream printer(out);
    info.print(printer);
    out << '\n';
    return true;
  }
  std::string& text;
  std::map<std::string, uint64_t>& frames;
  uint32_t& inline_op;
};

/// Leaves loop strength reduction out. For each address of a loop it walks over the blocks before it, so that its time
/// grows with the square of the loops that stand one after the other: half the time of a kernel of 400 tiles.
class WithoutStrengthReduction final : public llvm::OptPassGate {
 public:
  static constexpr size_t most_blocks = 512;  // a function of more is compiled so

  static bool suits(const llvm::Module& code) {
    return std::any_of(code.begin(), code.end(), [](const llvm::Function& fn) { return fn.size() > most_blocks; });
  }
  bool shouldRunPass(llvm::StringRef pass, llvm::StringRef) const override { return pass != "Loop Strength Reduction"; }
  bool isEnabled() const override { return true; }
};

std::atomic<uint64_t> generated = 0;  // objects, in this process

struct Compilation {
  std::string_view text;
  const tlxjit_cpu_options& options;
  Program& program;
  tlxjit_cpu_failure& failure;
  tlxjit_cpu_status status = TLXJIT_CPU_OK;

  std::vector<std::pair<uint32_t, std::string>> inline_ops = {};  // numbers and texts

  void stop(tlxjit_cpu_status s, const std::string& message, uint32_t op = UINT32_MAX) {
    status = fail(failure, s, message.c_str(), op);
  }
  void stop_llvm(const std::string& message);
  void run();
  void build(const Module& module);
  void stop_link(const std::string& message);
  bool size_stacks(const std::map<std::string, uint64_t>& frames);
  bool emit(const Module& module, llvm::Module& code, int vector_bits);
};

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
  instrument(code, modules);
}

void Compilation::run() {
  auto module = parse(text);
  if (!module) return stop(TLXJIT_CPU_BAD_TEXT, module.error().message);
  if (module->level != Level::lowered)
    return stop(TLXJIT_CPU_BAD_TEXT, "the text is portable IR; the plug-in reads lowered IR");
  if (const auto faults = verify(*module); !faults.empty()) return stop(TLXJIT_CPU_BAD_TEXT, faults[0].message);
  build(*module);
}

/// LLVM refused the code. All but the inline text is ours: where there is some, it is at fault, that of the op from
/// whose text LLVM names a word, if there is one.
void Compilation::stop_llvm(const std::string& message) {
  if (inline_ops.empty()) return stop(TLXJIT_CPU_COMPILER, message);
  const auto in_word = [](char c) { return c == '_' || c == '.' || llvm::isAlnum(c); };
  const auto named = [&](const auto& op) {
    for (auto at = message.begin(); at != message.end();) {
      at = std::find_if(at, message.end(), in_word);
      const auto end = std::find_if_not(at, message.end(), in_word);
      if (end - at > 3 && op.second.find(std::string(at, end)) != std::string::npos) return true;
      at = end;
    }
    return false;
  };
  const auto found = std::find_if(inline_ops.begin(), inline_ops.end(), named);
  stop(TLXJIT_CPU_INLINE, message, (found == inline_ops.end() ? inline_ops.front() : *found).first);
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
  walk(module.body, [&](const Op& op) {
    if (op.code == OpCode::inline_text) inline_ops.emplace_back(unit->number.at(&op), op.attrs.text("text"));
  });
  for (const auto& op : module.body.ops) {
    if (op->code != OpCode::task) continue;
    try {
      TaskCode task;
      task.op = unit->number.at(op.get());
      task.replicas = static_cast<int32_t>(op->attrs.integer("replicas", 1));
      const Arena arena = Emitter(*unit, *op).run(task_name(program.tasks.size()));
      task.arena_bytes = static_cast<size_t>(arena.size());
      task.arena_gaps = arena.gaps();
      program.tasks.push_back(task);
    } catch (const BadInlineText& e) {
      stop(TLXJIT_CPU_INLINE, e.what, number(e.op));
      return false;
    } catch (const Unsupported& e) {
      stop(TLXJIT_CPU_UNSUPPORTED, "the CPU back end lacks " + e.what, e.op ? number(e.op) : number(op.get()));
      return false;
    }
  }
  program.barrier_counts = unit->barrier_counts;
  const auto rings = ring_barriers(module);
  for (const RingBarriers& ring : *rings)
    program.rings.push_back({unit->number.at(ring.full), unit->index.at(ring.full->result()),
                             unit->index.at(ring.empty->result()),
                             static_cast<uint32_t>(module.type(ring.full->result()).slots)});
  program.shared_bytes = unit->shared_bytes;
  program.shared_gaps = unit->shared_gaps;
  program.words = unit->words;
  program.cluster = unit->cluster;
  program.resident = unit->resident;
  return true;
}

void Compilation::build(const Module& module) {
  auto builder = host_machine(options.without_features ? options.without_features : "");
  if (!builder) return stop(TLXJIT_CPU_UNSUPPORTED, llvm::toString(builder.takeError()));
  auto machine = builder->createTargetMachine();
  if (!machine) return stop(TLXJIT_CPU_COMPILER, llvm::toString(machine.takeError()));

  std::string diagnostics;
  std::map<std::string, uint64_t> frames;
  uint32_t inline_op = UINT32_MAX;
  WithoutStrengthReduction gate;
  llvm::LLVMContext context;
  context.setDiagnosticHandler(std::make_unique<Diagnostics>(diagnostics, frames, inline_op));
  llvm::Module code("tlxjit", context);
  code.setTargetTriple((*machine)->getTargetTriple());
  code.setDataLayout((*machine)->createDataLayout());
  if (!emit(module, code, vector_bits(**machine))) return;

  std::string fault;
  llvm::raw_string_ostream out(fault);
  if (llvm::verifyModule(code, &out)) return stop(TLXJIT_CPU_COMPILER, "the emitted code is invalid: " + fault);
  optimise(code, **machine);
  if (WithoutStrengthReduction::suits(code)) context.setOptPassGate(gate);
  llvm::SmallVector<char, 0> bytes;
  llvm::raw_svector_ostream object(bytes);
  llvm::legacy::PassManager passes;
  if ((*machine)->addPassesToEmitFile(passes, object, nullptr, llvm::CodeGenFileType::ObjectFile))
    return stop(TLXJIT_CPU_COMPILER, "LLVM cannot write objects for this host");
  if (options.llvm_ir) {
    std::string ir;
    llvm::raw_string_ostream(ir) << code;
    options.llvm_ir(options.llvm_ir_data, ir.data(), ir.size());
  }
  ++generated;
  passes.run(code);
  if (!diagnostics.empty()) {
    if (inline_op == UINT32_MAX) return stop_llvm(diagnostics);
    return stop(TLXJIT_CPU_INLINE, diagnostics, inline_op);
  }
  if (!size_stacks(frames)) return;
  const std::span<const char> code_bytes(bytes.data(), bytes.size());
  if (auto error = link(code_bytes, program)) return stop_link(llvm::toString(std::move(error)));
  if (options.image) {
    const std::vector<char> image = write_image(program, code_bytes);
    options.image(options.image_data, image.data(), image.size());
  }
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

void Compilation::stop_link(const std::string& message) {
  std::string why;
  if (may_make_code(why)) return stop_llvm(message);
  stop(TLXJIT_CPU_POLICY, why);
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
          llvm::InitializeNativeTargetAsmParser();
          // Counted by every PassBuilder. Made before threads share it, and kept beyond the destructors of a process
          // that ends while a compile is left behind.
          static auto* const files = new auto(llvm::vfs::getRealFileSystem());
          (void)files;
        },
        nullptr, *why);
  });
  if (!whole) message = *why;
  return whole;
}

void run_compilation(void* data) { static_cast<Compilation*>(data)->run(); }

}  // namespace

uint64_t generations() { return generated; }

tlxjit_cpu_status compile(std::string_view text, const tlxjit_cpu_options& options, Program& program,
                          tlxjit_cpu_failure& failure) {
  Compilation compilation{text, options, program, failure};
  std::string message;
  if (!initialise(message) || !guarded(run_compilation, &compilation, message))
    compilation.stop_llvm("LLVM gave up: " + message);
  return compilation.status;
}

}  // namespace cpu
TLXJIT_NAMESPACE_END
