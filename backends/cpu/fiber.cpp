// backends/cpu/fiber.cpp — fibers by Boost.Context; every switch tells the sanitizers.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/cpu/fiber_p.h"

#include <boost/context/detail/fcontext.hpp>
#include <cstdlib>

#include "backends/cpu/sanitizers_p.h"

TLXJIT_NAMESPACE_BEGIN
namespace cpu {

using boost::context::detail::jump_fcontext;
using boost::context::detail::make_fcontext;
using boost::context::detail::transfer_t;

// The fields are written on both sides of switches that order nothing for ThreadSanitizer.
struct Fiber::Switch {
  TLXJIT_UNSEEN_BY_TSAN static void body(transfer_t from) {
    auto* fiber = static_cast<Fiber*>(from.data);
    arrive(*fiber, nullptr);
    fiber->scheduler_ = from.fctx;
    fiber->fn_(fiber->data_);
    fiber->end();
  }

  TLXJIT_UNSEEN_BY_TSAN static void arrive([[maybe_unused]] Fiber& fiber, [[maybe_unused]] void* fake_stack) {
#if TLXJIT_ASAN
    __sanitizer_finish_switch_fiber(fake_stack, &fiber.scheduler_bottom_, &fiber.scheduler_bytes_);
#endif
  }

  /// Inlined: ThreadSanitizer counts the calls of each fiber, and this one begins on one and would end on another.
  [[gnu::always_inline]] TLXJIT_UNSEEN_BY_TSAN static void leave([[maybe_unused]] Fiber& fiber,
                                                                 [[maybe_unused]] bool for_ever) {
#if TLXJIT_ASAN
    __sanitizer_start_switch_fiber(for_ever ? nullptr : &fiber.fake_stack_, fiber.scheduler_bottom_,
                                   fiber.scheduler_bytes_);
#endif
#if TLXJIT_TSAN
    __tsan_switch_to_fiber(fiber.scheduler_thread_, __tsan_switch_to_fiber_no_sync);
#endif
  }
};

TLXJIT_UNSEEN_BY_TSAN void Fiber::start(Function fn, void* data) {
  forget();
  char* bottom = static_cast<char*>(top_) - bytes_;
  unpoison(bottom, bytes_);  // what an abandoned run left
  forget_accesses(bottom, bytes_);
#if TLXJIT_TSAN
  thread_ = __tsan_create_fiber(0);
#endif
  fn_ = fn;
  data_ = data;
  self_ = make_fcontext(top_, bytes_, Switch::body);
}

TLXJIT_UNSEEN_BY_TSAN void Fiber::resume() {
#if TLXJIT_ASAN
  void* fake_stack = nullptr;
  __sanitizer_start_switch_fiber(&fake_stack, static_cast<char*>(top_) - bytes_, bytes_);
#endif
#if TLXJIT_TSAN
  scheduler_thread_ = __tsan_get_current_fiber();
  __tsan_switch_to_fiber(thread_, __tsan_switch_to_fiber_no_sync);
#endif
  const transfer_t back = jump_fcontext(self_, this);
#if TLXJIT_ASAN
  __sanitizer_finish_switch_fiber(fake_stack, nullptr, nullptr);
#endif
  self_ = back.fctx;
}

TLXJIT_UNSEEN_BY_TSAN void Fiber::stand() {
  Switch::leave(*this, false);
  const transfer_t back = jump_fcontext(scheduler_, nullptr);
  Switch::arrive(*this, fake_stack_);
  scheduler_ = back.fctx;
}

TLXJIT_UNSEEN_BY_TSAN void Fiber::end() {
  Switch::leave(*this, true);
  jump_fcontext(scheduler_, nullptr);
  std::abort();  // it is never resumed
}

TLXJIT_UNSEEN_BY_TSAN void Fiber::forget() {
#if TLXJIT_TSAN
  if (thread_) __tsan_destroy_fiber(thread_);
#endif
  thread_ = nullptr;
}

}  // namespace cpu
TLXJIT_NAMESPACE_END
