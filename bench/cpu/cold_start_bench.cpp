// bench/cpu/cold_start_bench.cpp — a fresh process whose 100 kernels are on disk: what a kernel costs until it can run.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fmt/format.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>

#include "bench/common/code.h"
#include "bench/common/report.h"
#include "tlxjit/tlxjit.h"

namespace tlxjit::bench {
namespace {

constexpr int kernels_in_all = 100;
constexpr double bar_ms = 1;

using Clock = std::chrono::steady_clock;

double ms_since(Clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

double cpu_ms() {
  timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) * 1e3 + static_cast<double>(t.tv_nsec) * 1e-6;
}

/// GEMM and attention by turns, all different.
std::vector<Kernel> all_kernels() {
  std::vector<Kernel> all;
  for (int i = 0; static_cast<int>(all.size()) < kernels_in_all; ++i) {
    GemmConfig g = gemm_config("cpu", i % 2 ? Elem::bf16 : Elem::f32);
    g.stages = 2 + i % 5;
    g.group = 1 + i;
    all.push_back(gemm(g));
    AttentionConfig a = attention_config(
        "cpu", {.elem = i % 2 ? Elem::bf16 : Elem::f32, .head = 64, .causal = i % 4 >= 2, .jagged = i % 8 >= 4});
    a.stages = 2 + i % 3;
    a.options.left = i;
    all.push_back(attention(a));
  }
  return all;
}

/// Of a run over all kernels; times in milliseconds.
struct Run {
  double plugin = 0;    ///< the engine and its device: the plug-in is loaded
  double wall = 0;      ///< all kernels, from the call of compile to its return
  double found = 0;     ///< of that what it took from the verified kernel to the executable
  double worst = 0;     ///< the kernel that took longest
  double look_up = 0;   ///< read from disk, checked, parsed, planned
  double load = 0;      ///< linked
  double cpu = 0;       ///< time of the thread over all of `wall`: less than that where others run too
  double compiles = 0;  ///< that ran a compiler

  static constexpr size_t fields = 8;
  std::array<double*, fields> all() { return {&plugin, &wall, &found, &worst, &look_up, &load, &cpu, &compiles}; }
};

std::optional<Run> run_all(const std::string& directory) {
  const std::vector<Kernel> kernels = all_kernels();
  Run run;
  auto begin = Clock::now();
  EngineOptions options;
  options.cache_directory = directory;
  if (const char* plugin = std::getenv("TLXJIT_CPU_PLUGIN")) options.cpu_plugin = plugin;
  options.read_environment = false;
  options.log = [](std::string_view line) { fmt::print(stderr, "{}\n", line); };
  const Engine engine(options);
  auto device = engine.device("cpu");
  if (!device) return print_error("cpu", device.error()), std::nullopt;
  run.plugin = ms_since(begin);
  for (const Kernel& kernel : kernels) {
    begin = Clock::now();
    const double cpu_begin = cpu_ms();
    auto exe = engine.compile(kernel, *device);
    if (!exe) return print_error("cold start", exe.error()), std::nullopt;
    const double wall = ms_since(begin), found = wall - exe->times().verify;
    run.cpu += cpu_ms() - cpu_begin;
    run.wall += wall;
    run.found += found;
    run.worst = std::max(run.worst, found);
    run.look_up += exe->times().look_up;
    run.load += exe->times().load;
  }
  run.compiles = static_cast<double>(engine.counters().compiles);
  return run;
}

/// In a process of its own.
std::optional<Run> run_fresh(const std::string& directory) {
  const std::string command =
      fmt::format("{} --of '{}'", std::filesystem::read_symlink("/proc/self/exe").string(), directory);
  FILE* const output = popen(command.c_str(), "r");
  if (!output) return {};
  Run run;
  bool whole = true;
  for (double* field : run.all()) whole = whole && std::fscanf(output, "%lf", field) == 1;
  if (pclose(output) != 0 || !whole) return {};
  return run;
}

int run(const Options& options) {
  std::string directory = (std::filesystem::temp_directory_path() / "tlxjit-cold-XXXXXX").string();
  if (!mkdtemp(directory.data())) return fmt::print(stderr, "ERROR no directory for the cache\n"), 1;
  struct Remove {
    const std::string& path;
    ~Remove() {
      std::error_code ignored;
      std::filesystem::remove_all(path, ignored);
    }
  } remove{directory};
  const auto empty = run_fresh(directory);
  if (!empty) return 1;
  std::vector<Run> runs;
  const int rounds = options.quick ? 3 : std::max(options.rounds, 1);
  while (static_cast<int>(runs.size()) < rounds) {
    const auto full = run_fresh(directory);
    if (!full) return 1;
    if (full->compiles > 0 || empty->compiles != kernels_in_all)
      return fmt::print(stderr, "ERROR {} of {} kernels were compiled again\n", full->compiles, empty->compiles), 1;
    runs.push_back(*full);
  }
  std::sort(runs.begin(), runs.end(), [](const Run& a, const Run& b) { return a.found < b.found; });
  const Run& median = runs[runs.size() / 2];
  constexpr double n = kernels_in_all;
  fmt::print("empty cache: {} compiles, {:.2f} ms a kernel; plug-in loaded in {:.1f} ms\n", empty->compiles,
             empty->found / n, empty->plugin);
  fmt::print(
      "full cache:  {:.3f} ms a kernel (read, check, parse, plan {:.3f}, link {:.3f}), the slowest {:.3f}, with the "
      "verifier {:.3f} (CPU time {:.3f}); plug-in loaded in {:.1f} ms; median of {} processes; bar {} ms: {}\n",
      median.found / n, median.look_up / n, median.load / n, median.worst, median.wall / n, median.cpu / n,
      median.plugin, rounds, bar_ms, median.found / n <= bar_ms ? "met" : "MISSED");
  Report report;
  report.bench = "cold_start";
  report.device = cpu_name();
  report.data = fmt::format("{} kernels: GEMM and attention by turns, all different", kernels_in_all);
  const std::string name = fmt::format("cold start, {} kernels on disk: a kernel", kernels_in_all);
  report.rows.push_back({name, "ms", median.found / n, bar_ms, "the bar", ""});
  report.rows.push_back({name + ", the slowest", "ms", median.worst, bar_ms, "the bar", ""});
  report.rows.push_back({name, "ms", median.found / n, empty->found / n, "compiled on an empty cache", ""});
  if (report.write(options)) fmt::print("results: {}\n", report.path(options));
  return 0;
}

int run_of(const std::string& directory) {
  auto run = run_all(directory);
  if (!run) return 1;
  for (const double* field : run->all()) fmt::print("{} ", *field);
  return 0;
}

}  // namespace
}  // namespace tlxjit::bench

int main(int argc, char** argv) {
  if (argc == 3 && std::strcmp(argv[1], "--of") == 0) return tlxjit::bench::run_of(argv[2]);
  return tlxjit::bench::run(tlxjit::bench::parse_options(
      argc, argv,
      "what kernels on disk cost a fresh process; the CPU plug-in is TLXJIT_CPU_PLUGIN, or near the library"));
}
