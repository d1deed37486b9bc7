// backends/cpu/stack_pool.cpp — stacks with guard pages, kept for reuse.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/cpu/stack_pool_p.h"

#include <sys/mman.h>
#include <unistd.h>

#include <bit>
#include <new>

#include "backends/cpu/sanitizers_p.h"

TLXJIT_NAMESPACE_BEGIN
namespace cpu {
namespace {

size_t page() {
  const long bytes = sysconf(_SC_PAGESIZE);
  return bytes > 0 ? static_cast<size_t>(bytes) : 4096;
}

constexpr size_t kib = 1024, most = 64 * kib * kib;
constexpr size_t least = (asan || tsan ? 1024 : 256) * kib, spare = (asan || tsan ? 512 : 64) * kib;

void* bottom(void* top, size_t bytes) { return static_cast<char*>(top) - bytes - page(); }

}  // namespace

StackPool::~StackPool() {
  for (auto& [bytes, stacks] : stacks_)
    for (void* top : stacks.idle) munmap(bottom(top, bytes), bytes + page());
}

size_t StackPool::size_for(size_t frame_bytes) {
  if (frame_bytes > most - spare) return 0;
  size_t bytes = least;
  while (bytes < frame_bytes + spare) bytes *= 2;
  return bytes;
}

bool StackPool::is_size(size_t bytes) { return std::has_single_bit(bytes) && bytes >= least && bytes <= most; }

void* StackPool::take(size_t bytes) {
  {
    std::lock_guard lock(mutex_);
    Stacks& stacks = stacks_[bytes];
    if (!stacks.idle.empty()) {
      void* top = stacks.idle.back();
      stacks.idle.pop_back();
      return top;
    }
    if (stacks.idle.capacity() == stacks.made) stacks.idle.reserve(2 * stacks.made + 1);
    ++stacks.made;  // also where there is no memory for it: that reserves a place too many
  }
  const size_t all = bytes + page();
  void* base = mmap(nullptr, all, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
  if (base == MAP_FAILED) throw std::bad_alloc();
  if (mprotect(base, page(), PROT_NONE) != 0) {
    munmap(base, all);
    throw std::bad_alloc();
  }
  return static_cast<char*>(base) + all;
}

void StackPool::give(void* top, size_t bytes) noexcept {
  std::lock_guard lock(mutex_);
  stacks_.find(bytes)->second.idle.push_back(top);
}

}  // namespace cpu
TLXJIT_NAMESPACE_END
