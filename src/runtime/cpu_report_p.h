// src/runtime/cpu_report_p.h — failures of the CPU plug-in as errors with the user's lines.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <string>

#include "src/runtime/cpu_plugin_p.h"
#include "tlxjit/core/result.h"
#include "tlxjit/ir/module.h"

TLXJIT_NAMESPACE_BEGIN
namespace runtime {

/// The error that a failure stands for. Ops are numbered as in numbered_ops(module), the lowered module. A
/// deadlock's log has a line for each instance that waits:
///
///     program 0: consumer (replica 1) waits for phase 0 of `full`, slot 2: 1 arrival and 32768 bytes missing;
///     kernel.cpp:12
Error cpu_error(const Module& module, const tlxjit_cpu_failure& failure, Stage stage);

/// What a `print` op says: `kernel task of program 3: text`, with the values in their places.
std::string printed_line(const Module& module, uint32_t op, const tlxjit_cpu_place& at, const void* const* values);

}  // namespace runtime
TLXJIT_NAMESPACE_END
