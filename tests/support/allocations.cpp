// tests/support/allocations.cpp — operator new that counts.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tests/support/allocations.h"

#include <cstdlib>
#include <new>

static thread_local int allocations = 0;

int tlxjit::allocations_so_far() { return allocations; }

void* operator new(size_t size) {
  ++allocations;
  if (void* p = std::malloc(size ? size : 1)) return p;
  throw std::bad_alloc();
}
void operator delete(void* p) noexcept { std::free(p); }
void operator delete(void* p, size_t) noexcept { std::free(p); }
