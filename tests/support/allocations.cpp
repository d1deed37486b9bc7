// tests/support/allocations.cpp — operator new that counts, and fails when it is told to.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tests/support/allocations.h"

#include <cstdlib>
#include <new>

#include "backends/cpu/sanitizers_p.h"

static thread_local int allocations = 0, allowed = -1;

int tlxjit::allocations_so_far() { return allocations; }
void tlxjit::allow_allocations(int count) { allowed = count; }

#if TLXJIT_TSAN
// Its run time has an operator new, which a program cannot replace in part.
extern "C" TLXJIT_UNSEEN_BY_TSAN void __sanitizer_malloc_hook(const volatile void*, size_t) { ++allocations; }
#else
void* operator new(size_t size) {
  ++allocations;
  if (allowed == 0) throw std::bad_alloc();
  if (allowed > 0) --allowed;
  if (void* p = std::malloc(size ? size : 1)) return p;
  throw std::bad_alloc();
}
void operator delete(void* p) noexcept { std::free(p); }
void operator delete(void* p, size_t) noexcept { std::free(p); }
#endif
