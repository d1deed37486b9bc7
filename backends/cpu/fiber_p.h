// backends/cpu/fiber_p.h — fibers: functions that stop in the middle and go on later, on any thread.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstddef>

#include "tlxjit/core/export.h"

TLXJIT_NAMESPACE_BEGIN
namespace cpu {

/// A function on a stack of its own. The sanitizers are told of every switch.
class Fiber {
 public:
  using Function = void (*)(void* data);

  /// The stack: its top and its size. Given before the first start.
  void use_stack(void* top, size_t bytes) { top_ = top, bytes_ = bytes; }
  void* stack() const { return top_; }
  size_t stack_bytes() const { return bytes_; }

  /// Makes it stand at the start of fn(data). An earlier, unfinished run is abandoned: no destructor runs.
  void start(Function fn, void* data);
  /// Called by its scheduler: runs it until it stands or ends. What it did comes before what the scheduler does
  /// next, but for ThreadSanitizer only after `released` and `acquired`.
  void resume();
  /// Called by its function: back to the scheduler; returns when it is resumed.
  void stand();
  /// Called by its function: back to the scheduler, for ever.
  [[noreturn]] void end();
  /// Gives back what the sanitizers hold for it; it does not run.
  void forget();

 private:
  struct Switch;

  void* top_ = nullptr;
  size_t bytes_ = 0;
  void* self_ = nullptr;       // where to go on, while it stands
  void* scheduler_ = nullptr;  // where to return to, while it runs
  Function fn_ = nullptr;
  void* data_ = nullptr;
  // What the sanitizers give to keep.
  [[maybe_unused]] void* fake_stack_ = nullptr;
  [[maybe_unused]] const void* scheduler_bottom_ = nullptr;
  [[maybe_unused]] size_t scheduler_bytes_ = 0;
  void* thread_ = nullptr;
  [[maybe_unused]] void* scheduler_thread_ = nullptr;
};

}  // namespace cpu
TLXJIT_NAMESPACE_END
