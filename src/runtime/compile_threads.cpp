// src/runtime/compile_threads.cpp — compiles on threads of the engine, one each.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "src/runtime/compile_threads_p.h"

#include <condition_variable>
#include <mutex>
#include <system_error>
#include <thread>

#include "src/runtime/block_signals_p.h"
#include "src/runtime/guard_p.h"

TLXJIT_NAMESPACE_BEGIN
namespace runtime {

namespace {

Error cancelled(std::string message) {
  return error_of(ErrorKind::user, Stage::compile, ErrorCode::cancelled, std::move(message));
}

}  // namespace

/// Work with a limit takes one of most_abandoned places before it begins, and keeps it when it is left behind.
struct CompileThreads::Places {
  std::mutex mutex;
  std::condition_variable changed;
  int taken = 0;
  int abandoned = 0;  // of those

  /// `limited`: as the deadline said when the work was asked for; once its last stop_source is gone it says otherwise.
  Result<void> take(const Deadline& deadline, bool limited, const std::string& name) {
    if (deadline.cancelled()) return cancelled("the compile of `" + name + "` was cancelled before it began");
    std::unique_lock lock(mutex);
    if (limited && !deadline.wait(changed, lock, [&] { return taken < most_abandoned || abandoned == most_abandoned; }))
      return deadline.cancelled()
                 ? cancelled("the compile of `" + name + "` was cancelled before its turn came")
                 : error_of(ErrorKind::environment, Stage::compile, ErrorCode::timed_out,
                            "the compile of `" + name + "` had not its turn within its limit of " + deadline.text() +
                                ": " + std::to_string(most_abandoned) + " others with a limit run");
    if (abandoned == most_abandoned)
      return error_of(ErrorKind::environment, Stage::compile, ErrorCode::out_of_resources,
                      "`" + name + "` is not compiled: " + std::to_string(most_abandoned) +
                          " compiles that were left behind at their time limit still run");
    taken += limited;
    return {};
  }
  void give(bool was_abandoned) {
    {
      std::lock_guard lock(mutex);
      --taken;
      abandoned -= was_abandoned;
    }
    changed.notify_all();
  }
  void abandon() {
    {
      std::lock_guard lock(mutex);
      ++abandoned;
    }
    changed.notify_all();
  }
};

namespace {

/// What a thread shares with the call that waits for it.
struct Work {
  std::function<void()> fn;
  std::mutex mutex;
  std::condition_variable changed;
  bool done = false;
  bool abandoned = false;
};

}  // namespace

CompileThreads::OfProcess::OfProcess() : places(std::make_shared<Places>()) {}

int CompileThreads::abandoned() const {
  Places& places = *process_.get().places;
  std::lock_guard lock(places.mutex);
  return places.abandoned;
}

Result<void> CompileThreads::run(const Deadline& deadline, const std::string& name, std::function<void()> fn,
                                 std::shared_ptr<std::atomic<bool>> abandoned) {
  const bool limited = deadline.limited();
  auto work = std::make_shared<Work>();
  work->fn = std::move(fn);
  const std::shared_ptr<Places> places = process_.get().places;
  TLXJIT_TRY(places->take(deadline, limited, name));
  std::thread thread;
  try {
    const BlockSignals blocked;
    thread = std::thread([work, places] {
      work->fn();
      std::unique_lock lock(work->mutex);
      work->done = true;
      const bool abandoned = work->abandoned;
      work->changed.notify_all();
      lock.unlock();
      if (!abandoned) return;
      work->fn = nullptr;  // what it holds goes before it is counted as ended
      places->give(true);
    });
  } catch (const std::system_error& e) {
    if (limited) places->give(false);
    return error_of(ErrorKind::environment, Stage::compile, ErrorCode::out_of_resources,
                    std::string("no thread to compile on: ") + e.what());
  } catch (...) {
    if (limited) places->give(false);
    throw;
  }
  std::unique_lock lock(work->mutex);
  if (!deadline.wait(work->changed, lock, [&] { return work->done; })) {
    work->abandoned = true;
    if (abandoned) abandoned->store(true);
    places->abandon();
    lock.unlock();
    thread.detach();
    if (deadline.cancelled()) return cancelled("the compile of `" + name + "` was cancelled; it is left behind");
    return error_of(
        ErrorKind::environment, Stage::compile, ErrorCode::timed_out,
        "the compile of `" + name + "` took longer than its limit of " + deadline.text() + "; it is left behind");
  }
  lock.unlock();
  thread.join();
  if (limited) places->give(false);
  return {};
}

}  // namespace runtime
TLXJIT_NAMESPACE_END
