// backends/cpu/per_process_p.h — state that a forked child makes anew.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <sys/types.h>
#include <unistd.h>

#include <atomic>

#include "tlxjit/core/export.h"

TLXJIT_NAMESPACE_BEGIN
namespace cpu {

/// A T of this process. What fork copies into a child counts on threads that are not there, and its locks may be held
/// for ever: the child gets a T of its own, and leaks the other.
template <class T>
class PerProcess {
 public:
  PerProcess() : made_(new Made) {}
  ~PerProcess() {
    Made* made = made_.load();
    if (made->process == getpid()) delete made;
  }
  PerProcess(const PerProcess&) = delete;
  PerProcess& operator=(const PerProcess&) = delete;

  T& get() {
    Made* made = made_.load();
    if (made->process == getpid()) return made->value;
    auto* fresh = new Made;
    if (made_.compare_exchange_strong(made, fresh)) return fresh->value;
    delete fresh;
    return made->value;
  }

 private:
  struct Made {
    pid_t process = getpid();
    T value;
  };
  std::atomic<Made*> made_;
};

}  // namespace cpu
TLXJIT_NAMESPACE_END
