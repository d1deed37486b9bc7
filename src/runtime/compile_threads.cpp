// src/runtime/compile_threads.cpp — compiles on threads of the engine, one each.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "src/runtime/compile_threads_p.h"

#include <signal.h>

#include <condition_variable>
#include <mutex>
#include <system_error>
#include <thread>

#include "src/runtime/guard_p.h"

TLXJIT_NAMESPACE_BEGIN
namespace runtime {

struct CompileThreads::Left {
  std::mutex mutex;
  int count = 0;
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

/// While it lives, threads that are made start with signals blocked: handlers of the host run on its own threads.
struct BlockSignals {
  sigset_t before;
  BlockSignals() {
    sigset_t all;
    sigfillset(&all);
    for (int own : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS}) sigdelset(&all, own);
    pthread_sigmask(SIG_SETMASK, &all, &before);
  }
  ~BlockSignals() { pthread_sigmask(SIG_SETMASK, &before, nullptr); }
};

}  // namespace

CompileThreads::CompileThreads() : left_(std::make_shared<Left>()) {}

int CompileThreads::abandoned() const {
  std::lock_guard lock(left_->mutex);
  return left_->count;
}

Result<void> CompileThreads::run(std::chrono::milliseconds limit, const std::string& name, std::function<void()> fn) {
  if (abandoned() >= most_abandoned)
    return error_of(ErrorKind::environment, Stage::compile, ErrorCode::out_of_resources,
                    "`" + name + "` is not compiled: " + std::to_string(most_abandoned) +
                        " compiles that were left behind at their time limit still run");
  auto work = std::make_shared<Work>();
  work->fn = std::move(fn);
  std::thread thread;
  try {
    const BlockSignals blocked;
    thread = std::thread([work, left = left_] {
      work->fn();
      std::unique_lock lock(work->mutex);
      work->done = true;
      const bool abandoned = work->abandoned;
      work->changed.notify_all();
      lock.unlock();
      if (!abandoned) return;
      work->fn = nullptr;  // what it holds goes before it is counted as ended
      std::lock_guard count(left->mutex);
      --left->count;
    });
  } catch (const std::system_error& e) {
    return error_of(ErrorKind::environment, Stage::compile, ErrorCode::out_of_resources,
                    std::string("no thread to compile on: ") + e.what());
  }
  std::unique_lock lock(work->mutex);
  const auto done = [&] { return work->done; };
  if (limit.count() <= 0)
    work->changed.wait(lock, done);
  else if (!work->changed.wait_for(lock, limit, done)) {
    work->abandoned = true;
    {
      std::lock_guard count(left_->mutex);
      ++left_->count;
    }
    lock.unlock();
    thread.detach();
    return error_of(ErrorKind::environment, Stage::compile, ErrorCode::timed_out,
                    "the compile of `" + name + "` took longer than its limit of " + std::to_string(limit.count()) +
                        " ms; it is left behind");
  }
  lock.unlock();
  thread.join();
  return {};
}

}  // namespace runtime
TLXJIT_NAMESPACE_END
