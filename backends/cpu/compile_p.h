// backends/cpu/compile_p.h — the text of lowered IR to machine code in memory.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <string_view>

#include "backends/cpu/module_p.h"

TLXJIT_NAMESPACE_BEGIN
namespace cpu {

/// Fills the program in, or the failure.
tlxjit_cpu_status compile(std::string_view text, const tlxjit_cpu_options& options, Program& program,
                          tlxjit_cpu_failure& failure);

/// How often LLVM made an object in this process.
uint64_t generations();

}  // namespace cpu
TLXJIT_NAMESPACE_END
