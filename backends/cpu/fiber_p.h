// backends/cpu/fiber_p.h — fibers on pooled stacks with guard pages.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstddef>
#include <mutex>
#include <vector>

#include "backends/cpu/context_p.h"

TLXJIT_NAMESPACE_BEGIN
namespace cpu {

/// Stacks of one size, kept for reuse; below each lies a page that faults.
class StackPool {
 public:
  static constexpr size_t stack_bytes = 256 * 1024;
  ~StackPool();
  /// The top of a stack; throws std::bad_alloc.
  void* take();
  void give(void* top);

 private:
  std::mutex mutex_;
  std::vector<void*> free_;
};

/// Makes the context's fiber stand at the start of its task. An earlier, unfinished run is abandoned:
/// compiled code holds nothing that needs a destructor.
void start(Context& context);
/// Runs the fiber until it waits or ends.
void resume(Context& context);

}  // namespace cpu
TLXJIT_NAMESPACE_END
