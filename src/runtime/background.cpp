// src/runtime/background.cpp — work that nobody waits for, on few threads of the engine.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "src/runtime/background_p.h"

#include <sched.h>
#include <unistd.h>

#include <condition_variable>
#include <list>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include "src/runtime/block_signals_p.h"

TLXJIT_NAMESPACE_BEGIN
namespace runtime {

namespace {

/// Makes this thread, and those that it starts, give way to the ones that serve calls: its waking interrupts none of
/// them, and where processors are short it gets a third of what one of them does. Nobody is refused this.
void come_last() {
  const sched_param none{};
  static_cast<void>(sched_setscheduler(0, SCHED_BATCH, &none));
  static_cast<void>(!nice(5));  // of this thread alone, on Linux
}

}  // namespace

/// Held by each thread too, for the queue may end on one of them.
struct Background::Shared {
  std::mutex mutex;
  std::condition_variable changed;
  std::list<std::function<void()>> waiting, leaving;  // an empty one has no memory
  std::vector<std::thread> threads;
  int idle = 0;
  bool ended = false;

  size_t queued() const { return waiting.size() + leaving.size(); }
  void run() {
    come_last();
    std::unique_lock lock(mutex);
    for (;;) {
      ++idle;
      changed.wait(lock, [&] { return ended || queued() > 0; });
      --idle;
      if (ended) return;
      std::list<std::function<void()>>& first = leaving.empty() ? waiting : leaving;
      std::function<void()> work = std::move(first.front());
      first.pop_front();
      lock.unlock();
      work();
      work = nullptr;
      lock.lock();
    }
  }
};

Background::OfProcess::OfProcess() : shared(std::make_shared<Shared>()) {}

bool Background::queue(std::function<void()> work, bool bounded) {
  const std::shared_ptr<Shared> shared = process_.get().shared;
  std::unique_lock lock(shared->mutex);
  if (bounded && shared->waiting.size() >= most_) return false;
  const auto wanted = static_cast<size_t>(shared->idle) <= shared->queued();
  if (wanted && shared->threads.size() < static_cast<size_t>(threads_)) {
    try {
      const BlockSignals blocked;
      shared->threads.reserve(shared->threads.size() + 1);
      shared->threads.emplace_back([shared] { shared->run(); });
    } catch (const std::system_error&) {
      if (shared->threads.empty()) return false;
    }
  }
  (bounded ? shared->waiting : shared->leaving).push_back(std::move(work));
  lock.unlock();
  shared->changed.notify_one();
  return true;
}

Background::~Background() {
  const std::shared_ptr<Shared> shared = process_.get().shared;
  std::list<std::function<void()>> dropped;
  {
    std::lock_guard lock(shared->mutex);
    shared->ended = true;
    dropped.swap(shared->waiting);
    dropped.splice(dropped.end(), shared->leaving);
  }
  shared->changed.notify_all();
  dropped.clear();  // what it holds may hold what ends here, and asks for no lock of the queue
  for (std::thread& thread : shared->threads) {
    if (thread.get_id() == std::this_thread::get_id())
      thread.detach();  // its work held the last of the engine
    else
      thread.join();
  }
}

}  // namespace runtime
TLXJIT_NAMESPACE_END
