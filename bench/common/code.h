// bench/common/code.h — kernels as NVRTC made them, ours and the prototypes', and what can be read off them.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "backends/nvidia/nvrtc_p.h"
#include "backends/nvidia/ptxas_log_p.h"
#include "backends/nvidia/sass_p.h"
#include "tlxjit/runtime/executable.h"

namespace tlxjit::bench {

/// A kernel for sm_90a.
struct Code {
  std::string source;
  std::vector<char> cubin;
  nvidia::PtxasReport ptxas;
  nvidia::SassReport sass;
  double cpu_ms = 0;  ///< of NVRTC; 0 where the runtime called it
};

/// What the runtime compiled for an NVIDIA device.
Result<Code> code_of(const Executable& executable);

/// With the options that the library uses.
Result<Code> compile_source(const nvidia::Nvrtc& nvrtc, const std::string& source, const std::string& name);

/// NVRTC by TLXJIT_NVRTC_DIR, else where the library looks: the one that the runtime uses.
Result<std::shared_ptr<nvidia::Nvrtc>> open_nvrtc();

/// A column of `print_code`.
struct CodeColumn {
  std::string name;
  const Code* code = nullptr;
};

/// Registers, spills, ptxas's remarks and instruction counts, side by side.
void print_code(const std::vector<CodeColumn>& columns);

/// Keeps `<folder>/<name>.cu` and `.cubin`; nothing when folder is "".
void dump(const std::string& folder, const std::string& name, const Code& code);

/// Prints the error with what was being done.
void print_error(const std::string& doing, const Error& error);

}  // namespace tlxjit::bench
