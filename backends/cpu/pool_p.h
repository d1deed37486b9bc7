// backends/cpu/pool_p.h — the worker threads that all kernels of the plug-in share.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "backends/cpu/stack_pool_p.h"

TLXJIT_NAMESPACE_BEGIN
namespace cpu {

/// Work that several threads may take part in; `run` returns when nothing is left to take.
class Job {
 public:
  virtual void run() noexcept = 0;

 protected:
  ~Job() = default;
};

/// Threads made on demand, joined by the destructor. They get no signals but those that they cause themselves.
class Pool {
 public:
  ~Pool();
  /// Runs the job on the caller and on up to `threads` − 1 workers; returns when all of them are done.
  void run(Job& job, int threads);
  StackPool& stacks() { return stacks_; }

  /// The pool of this plug-in in this process: made by the first kernel, joined with the last.
  static std::shared_ptr<Pool> shared();

 private:
  struct Entry {
    Job* job;
    int wanted;   // workers that may still join
    int working;  // workers inside
  };
  void work();
  void grow(int threads);

  std::mutex mutex_;
  std::condition_variable wake_;
  std::condition_variable finished_;
  std::vector<Entry*> entries_;
  std::vector<std::thread> threads_;
  bool stop_ = false;
  StackPool stacks_;
};

}  // namespace cpu
TLXJIT_NAMESPACE_END
