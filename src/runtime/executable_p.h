// src/runtime/executable_p.h — what an Executable points to.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "src/runtime/call_plan_p.h"

TLXJIT_NAMESPACE_BEGIN
namespace runtime {

/// Never moves: the plan and the kernel point to the module and the ABI.
struct ExecutableState {
  explicit ExecutableState(Device d) : device(std::move(d)) {}
  ExecutableState(const ExecutableState&) = delete;
  ExecutableState& operator=(const ExecutableState&) = delete;

  Device device;
  Module module;  // lowered
  Abi abi;
  CallPlan plan;
  Resources resources;
  StageTimes times;
  CompiledKernel compiled;
};

}  // namespace runtime
TLXJIT_NAMESPACE_END
