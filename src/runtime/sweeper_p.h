// src/runtime/sweeper_p.h — keeps a directory of entries within its bound, on a thread of its own.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>

#include "src/runtime/deadline_p.h"
#include "src/runtime/directory_store_p.h"
#include "src/runtime/per_process_p.h"

TLXJIT_NAMESPACE_BEGIN
namespace runtime {

/// Sweeps at most once an hour over all processes of a machine, sooner when this process alone wrote a sixteenth of the
/// bound: a directory is above its bound by no more than what is written in between. A sweep goes down to four fifths
/// of it, the entries used longest ago first. Its end waits up to a second for a sweep under way. Thread safe.
class Sweeper {
 public:
  using Done = std::function<void(const Trimmed&, const Result<void>&)>;

  /// `done` is told of each sweep, what was taken away and the first failure, on the sweeper's thread; it throws
  /// nothing. `most_bytes` of 0 is no bound: only what dead writers left is swept.
  Sweeper(std::shared_ptr<DirectoryStore> directory, uint64_t most_bytes, Done done);
  ~Sweeper();

  /// Bytes that this process has put there. Starts a sweep if it is time for one.
  void wrote(uint64_t bytes);
  /// Until a sweep that was started has ended.
  void wait();

 private:
  struct OfProcess {
    ~OfProcess();
    void wait();
    std::mutex mutex;
    std::condition_variable ended;
    bool running = false;  // a thread that is detached, so that none is left that has ended and was not joined
    std::atomic<bool> stop = false;
    uint64_t written = 0;  // since the last sweep
    Deadline next;         // no sweep before it; at first none
  };
  void sweep(OfProcess& process, bool full) const;
  Descriptor due() const;

  const std::shared_ptr<DirectoryStore> directory_;
  const uint64_t most_bytes_;
  const Done done_;
  PerProcess<OfProcess> process_;
};

}  // namespace runtime
TLXJIT_NAMESPACE_END
