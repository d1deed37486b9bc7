// src/runtime/compile_threads_p.h — compiles on threads of the engine, so that one without end can be left behind.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <atomic>
#include <functional>
#include <memory>

#include "src/runtime/deadline_p.h"
#include "src/runtime/per_process_p.h"
#include "tlxjit/core/result.h"

TLXJIT_NAMESPACE_BEGIN
namespace runtime {

/// Thread safe. Work that was left behind outlives it.
class CompileThreads {
 public:
  static constexpr int most_abandoned = 4;

  /// Runs the work on a thread that gets no signals but those it causes itself, and waits for it. At the deadline it is
  /// abandoned: an Error that says so of `name`; the work and what it holds stay until it ends. While most_abandoned of
  /// them run, no other work is begun: an Error too. So that there are never more, at most so many with a limit run at
  /// a time; others wait for their turn, and are not begun if it has not come at their deadline. Nor is work that was
  /// cancelled before. The work throws nothing. Work that can be stopped looks at `abandoned`, which is set
  /// when it is left behind.
  Result<void> run(const Deadline& deadline, const std::string& name, std::function<void()> work,
                   std::shared_ptr<std::atomic<bool>> abandoned = nullptr);
  /// Work that was left behind and has not ended.
  int abandoned() const;

 private:
  struct Places;
  struct OfProcess {
    OfProcess();
    std::shared_ptr<Places> places;
  };
  PerProcess<OfProcess> process_;
};

}  // namespace runtime
TLXJIT_NAMESPACE_END
