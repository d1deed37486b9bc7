// backends/cpu/fiber.cpp — fibers on pooled stacks with guard pages.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/cpu/fiber_p.h"

#include <sys/mman.h>
#include <unistd.h>

#include <boost/context/detail/fcontext.hpp>
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

void* bottom(void* top) { return static_cast<char*>(top) - StackPool::stack_bytes - page(); }

void body(transfer_t from) {
  auto* context = static_cast<Context*>(from.data);
  context->scheduler = from.fctx;
  context->entry(context, context->replica);
  context->done = true;
  jump_fcontext(context->scheduler, nullptr);  // never comes back
}

}  // namespace

StackPool::~StackPool() {
  for (void* top : free_) munmap(bottom(top), stack_bytes + page());
}

void* StackPool::take() {
  {
    std::lock_guard lock(mutex_);
    if (!free_.empty()) {
      void* top = free_.back();
      free_.pop_back();
      return top;
    }
  }
  const size_t bytes = stack_bytes + page();
  void* base = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
  if (base == MAP_FAILED) throw std::bad_alloc();
  if (mprotect(base, page(), PROT_NONE) != 0) {
    munmap(base, bytes);
    throw std::bad_alloc();
  }
  return static_cast<char*>(base) + bytes;
}

void StackPool::give(void* top) {
  std::lock_guard lock(mutex_);
  free_.push_back(top);
}

void start(Context& context) {
  context.done = false;
  context.waiting = {};
  context.fiber = make_fcontext(context.stack, StackPool::stack_bytes, body);
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

}  // namespace cpu
TLXJIT_NAMESPACE_END
