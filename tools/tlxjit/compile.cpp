// tools/tlxjit/compile.cpp — `tlxjit compile`: a kernel as portable or lowered text, source, PTX or cubin.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fmt/format.h>
#include <unistd.h>

#include "backends/nvidia/emit/emit_p.h"
#include "backends/nvidia/nvrtc_p.h"
#include "src/runtime/guard_p.h"
#include "src/runtime/options_p.h"
#include "src/runtime/registry_p.h"
#include "tlxjit/ir/text.h"
#include "tools/tlxjit/commands.h"
#include "tools/tlxjit/files.h"
#include "tools/tlxjit/kernel_file.h"

namespace tlxjit::cli {

namespace {

Error unsupported(std::string message) {
  return runtime::error_of(ErrorKind::user, Stage::emit, ErrorCode::unsupported, std::move(message));
}

std::string notes_of(const CompileReport& report) {
  std::string text =
      fmt::format("{} registers, spills {} bytes stored, {} bytes loaded, stack {} bytes\n", report.registers,
                  report.spill_store_bytes, report.spill_load_bytes, report.stack_bytes);
  for (const std::string& line : report.diagnostics) text += "slower than written: " + line + "\n";
  for (const std::string& line : report.remarks) text += "remark: " + line + "\n";
  return text;
}

/// One compile: what is written, and what is told of it.
class Compile {
 public:
  Compile(const CompileCommand& command, const CommonOptions& common) : command_(command), common_(common) {}

  Result<Report> run() {
    auto module = read_kernel(command_.file);
    if (!module) return module.error();
    report_.json["kernel"] = module->name;
    if (command_.to == "portable") {
      if (module->level != Level::portable)
        return unsupported("the kernel is lowered for " + module->target + "; there is no way back to portable text");
      artefact_ = print(*module, command_.locations);
    } else {
      TLXJIT_TRY(for_target(*module));
    }
    TLXJIT_TRY(deliver());
    return std::move(report_);
  }

 private:
  Result<void> for_target(const Module& module) {
    const std::string target = target_of(module, command_.target, "cpu");
    const std::string& to = command_.to;
    if (to == "hsaco") return unsupported("hsaco comes later, with a back end for AMD; today: " + forms(target));
    auto lowered = lower_for(module, target);
    if (!lowered) return lowered.error();
    lowered_ = std::move(*lowered);
    facts();
    if (to == "lowered") {
      artefact_ = print(lowered_->module, command_.locations);
      return {};
    }
    if (to == "llvm-ir") return llvm_ir(target);
    if (!to.empty() && !lowered_->target.tensor_maps)
      return unsupported(fmt::format("{} has no {}: {}", target, to, forms(target)));
    if (to == "source") return source();
    if (to == "ptx") return ptx();
    return binary(module, target);
  }

  static std::string forms(const std::string& target) {
    return target == "cpu" ? "--to portable, lowered or llvm-ir, or --target sm_90a"
                           : "portable, lowered, source, ptx, cubin";
  }

  /// What is known without a compiler.
  void facts() {
    const Abi& abi = lowered_->abi;
    Json& json = report_.json;
    json["target"] = lowered_->target.name;
    json["signature"] = lowered_->plan.signature();
    json["resources"] = {{"threads", abi.threads},
                         {"shared_bytes", abi.shared_bytes},
                         {"workspace_words", abi.workspace_words},
                         {"tensor_maps", abi.maps.size()},
                         {"ops", numbered_ops(lowered_->module).size()}};
    json["times_ms"] = json_of(lowered_->times);
    report_.notes = fmt::format("{} for {}: {} threads, {} of shared memory, {}\n", lowered_->plan.signature(),
                                lowered_->target.name, abi.threads, bytes_text(static_cast<uint64_t>(abi.shared_bytes)),
                                count_text(abi.maps.size(), "tensor map"));
  }

  Result<void> source() {
    auto emitted = nvidia::emit_cuda(lowered_->module);
    if (!emitted) return emitted.error();
    artefact_ = std::move(emitted->source);
    return {};
  }

  Result<void> ptx() {
    TLXJIT_TRY(source());
    nvidia::NvrtcSearch search;
    EngineOptions engine = common_.engine();
    std::vector<std::string> faults;  // of values that have nothing to do with it
    runtime::read_environment(engine, faults);
    search.directories = std::move(engine.nvrtc_directories);
    auto nvrtc = nvidia::Nvrtc::load(search);
    if (!nvrtc) return nvrtc.error();
    nvidia::NvrtcOptions options;
    options.ptx = true;
    options.lineinfo = command_.lineinfo;
    auto made = (*nvrtc)->compile(artefact_, lowered_->module.name, lowered_->target.name, options);
    if (!made) return made.error();
    artefact_ = std::move(made->ptx);
    return {};
  }

  Result<void> llvm_ir(const std::string& target) {
    if (lowered_->target.tensor_maps) return unsupported(fmt::format("{} has no llvm-ir: {}", target, forms(target)));
    runtime::Registry registry(common_.engine());
    auto device = registry.open(target);
    if (!device) return device.error();
    runtime::CompileInput input{lowered_->module, lowered_->abi};
    input.source = true;
    auto compiled = (*device)->compile(input);
    if (!compiled) return compiled.error();
    artefact_ = std::move(compiled->source);
    return {};
  }

  /// The engine's own compile, so that its report and its errors are those that a program gets.
  Result<void> binary(const Module& module, const std::string& target) {
    EngineOptions engine_options = common_.engine();
    engine_options.disk_cache = false;  // what the compiler says is what is asked for
    const Engine engine(std::move(engine_options));
    auto device = engine.device(target);
    if (!device) return device.error();
    tlxjit::CompileOptions options;
    options.lineinfo = command_.lineinfo;
    options.time_limit = std::chrono::milliseconds(command_.time_limit_ms);
    auto executable = engine.compile(module, *device, options);
    if (!executable) return executable.error();
    artefact_.assign(executable->binary().begin(), executable->binary().end());
    is_binary_ = true;
    report_.json["report"] = json_of(executable->report());
    report_.json["times_ms"] = json_of(executable->times());
    if (lowered_->target.tensor_maps) report_.notes += notes_of(executable->report());
    report_.notes += "compiled in " + time_text(executable->times().total()) + "\n";
    return {};
  }

  Result<void> deliver() {
    if (command_.to.empty()) return {};
    report_.json["to"] = command_.to;
    report_.json["bytes"] = artefact_.size();
    if (!command_.output.empty() && command_.output != "-") {
      TLXJIT_TRY(write_file(command_.output, artefact_));
      report_.json["file"] = command_.output;
    } else if (is_binary_ && (common_.json || isatty(STDOUT_FILENO))) {
      return runtime::error_of(ErrorKind::user, Stage::emit, ErrorCode::bad_argument,
                               "a cubin is no text to be shown: name its file with -o");
    } else if (common_.json) {
      report_.json["text"] = artefact_;
    } else {
      report_.text = std::move(artefact_);
    }
    return {};
  }

  const CompileCommand& command_;
  const CommonOptions& common_;
  Report report_;
  std::unique_ptr<Lowered> lowered_;
  std::string artefact_;
  bool is_binary_ = false;
};

}  // namespace

Result<Report> compile(const CompileCommand& command, const CommonOptions& common) {
  return Compile(command, common).run();
}

}  // namespace tlxjit::cli
