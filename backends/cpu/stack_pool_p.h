// backends/cpu/stack_pool_p.h — stacks with guard pages, kept for reuse.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstddef>
#include <map>
#include <mutex>
#include <vector>

#include "tlxjit/core/export.h"

TLXJIT_NAMESPACE_BEGIN
namespace cpu {

/// Stacks, kept for reuse; below each lies a page that faults.
class StackPool {
 public:
  ~StackPool();
  /// The size, a power of two, of a stack for a task whose frames take `frame_bytes`: there is room for what
  /// compiled code calls, and for signal handlers. 0: there is no stack so large.
  static size_t size_for(size_t frame_bytes);
  /// Whether size_for gives this size for some task.
  static bool is_size(size_t bytes);
  /// The top of a stack of a size that size_for gave; throws std::bad_alloc.
  void* take(size_t bytes);
  /// Does not allocate, so that what ends after a lack of memory can give back.
  void give(void* top, size_t bytes) noexcept;

 private:
  std::mutex mutex_;
  struct Stacks {
    std::vector<void*> idle;  // tops; room for all that were made
    size_t made = 0;
  };
  std::map<size_t, Stacks> stacks_;  // by size
};

}  // namespace cpu
TLXJIT_NAMESPACE_END
