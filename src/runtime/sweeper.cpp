// src/runtime/sweeper.cpp — when a directory of entries is swept, and by whom.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "src/runtime/sweeper_p.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <ctime>
#include <exception>
#include <limits>
#include <thread>

#include "src/runtime/block_signals_p.h"

TLXJIT_NAMESPACE_BEGIN
namespace runtime {

namespace {

constexpr std::chrono::hours pause{1};
/// A process may publish only as it ends, and is to leave a directory within its bound all the same.
constexpr std::chrono::seconds longest_end{1};
/// Its time of change is that of the last sweep of any process; empty, there was none.
constexpr const char* stamp_name = "swept";

}  // namespace

Sweeper::OfProcess::~OfProcess() {
  {
    std::unique_lock lock(mutex);
    ended.wait_for(lock, longest_end, [&] { return !running; });
  }
  stop = true;
  wait();
}

void Sweeper::OfProcess::wait() {
  std::unique_lock lock(mutex);
  ended.wait(lock, [&] { return !running; });
}

Sweeper::Sweeper(std::shared_ptr<DirectoryStore> directory, uint64_t most_bytes, Done done)
    : directory_(std::move(directory)), most_bytes_(most_bytes), done_(std::move(done)) {}

Sweeper::~Sweeper() = default;

void Sweeper::wrote(uint64_t bytes) {
  OfProcess& process = process_.get();
  std::lock_guard lock(process.mutex);
  process.written += bytes;
  const bool full = most_bytes_ > 0 && process.written > most_bytes_ / 16;
  const bool time = !process.next.limited() || process.next.passed();
  if (process.running || (!full && !time)) return;
  process.written = 0;
  process.next = Deadline(pause);
  process.running = true;
  try {
    const BlockSignals blocked;
    std::thread([this, &process, full] { sweep(process, full); }).detach();
  } catch (const std::exception&) {  // no thread, or no memory for it: a later one will
    process.running = false;
  }
}

void Sweeper::wait() { process_.get().wait(); }

void Sweeper::sweep(OfProcess& process, bool full) const {
  // With too little memory it is left to the next one.
  static_cast<void>(guarded(Stage::cache, [&]() -> Result<void> {
    const Descriptor stamp = due();
    if (!stamp && !full) return {};
    const uint64_t most = most_bytes_ == 0 ? std::numeric_limits<uint64_t>::max() : most_bytes_ / 5 * 4;
    Trimmed trimmed;
    const auto swept = directory_->sweep(std::max<uint64_t>(most, 1), process.stop, trimmed);
    done_(trimmed, swept);
    if (!stamp) return {};
    if (!process.stop) static_cast<void>(pwrite(stamp.get(), "\n", 1, 0) == 1);
    static_cast<void>(flock(stamp.get(), LOCK_UN));  // a child forked meanwhile has the descriptor too
    return {};
  }));
  std::lock_guard lock(process.mutex);
  process.running = false;
  process.ended.notify_all();  // with the lock: who waits may end the process's part
}

/// The stamp, if the last sweep of any process that came to its end is an hour ago and none is at it. It changes only
/// with the end of a sweep: one that its process does not live to end leaves the next one due.
Descriptor Sweeper::due() const {
  auto folder = directory_->open(false);
  if (!folder || !*folder) return {};
  const std::string path = directory_->path() + "/" + stamp_name;
  auto stamp = open_trusted_file(**folder, stamp_name, Trust::user, O_RDWR | O_CREAT, path);
  if (stamp && (*stamp)->facts.st_size > 0) {
    const time_t now = std::time(nullptr), last = (*stamp)->facts.st_mtime;
    if (last > now - std::chrono::seconds(pause).count() && last <= now + 60) return {};
  }
  if (!stamp || (flock((*stamp)->file.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)) return {};
  return std::move((*stamp)->file);
}

}  // namespace runtime
TLXJIT_NAMESPACE_END
