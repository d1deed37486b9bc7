// tools/tlxjit/free_memory.h — how much memory the process may still take.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>

namespace tlxjit::cli {

/// Bytes that are free, by the system's count and by the cgroup's limit. The system grants more and ends a process that
/// uses it, which is no error that anybody can read. UINT64_MAX where nothing is told.
uint64_t free_memory();

}  // namespace tlxjit::cli
