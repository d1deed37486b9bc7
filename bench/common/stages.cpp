// bench/common/stages.cpp — build, verify, lower, emit, compile, each timed.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "bench/common/stages.h"

#include <fmt/format.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>

#include "bench/common/report.h"
#include "src/passes/lower_p.h"

namespace tlxjit::bench {

Result<Generated> generate(const std::function<Kernel()>& build, StageTimes* times) {
  using Clock = std::chrono::steady_clock;
  auto last = Clock::now();
  const auto lap = [&](double StageTimes::* stage) {
    const auto now = Clock::now();
    if (times) times->*stage = std::chrono::duration<double, std::milli>(now - last).count();
    last = Clock::now();
  };
  const Kernel kernel = build();
  lap(&StageTimes::build_ms);
  auto portable = kernel.module();
  if (!portable) return portable.error();
  lap(&StageTimes::verify_ms);
  auto target = find_target("sm_90a");
  if (!target) return target.error();
  auto lowered = lower(*portable, *target);
  if (!lowered) return lowered.error();
  lap(&StageTimes::lower_ms);
  auto emitted = nvidia::emit_cuda(*lowered);
  if (!emitted) return emitted.error();
  lap(&StageTimes::emit_ms);
  const Abi& abi = emitted->abi;
  std::string code = code_hash(emitted->source, fmt::format("threads={} shared={} workspace={}", abi.threads,
                                                            abi.shared_bytes, abi.workspace_words));
  return Generated{std::move(*lowered), std::move(*emitted), std::move(code)};
}

Result<CompiledCode> compile_source(const nvidia::Nvrtc& nvrtc, const std::string& source, const std::string& entry) {
  auto made = nvrtc.compile(source, entry + ".cu", "sm_90a");
  if (!made) return made.error();
  CompiledCode code;
  code.entry = entry;
  code.cubin = std::move(made->cubin);
  code.cpu_ms = made->cpu_ms;
  code.ptxas = nvidia::parse_ptxas_log(made->log);
  auto sass = nvidia::inspect_cubin(code.cubin, entry);
  if (!sass) return sass.error();
  code.sass = std::move(*sass);
  return code;
}

Result<std::shared_ptr<nvidia::Nvrtc>> open_nvrtc() {
  nvidia::NvrtcSearch search;
  if (const char* folder = std::getenv("TLXJIT_NVRTC_DIR"); folder && *folder) search.directories.push_back(folder);
  return nvidia::Nvrtc::load(search);
}

void print_code(const std::vector<CodeColumn>& columns) {
  fmt::print("{:<22}", "code");
  for (const CodeColumn& c : columns) fmt::print(" {:>16}", c.name);
  const auto row = [&](const char* label, auto&& value) {
    fmt::print("\n{:<22}", label);
    for (const CodeColumn& c : columns) fmt::print(" {:>16}", value(*c.code));
  };
  row("registers at launch", [](const CompiledCode& c) { return c.ptxas.registers; });
  row("spill bytes", [](const CompiledCode& c) { return c.ptxas.spill_store_bytes + c.ptxas.spill_load_bytes; });
  row("stack bytes", [](const CompiledCode& c) { return c.ptxas.stack_bytes; });
  row("instructions", [](const CompiledCode& c) { return c.sass.instructions; });
  row("loops with HGMMA", [](const CompiledCode& c) { return c.sass.mma_loops; });
  static const char* const mnemonics[] = {"HGMMA", "R2UR", "WARPSYNC", "MEMBAR", "BAR",  "SYNCS", "MUFU", "FFMA",
                                          "FMUL",  "FADD", "FMNMX",    "F2FP",   "SHFL", "MOV",   "IMAD", "STSM"};
  for (const char* m : mnemonics)
    row(m,
        [m](const CompiledCode& c) { return fmt::format("{} ({})", c.sass.count(m), c.sass.count_in_mma_loops(m)); });
  row("NVRTC cpu ms", [](const CompiledCode& c) { return fmt::format("{:.0f}", c.cpu_ms); });
  fmt::print("\n(in brackets: within innermost loops that hold an HGMMA)\n");
  for (const CodeColumn& c : columns) {
    if (!c.code->ptxas.clean()) fmt::print("{}: NOT CLEAN: spills, stack, setmaxnreg or wgmma\n", c.name);
    for (const std::string& remark : c.code->ptxas.remarks) fmt::print("{}: {}\n", c.name, remark);
  }
  std::fflush(stdout);
}

void dump(const std::string& folder, const std::string& name, const std::string& source, const CompiledCode& code) {
  if (folder.empty()) return;
  std::error_code ignored;
  std::filesystem::create_directories(folder, ignored);
  std::ofstream(folder + "/" + name + ".cu") << source;
  std::ofstream(folder + "/" + name + ".cubin", std::ios::binary)
      .write(code.cubin.data(), static_cast<std::streamsize>(code.cubin.size()));
}

void print_error(const std::string& doing, const Error& error) {
  fmt::print(stderr, "ERROR {}: {}\n", doing, to_string(error));
  std::fflush(stderr);
}

}  // namespace tlxjit::bench
