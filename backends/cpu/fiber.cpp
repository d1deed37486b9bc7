// backends/cpu/fiber.cpp — fibers on pooled stacks with guard pages.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/cpu/fiber_p.h"

#include <sys/mman.h>
#include <unistd.h>

#include <boost/context/detail/fcontext.hpp>
#include <cstdlib>
#include <new>

TLXJIT_NAMESPACE_BEGIN
namespace cpu {
namespace {

using boost::context::detail::jump_fcontext;
using boost::context::detail::make_fcontext;
using boost::context::detail::transfer_t;

size_t page() {
  const long bytes = sysconf(_SC_PAGESIZE);
  return bytes > 0 ? static_cast<size_t>(bytes) : 4096;
}

void* bottom(void* top, size_t bytes) { return static_cast<char*>(top) - bytes - page(); }

void body(transfer_t from) {
  auto* context = static_cast<Context*>(from.data);
  context->scheduler = from.fctx;
  context->entry(context, context->replica);
  context->done = true;
  jump_fcontext(context->scheduler, nullptr);  // never comes back
}

}  // namespace

StackPool::~StackPool() {
  for (auto& [bytes, tops] : free_)
    for (void* top : tops) munmap(bottom(top, bytes), bytes + page());
}

size_t StackPool::size_for(size_t frame_bytes) {
  constexpr size_t least = size_t{256} << 10, most = size_t{64} << 20, spare = size_t{64} << 10;
  if (frame_bytes > most - spare) return 0;
  size_t bytes = least;
  while (bytes < frame_bytes + spare) bytes *= 2;
  return bytes;
}

void* StackPool::take(size_t bytes) {
  {
    std::lock_guard lock(mutex_);
    std::vector<void*>& tops = free_[bytes];
    if (!tops.empty()) {
      void* top = tops.back();
      tops.pop_back();
      return top;
    }
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

void StackPool::give(void* top, size_t bytes) {
  std::lock_guard lock(mutex_);
  free_[bytes].push_back(top);
}

void start(Context& context) {
  context.done = false;
  context.waiting = {};
  context.outside = {};
  context.fiber = make_fcontext(context.stack, context.stack_bytes, body);
}

void resume(Context& context) {
  const transfer_t back = jump_fcontext(context.fiber, &context);
  context.fiber = back.fctx;
}

extern "C" void tlxjit_cpu_wait(Context* context, const Barrier* barrier, int32_t parity, int32_t slot,
                                uint32_t wait_op, uint32_t barrier_op) {
  context->waiting = {barrier, parity, slot, wait_op, barrier_op};
  const transfer_t back = jump_fcontext(context->scheduler, context);
  context->scheduler = back.fctx;
}

extern "C" void tlxjit_cpu_outside(Context* context, int64_t index, int64_t count, uint32_t op) {
  context->outside = {index, count, op, true};
  jump_fcontext(context->scheduler, nullptr);
  std::abort();  // it is never resumed
}

}  // namespace cpu
TLXJIT_NAMESPACE_END
