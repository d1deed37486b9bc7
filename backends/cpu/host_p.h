// backends/cpu/host_p.h — the CPU that code is made for.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <llvm/ExecutionEngine/Orc/JITTargetMachineBuilder.h>

#include <string_view>

#include "tlxjit/core/export.h"

TLXJIT_NAMESPACE_BEGIN
namespace cpu {

/// Its name, for people and for scheduling; a string that lives for ever.
const char* cpu_name();
/// `+avx2,-avx512f,…`: every feature that LLVM looks for, sorted by name. What the system does not let programs use,
/// say because it does not save the registers, counts as not there. A string that lives for ever.
const char* cpu_features();

/// The host without the features named (separated by commas). An error names one that there is not.
llvm::Expected<llvm::orc::JITTargetMachineBuilder> host_machine(std::string_view without);

/// Bits of the widest vector registers.
int vector_bits(const llvm::TargetMachine& machine);

}  // namespace cpu
TLXJIT_NAMESPACE_END
