// backends/cpu/link_p.h — an object file to code in memory.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <llvm/ExecutionEngine/Orc/JITTargetMachineBuilder.h>
#include <llvm/Support/MemoryBuffer.h>

#include <memory>
#include <string>

#include "backends/cpu/lane_p.h"

TLXJIT_NAMESPACE_BEGIN
namespace cpu {

/// The name of the function of the program's task number i.
std::string task_name(size_t i);

/// Links the object and fills in the tasks' entries and the code that holds them.
llvm::Error link(llvm::orc::JITTargetMachineBuilder builder, std::unique_ptr<llvm::MemoryBuffer> object,
                 Program& program);

}  // namespace cpu
TLXJIT_NAMESPACE_END
