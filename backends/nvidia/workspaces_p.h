// backends/nvidia/workspaces_p.h — the hidden words of a kernel's launches, one array for each stream.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <atomic>
#include <memory>
#include <mutex>

#include "backends/nvidia/context_p.h"

TLXJIT_NAMESPACE_BEGIN
namespace nvidia {

/// Of one kernel, zero whenever no launch is in flight. Found without a lock; a new stream takes the lock and
/// allocates. CU_STREAM_PER_THREAD is another stream in each thread: what was a thread's is another's only when the
/// device has been waited for since the thread ended.
class Workspaces {
 public:
  /// So many of threads that have ended are there before the device is waited for.
  static constexpr int most_ended = 32;

  Workspaces(std::shared_ptr<Context> context, int64_t words)
      : context_(std::move(context)), bytes_(static_cast<size_t>(words) * sizeof(int32_t)) {}
  ~Workspaces();

  size_t bytes() const { return bytes_; }
  /// `capturing`: whether the stream is captured, so that a graph keeps the words for good.
  Result<CuDevicePtr> of(CuStream stream, bool capturing);
  /// After a launch that failed: whatever it left is cleared, if the stream can still be waited for. (It cannot after a
  /// fault on the device, which ends the context.) Not while the stream is captured.
  void clear(CuStream stream, CuDevicePtr words);

 private:
  class Thread;
  struct Node {
    const CuStream stream;
    const DeviceBuffer memory;
    Node* const next;
    std::shared_ptr<const Thread> owner;         // of a per-thread stream; under the lock
    std::atomic<const Thread*> thread{nullptr};  // the same, for those who look without
    std::atomic<bool> captured{false};
    // Under the lock: free for another thread; its own had ended before the device was waited for.
    bool spare = false, waited_for = false;
  };
  Node* find(CuStream stream, const Thread* thread) const;
  Node* spare();

  const std::shared_ptr<Context> context_;
  const size_t bytes_;
  std::mutex mutex_;
  std::atomic<Node*> head_ = nullptr;
};

}  // namespace nvidia
TLXJIT_NAMESPACE_END
