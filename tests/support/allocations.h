// tests/support/allocations.h — how often this thread has allocated, and how often it may.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

namespace tlxjit {

/// Calls of operator new in this thread so far. A test that links allocations.cpp replaces operator new; it is
/// a file of its own because GCC warns of a replacement that it can inline.
int allocations_so_far();
/// From here on this thread's first `count` calls succeed and the others throw std::bad_alloc; −1: all succeed.
void allow_allocations(int count);

}  // namespace tlxjit
