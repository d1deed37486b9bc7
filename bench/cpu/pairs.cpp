// bench/cpu/pairs.cpp — ours and a peer by turns, through Google Benchmark.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "bench/cpu/pairs.h"

#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <chrono>
#include <map>
#include <thread>

namespace tlxjit::bench {
namespace {

/// Seconds of a call.
bool time_side(const Side& side, double& seconds) {
  // A peer's worker threads spin for a while after their last work, on cores that the next side needs.
  std::this_thread::sleep_for(std::chrono::milliseconds(40));
  if (!side.run()) return false;
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < side.calls; ++i)
    if (!side.run()) return false;
  seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() / side.calls;
  return true;
}

/// Keeps the least time of each benchmark.
class Least final : public benchmark::ConsoleReporter {
 public:
  Least() : ConsoleReporter(OO_None) {}
  void ReportRuns(const std::vector<Run>& runs) override {
    for (const Run& run : runs) {
      if (run.run_type != Run::RT_Iteration) continue;
      failed_ |= run.error_occurred;
      const double seconds = run.real_accumulated_time / static_cast<double>(std::max<int64_t>(run.iterations, 1));
      auto [at, is_new] = seconds_.emplace(run.run_name.function_name, seconds);
      if (!is_new) at->second = std::min(at->second, seconds);
    }
  }
  bool failed() const { return failed_; }
  double operator[](const std::string& name) const {
    const auto found = seconds_.find(name);
    return found == seconds_.end() ? 0 : found->second;
  }

 private:
  std::map<std::string, double> seconds_;
  bool failed_ = false;
};

/// Told apart by the peer too.
std::string title(const Pair& pair) { return pair.row.name + " | " + pair.row.peer_name; }

void add(const std::string& name, const Side& side, int rounds) {
  benchmark::RegisterBenchmark(name.c_str(),
                               [&side](benchmark::State& state) {
                                 for (auto _ : state) {
                                   double seconds = 0;
                                   if (!time_side(side, seconds)) return state.SkipWithError("failed");
                                   state.SetIterationTime(seconds);
                                 }
                               })
      ->UseManualTime()
      ->Iterations(1)
      ->Repetitions(rounds);
}

}  // namespace

bool measure(std::vector<Pair>& pairs, const Options& options) {
  std::vector<std::string> flags = {"bench", "--benchmark_enable_random_interleaving=true"};
  std::vector<char*> argv;
  for (std::string& flag : flags) argv.push_back(flag.data());
  int argc = static_cast<int>(argv.size());
  benchmark::Initialize(&argc, argv.data());
  for (const Pair& pair : pairs) {
    add(title(pair) + ": ours", pair.ours, options.rounds);
    if (pair.peer.run) add(title(pair) + ": peer", pair.peer, options.rounds);
  }
  Least least;
  benchmark::RunSpecifiedBenchmarks(&least);
  benchmark::Shutdown();
  for (Pair& pair : pairs) {
    Row& row = pair.row;
    const auto figure = [&](double work, double seconds) {
      return work > 0 ? (seconds > 0 ? work / seconds / pair.scale : 0) : seconds / pair.scale;
    };
    row.ours = figure(pair.work, least[title(pair) + ": ours"]);
    if (pair.peer.run)
      row.peer = figure(pair.peer_work > 0 ? pair.peer_work : pair.work, least[title(pair) + ": peer"]);
    fmt::print("{:<44} {:>8.4g} {}, {} {:.4g}: x{:.2f}; bar x{:g}: {}\n", row.name, row.ours, row.unit, row.peer_name,
               row.peer, row.ratio(), pair.bar, row.ratio() >= pair.bar ? "met" : "MISSED");
  }
  return !least.failed();
}

}  // namespace tlxjit::bench
