// tools/tlxjit/progress.cpp — draws a progress bar.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tools/tlxjit/progress.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "tools/tlxjit/visible.h"

namespace tlxjit::cli {

namespace {

std::string left_text(double seconds) {
  const auto s = static_cast<uint64_t>(std::llround(seconds));
  if (s < 60) return fmt::format("{}s", s);
  if (s < 3600) return fmt::format("{}m {:02}s", s / 60, s % 60);
  return fmt::format("{}h {:02}m", s / 3600, s / 60 % 60);
}

size_t columns() {
  winsize size{};
  return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 20 ? size.ws_col - 1u : 79u;
}

}  // namespace

std::string progress_line(std::string_view what, uint64_t done, uint64_t total, double seconds, std::string_view now,
                          size_t most) {
  constexpr size_t width = 20;
  const double part = total == 0 ? 1 : std::min(1.0, static_cast<double>(done) / static_cast<double>(total));
  std::string bar(static_cast<size_t>(part * width), '=');
  if (bar.size() < width) bar += '>';
  std::string line = fmt::format("{}  [{:<{}}]  {}/{}", what, bar, width, done, total);
  if (done > 0 && done < total) line += "  " + left_text(seconds / part - seconds) + " left";
  if (!now.empty()) line += "  " + visible(now, "");
  return line.substr(0, most);
}

Progress::Progress(std::string_view what, uint64_t total, bool quiet)
    : what_(what), total_(total), shown_(!quiet && isatty(STDERR_FILENO)) {}

Progress::~Progress() {
  if (drawn_) std::fputs("\r\033[K", stderr);
}

void Progress::step(std::string_view now) {
  if (!shown_) return;
  std::lock_guard lock(mutex_);
  ++done_;
  const auto at = Clock::now();
  if (at - begin_ < std::chrono::milliseconds(500) || at - drawn_at_ < std::chrono::milliseconds(100)) return;
  draw(at, now);
}

void Progress::draw(Clock::time_point at, std::string_view now) {
  drawn_at_ = at;
  drawn_ = true;
  const double seconds = std::chrono::duration<double>(at - begin_).count();
  std::fprintf(stderr, "\r%s\033[K", progress_line(what_, done_, total_, seconds, now, columns()).c_str());
}

}  // namespace tlxjit::cli
