// tests/support/allocations.h — how often this thread has allocated.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

namespace tlxjit {

/// Calls of operator new in this thread so far. A test that links allocations.cpp replaces operator new; it is
/// a file of its own because GCC warns of a replacement that it can inline.
int allocations_so_far();

}  // namespace tlxjit
