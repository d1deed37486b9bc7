// backends/cpu/executor_p.h — runs the programs of a launch.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "backends/cpu/module_p.h"

TLXJIT_NAMESPACE_BEGIN
namespace cpu {

/// Runs all programs. After a deadlock or lack of memory no further program starts, those that run end by
/// themselves, and the workspace is zero again.
tlxjit_cpu_status launch(tlxjit_cpu_kernel& kernel, const tlxjit_cpu_launch& launch, tlxjit_cpu_failure& failure);

/// Fills the failure in.
tlxjit_cpu_status fail(tlxjit_cpu_failure& failure, tlxjit_cpu_status status, const char* message,
                       uint32_t op = UINT32_MAX);

}  // namespace cpu
TLXJIT_NAMESPACE_END
