// src/runtime/key_lock_p.h — who compiles a key, among processes.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <string_view>

#include "src/runtime/deadline_p.h"
#include "src/runtime/descriptor_p.h"
#include "src/runtime/directory_store_p.h"

TLXJIT_NAMESPACE_BEGIN
namespace runtime {

/// A lock on one byte of a file of the directory, at an offset made from the key: one file is enough, nothing has to be
/// taken away, and the system gives it back when the process ends. It only saves work. Where it cannot be had (a
/// network disk without locks, a read-only directory, another holder until the deadline) it is not held, and all goes
/// on without it.
class KeyLock {
 public:
  KeyLock() = default;
  /// Waits for another holder until one of the deadlines.
  KeyLock(const DirectoryStore& directory, std::string_view key, const Deadline& own, const Deadline& of_call);
  ~KeyLock() { release(); }
  KeyLock(KeyLock&&) = default;
  KeyLock& operator=(KeyLock&& other) noexcept {
    release();
    file_ = std::move(other.file_);
    offset_ = other.offset_;
    waited_ = other.waited_;
    return *this;
  }

  bool held() const { return static_cast<bool>(file_); }
  /// Whether another held it.
  bool waited() const { return waited_; }

 private:
  void release();
  Descriptor file_;
  int64_t offset_ = 0;
  bool waited_ = false;
};

}  // namespace runtime
TLXJIT_NAMESPACE_END
