// bench/common/code.cpp — compiles sources, reads cubins, prints figures.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "bench/common/code.h"

#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace tlxjit::bench {
namespace {

Result<Code> code_from(std::string source, std::vector<char> cubin, const std::string& log) {
  Code code;
  auto sass = nvidia::inspect_cubin(cubin);
  if (!sass) return sass.error();
  code.sass = std::move(*sass);
  code.ptxas = nvidia::parse_ptxas_log(log);
  code.source = std::move(source);
  code.cubin = std::move(cubin);
  return code;
}

}  // namespace

Result<Code> code_of(const Executable& executable) {
  const auto binary = executable.binary();
  return code_from(executable.source(), {binary.begin(), binary.end()}, executable.report().log);
}

Result<Code> compile_source(const nvidia::Nvrtc& nvrtc, const std::string& source, const std::string& name) {
  auto made = nvrtc.compile(source, name, "sm_90a");
  if (!made) return made.error();
  auto code = code_from(source, std::move(made->cubin), made->log);
  if (code) code->cpu_ms = made->cpu_ms;
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
  row("registers at launch", [](const Code& c) { return c.ptxas.registers; });
  row("spill bytes", [](const Code& c) { return c.ptxas.spill_store_bytes + c.ptxas.spill_load_bytes; });
  row("stack bytes", [](const Code& c) { return c.ptxas.stack_bytes; });
  row("instructions", [](const Code& c) { return c.sass.instructions; });
  row("loops with HGMMA", [](const Code& c) { return c.sass.mma_loops; });
  static const char* const mnemonics[] = {"HGMMA", "R2UR", "WARPSYNC", "MEMBAR", "BAR",  "SYNCS", "MUFU", "FFMA",
                                          "FMUL",  "FADD", "FMNMX",    "F2FP",   "SHFL", "MOV",   "IMAD", "STSM"};
  for (const char* m : mnemonics)
    row(m, [m](const Code& c) { return fmt::format("{} ({})", c.sass.count(m), c.sass.count_in_mma_loops(m)); });
  fmt::print("\n(in brackets: within innermost loops that hold an HGMMA)\n");
  for (const CodeColumn& c : columns) {
    if (!c.code->ptxas.clean()) fmt::print("{}: NOT CLEAN: spills, stack, setmaxnreg or wgmma\n", c.name);
    for (const std::string& remark : c.code->ptxas.remarks) fmt::print("{}: {}\n", c.name, remark);
  }
  std::fflush(stdout);
}

void dump(const std::string& folder, const std::string& name, const Code& code) {
  if (folder.empty()) return;
  std::error_code ignored;
  std::filesystem::create_directories(folder, ignored);
  std::ofstream(folder + "/" + name + ".cu") << code.source;
  std::ofstream(folder + "/" + name + ".cubin", std::ios::binary)
      .write(code.cubin.data(), static_cast<std::streamsize>(code.cubin.size()));
}

void print_error(const std::string& doing, const Error& error) {
  fmt::print(stderr, "ERROR {}: {}\n", doing, to_string(error));
  std::fflush(stderr);
}

}  // namespace tlxjit::bench
