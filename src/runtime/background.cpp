// src/runtime/background.cpp — work that nobody waits for, on few threads of the engine.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "src/runtime/background_p.h"

#include <condition_variable>
#include <list>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include "src/runtime/block_signals_p.h"

TLXJIT_NAMESPACE_BEGIN
namespace runtime {

/// Held by each thread too, for the queue may end on one of them.
struct Background::Shared {
  std::mutex mutex;
  std::condition_variable changed;
  std::list<std::function<void()>> waiting;  // an empty one has no memory
  std::vector<std::thread> threads;
  int idle = 0;
  bool ended = false;

  void run() {
    std::unique_lock lock(mutex);
    for (;;) {
      ++idle;
      changed.wait(lock, [&] { return ended || !waiting.empty(); });
      --idle;
      if (ended) return;
      std::function<void()> work = std::move(waiting.front());
      waiting.pop_front();
      lock.unlock();
      work();
      work = nullptr;
      lock.lock();
    }
  }
};

Background::OfProcess::OfProcess() : shared(std::make_shared<Shared>()) {}

bool Background::add(std::function<void()> work) {
  const std::shared_ptr<Shared> shared = process_.get().shared;
  std::unique_lock lock(shared->mutex);
  if (shared->waiting.size() >= most_) return false;
  const auto wanted = static_cast<size_t>(shared->idle) <= shared->waiting.size();
  if (wanted && shared->threads.size() < static_cast<size_t>(threads_)) {
    try {
      const BlockSignals blocked;
      shared->threads.reserve(shared->threads.size() + 1);
      shared->threads.emplace_back([shared] { shared->run(); });
    } catch (const std::system_error&) {
      if (shared->threads.empty()) return false;
    }
  }
  shared->waiting.push_back(std::move(work));
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
