// backends/cpu/link_p.h — an object file to code in memory.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <llvm/Support/Error.h>

#include <span>
#include <string>

#include "backends/cpu/lane_p.h"

TLXJIT_NAMESPACE_BEGIN
namespace cpu {

/// The name of the function of the program's task number i.
std::string task_name(size_t i);

/// Links the object, which begins at a multiple of 16, and fills in the tasks' entries and the code that holds them.
/// Where the system has no memory for it, which is no fault of the object: std::bad_alloc.
/// Nothing is shared between kernels, so that threads link at once and a forked child finds no lock taken.
llvm::Error link(std::span<const char> object, Program& program);

/// Whether the system lets this process run code that it has written. If not, why: a sentence of what was refused, and
/// by which policies.
bool may_make_code(std::string& why);

}  // namespace cpu
TLXJIT_NAMESPACE_END
