// src/runtime/compiler_use_p.h — compilers that a fork may leave locked for ever.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <utility>

#include "src/runtime/guard_p.h"
#include "src/runtime/per_process_p.h"

TLXJIT_NAMESPACE_BEGIN
namespace runtime {

/// The threads of this process that are within a compiler with locks and guards of its own, as LLVM and NVRTC are: what
/// such a thread holds when another forks is held for ever in the child. Thread safe; outlives all that uses it.
class CompilerUse {
  struct OfProcess {
    std::atomic<int> inside = 0;
    bool lost = false;  // a thread was inside when this process was forked
    void inherit(const OfProcess& parents) { lost = parents.lost || parents.inside > 0; }
  };

 public:
  /// A thread's being inside.
  class Inside {
   public:
    explicit Inside(OfProcess& process) : process_(&process) { ++process.inside; }
    ~Inside() {
      if (process_) --process_->inside;
    }
    Inside(Inside&& other) noexcept : process_(std::exchange(other.process_, nullptr)) {}
    Inside& operator=(Inside&&) = delete;

   private:
    OfProcess* process_;
  };

  Result<Inside> enter(Stage stage) {
    OfProcess& process = process_.get();
    if (!process.lost) return Inside(process);
    return error_of(ErrorKind::environment, stage, ErrorCode::forked,
                    "this process was forked while its parent compiled, and the compiler's locks may be held for ever "
                    "here: fork when nothing is compiled (JitFunction::wait waits for that), or start the child "
                    "anew (exec, or Python's `spawn`)");
  }

 private:
  PerProcess<OfProcess> process_;
};

}  // namespace runtime
TLXJIT_NAMESPACE_END
