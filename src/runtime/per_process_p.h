// src/runtime/per_process_p.h — state that a forked child makes anew.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <atomic>
#include <memory>

#include "src/runtime/process_p.h"

TLXJIT_NAMESPACE_BEGIN
namespace runtime {

/// A T of this process. What fork copies into a child counts on threads that are not there, and its locks may be held
/// for ever: the child gets a T of its own, and leaks the other. A T with a function `inherit(T&)` may take over from
/// the other what it can be sure of.
template <class T>
class PerProcess {
 public:
  PerProcess() : made_(new Made) {}
  ~PerProcess() {
    Made* made = made_.load();
    if (made->process == ProcessNumber::get()) delete made;
  }
  PerProcess(const PerProcess&) = delete;
  PerProcess& operator=(const PerProcess&) = delete;

  T& get() const {
    Made* made = made_.load();
    if (made->process == ProcessNumber::get()) return made->value;
    auto fresh = std::make_unique<Made>();
    if constexpr (requires { fresh->value.inherit(made->value); }) fresh->value.inherit(made->value);
    if (made_.compare_exchange_strong(made, fresh.get())) return fresh.release()->value;
    return made->value;
  }

 private:
  struct Made {
    const int64_t process = ProcessNumber::get();
    T value;
  };
  mutable std::atomic<Made*> made_;
};

}  // namespace runtime
TLXJIT_NAMESPACE_END
