// backends/cpu/fiber_p.h — fibers on pooled stacks with guard pages.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstddef>
#include <map>
#include <mutex>
#include <vector>

#include "backends/cpu/context_p.h"

TLXJIT_NAMESPACE_BEGIN
namespace cpu {

/// Stacks, kept for reuse; below each lies a page that faults.
class StackPool {
 public:
  ~StackPool();
  /// The size, a power of two, of a stack for a task whose frames take `frame_bytes`: there is room for what
  /// compiled code calls, and for signal handlers. 0: there is no stack so large.
  static size_t size_for(size_t frame_bytes);
  /// The top of a stack of a size that size_for gave; throws std::bad_alloc.
  void* take(size_t bytes);
  void give(void* top, size_t bytes);

 private:
  std::mutex mutex_;
  std::map<size_t, std::vector<void*>> free_;  // by size
};

/// Makes the context's fiber stand at the start of its task. An earlier, unfinished run is abandoned:
/// compiled code holds nothing that needs a destructor.
void start(Context& context);
/// Runs the fiber until it waits or ends.
void resume(Context& context);

}  // namespace cpu
TLXJIT_NAMESPACE_END
