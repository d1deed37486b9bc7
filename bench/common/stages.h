// bench/common/stages.h — from a kernel to a cubin, stage by stage, without the runtime.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "backends/nvidia/emit/emit_p.h"
#include "backends/nvidia/nvrtc_p.h"
#include "backends/nvidia/ptxas_log_p.h"
#include "backends/nvidia/sass_p.h"
#include "tlxjit/builder/kernel.h"

namespace tlxjit::bench {

struct StageTimes {
  double build_ms = 0;   ///< the builder's calls
  double verify_ms = 0;  ///< Kernel::module(): the verifier and a copy
  double lower_ms = 0;
  double emit_ms = 0;
  double total_ms() const { return build_ms + verify_ms + lower_ms + emit_ms; }
};

/// A kernel as CUDA C++ for sm_90a.
struct Generated {
  Module lowered;
  nvidia::EmittedKernel emitted;
  std::string code;  ///< code_hash of source and launch attributes
};

Result<Generated> generate(const std::function<Kernel()>& build, StageTimes* times = nullptr);

/// What NVRTC made of a source, and what can be read off it.
struct CompiledCode {
  std::string entry;
  std::vector<char> cubin;
  double cpu_ms = 0;
  nvidia::PtxasReport ptxas;
  nvidia::SassReport sass;
};

/// With the options that the library uses, for ours and for peers alike.
Result<CompiledCode> compile_source(const nvidia::Nvrtc& nvrtc, const std::string& source, const std::string& entry);

/// NVRTC by TLXJIT_NVRTC_DIR, else where the library looks.
Result<std::shared_ptr<nvidia::Nvrtc>> open_nvrtc();

/// A column of `print_code`.
struct CodeColumn {
  std::string name;
  const CompiledCode* code = nullptr;
};

/// Registers, spills, ptxas's remarks and instruction counts, side by side.
void print_code(const std::vector<CodeColumn>& columns);

/// Keeps `<folder>/<name>.cu` and `.cubin`; nothing when folder is "".
void dump(const std::string& folder, const std::string& name, const std::string& source, const CompiledCode& code);

/// Prints the error with what was being done.
void print_error(const std::string& doing, const Error& error);

}  // namespace tlxjit::bench
