// src/runtime/loaded_modules_p.h — one bound over all kernels that an engine has loaded.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "src/runtime/events_p.h"
#include "src/runtime/per_process_p.h"

TLXJIT_NAMESPACE_BEGIN
namespace runtime {

struct ExecutableState;

/// By what uses are compared: read by each, moved on by what is put in somewhere.
class UseClock {
 public:
  uint64_t now() const { return now_.load(std::memory_order_relaxed); }
  uint64_t tick() { return now_.fetch_add(1, std::memory_order_relaxed) + 1; }

 private:
  std::atomic<uint64_t> now_{1};
};

/// A loaded kernel, as long as it is counted: in the process that loaded it. A forked child counts none of its
/// parent's.
class LoadedModule {
 public:
  LoadedModule() = default;
  explicit LoadedModule(std::shared_ptr<std::atomic<size_t>> count) : count_(std::move(count)) { ++*count_; }
  ~LoadedModule() { leave(); }
  LoadedModule(LoadedModule&&) = default;
  LoadedModule& operator=(LoadedModule&& other) noexcept {
    leave();
    count_ = std::move(other.count_);
    process_ = other.process_;
    return *this;
  }
  void leave() {
    if (const auto count = std::move(count_)) --*count;
  }
  bool of_this_process() const { return process_ == ProcessNumber::get(); }

 private:
  std::shared_ptr<std::atomic<size_t>> count_;
  int64_t process_ = ProcessNumber::get();
};

/// Who keeps executables, and can do without those that only its like keep. Thread safe.
class ModuleHolder {
 public:
  using Dropped = std::vector<std::shared_ptr<ExecutableState>>;
  struct Kept {
    const ExecutableState* state;
    long users;         ///< shared pointers to it
    uint64_t last_use;  ///< by the engine's clock
    bool stays;         ///< whoever lets go of it unloads nothing
  };
  virtual ~ModuleHolder() = default;
  /// Adds what may be let go, once for each pointer that is kept. What is done with already is added to `dropped`.
  virtual void list(std::vector<Kept>& kept, Dropped& dropped) = 0;
  /// Moves its pointers to the state into `dropped`.
  virtual void let_go(const ExecutableState* state, Dropped& dropped) = 0;
};

/// Thread safe.
class LoadedModules {
 public:
  /// `most` of 0 is no bound.
  LoadedModules(size_t most, std::shared_ptr<Events> events) : most_(most), events_(std::move(events)) {}

  const std::shared_ptr<UseClock>& clock() const { return clock_; }
  LoadedModule one_more() { return LoadedModule(process_.get().count); }
  size_t count() const { return *process_.get().count; }
  size_t most() const { return most_; }
  bool full() const { return most_ > 0 && count() >= most_; }

  void add(std::weak_ptr<ModuleHolder> holder);
  /// Takes from the holders what is above the bound, the least recently used first: of those that nobody else has. They
  /// are unloaded when the result ends, which waits for the device.
  ModuleHolder::Dropped trim();

 private:
  struct OfProcess {
    std::mutex mutex;
    std::vector<std::weak_ptr<ModuleHolder>> holders;
    const std::shared_ptr<std::atomic<size_t>> count = std::make_shared<std::atomic<size_t>>(0);
    /// Nothing of a parent that was unloading just then: its child has no compiler either, so that it loads little.
    void inherit(OfProcess& parents);
  };
  const size_t most_;
  const std::shared_ptr<Events> events_;
  const std::shared_ptr<UseClock> clock_ = std::make_shared<UseClock>();
  PerProcess<OfProcess> process_;
};

}  // namespace runtime
TLXJIT_NAMESPACE_END
