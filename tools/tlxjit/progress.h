// tools/tlxjit/progress.h — a bar on a terminal for what takes long.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <chrono>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>

namespace tlxjit::cli {

/// Drawn on standard error, at most ten times a second and not within the first half second; nowhere if that is no
/// terminal or `quiet`. Taken away when it ends. Threads may step at once.
///
///     warm  [=======>            ]  35/100  1m 12s left  3f2a…
class Progress {
 public:
  Progress(std::string_view what, uint64_t total, bool quiet);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// One more of the total is done; `now` names what is at work.
  void step(std::string_view now = {});

 private:
  using Clock = std::chrono::steady_clock;
  void draw(Clock::time_point at, std::string_view now);

  const std::string what_;
  const uint64_t total_;
  const bool shown_;
  std::mutex mutex_;
  uint64_t done_ = 0;
  const Clock::time_point begin_ = Clock::now();
  Clock::time_point drawn_at_ = begin_;
  bool drawn_ = false;
};

/// `done` of `total` after `seconds`, as a line of at most `columns`.
std::string progress_line(std::string_view what, uint64_t done, uint64_t total, double seconds, std::string_view now,
                          size_t columns);

}  // namespace tlxjit::cli
