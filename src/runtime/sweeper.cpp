// src/runtime/sweeper.cpp — when a directory of entries is swept, and by whom.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "src/runtime/sweeper_p.h"

#include <fcntl.h>

#include <ctime>
#include <exception>
#include <limits>
#include <thread>

#include "src/runtime/block_signals_p.h"

TLXJIT_NAMESPACE_BEGIN
namespace runtime {

namespace {

constexpr std::chrono::hours pause{1};
/// Its time of change is that of the last sweep of any process.
constexpr const char* stamp_name = "swept";

}  // namespace

Sweeper::OfProcess::~OfProcess() {
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
    if (!is_due() && !full) return {};
    const uint64_t most = most_bytes_ == 0 ? std::numeric_limits<uint64_t>::max() : most_bytes_ / 5 * 4;
    done_(directory_->trim(std::max<uint64_t>(most, 1), process.stop));
    return {};
  }));
  std::lock_guard lock(process.mutex);
  process.running = false;
  process.ended.notify_all();  // with the lock: who waits may end the process's part
}

/// Whether the last sweep of any process is an hour ago; if so this one is now the last. Two that ask at once may both
/// sweep, which does no harm.
bool Sweeper::is_due() const {
  auto folder = directory_->open(false);
  if (!folder || !*folder) return false;
  const std::string path = directory_->path() + "/" + stamp_name;
  auto stamp = open_trusted_file(**folder, stamp_name, Trust::user, O_RDONLY, path);
  if (!stamp) return false;
  if (!*stamp) {
    const auto made = open_trusted_file(**folder, stamp_name, Trust::user, O_RDONLY | O_CREAT, path);
    return made.ok();
  }
  const time_t now = std::time(nullptr), last = (*stamp)->facts.st_mtime;
  if (last > now - std::chrono::seconds(pause).count() && last <= now + 60) return false;
  static_cast<void>(futimens((*stamp)->file.get(), nullptr));
  return true;
}

}  // namespace runtime
TLXJIT_NAMESPACE_END
