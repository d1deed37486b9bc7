// bench/cpu/cpu_bench.cpp — the CPU back end: speed against OpenBLAS, compile times, calls, memory.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <random>
#include <sstream>

#include "bench/cpu/cpu_cases.h"

namespace tlxjit::bench {
namespace {

/// Log-normal, as the prompts of a chat service are: median 760, a tail of thousands.
std::vector<int64_t> drawn_lengths(size_t count) {
  std::mt19937 random(1);
  std::vector<int64_t> lengths;
  while (lengths.size() < count) {
    // Not std::lognormal_distribution, which differs between libraries.
    const double u = (static_cast<double>(random()) + 0.5) * 0x1p-32, v = static_cast<double>(random()) * 0x1p-32;
    const double normal = std::sqrt(-2 * std::log(u)) * std::cos(6.283185307179586 * v);
    lengths.push_back(std::max<int64_t>(1, std::llround(std::exp(6.63 + 0.99 * normal))));
  }
  return lengths;
}

/// The first column, or that named `context_tokens`, of a CSV file with or without a header.
std::vector<int64_t> read_lengths(const std::string& path, size_t count) {
  std::ifstream file(path);
  std::vector<int64_t> lengths;
  size_t column = 0;
  for (std::string line; lengths.size() < count && std::getline(file, line);) {
    std::stringstream fields(line);
    std::string field;
    for (size_t i = 0; std::getline(fields, field, ','); ++i) {
      if (field == "context_tokens") column = i;
      if (i != column) continue;
      if (const int64_t n = std::strtoll(field.c_str(), nullptr, 10); n > 0) lengths.push_back(n);
      break;
    }
  }
  return lengths;
}

int run(const Options& common, CpuOptions& options) {
  const std::string data = fmt::format("sequences of {} ({})", fmt::join(options.lengths, " "), options.lengths_from);
  fmt::print("{}\n", data);
  std::vector<Pair> pairs;
  if (!add_speed(pairs, options, common) || !add_latency(pairs, options, common)) return 1;
  if (!measure(pairs, common)) return 1;
  Report report;
  report.bench = "cpu";
  report.device = cpu_name();
  report.data = data;
  for (const Pair& pair : pairs) report.rows.push_back(pair.row);
  if (!add_runtime(options, common, report.rows) || !memory_rounds(options, common, report.rows)) return 1;
  if (!report.write(common)) return 1;
  fmt::print("results: {}\n", report.path(common));
  return 0;
}

}  // namespace

Engine cpu_engine(const CpuOptions& options, int threads) {
  EngineOptions o;
  o.cpu_plugin = options.plugin;
  o.cpu_threads = threads;
  o.disk_cache = false;
  return Engine(o);
}

bool fault(const Error& error) {
  fmt::print(stderr, "{}\n", to_string(error));
  return false;
}

}  // namespace tlxjit::bench

int main(int argc, char** argv) {
  using namespace tlxjit::bench;
  CpuOptions options;
  std::string file;
  size_t count = 8;
  std::vector<char*> rest = {argv[0]};
  for (int i = 1; i < argc; ++i) {
    const auto takes = [&](const char* name) { return std::strcmp(argv[i], name) == 0 && i + 1 < argc; };
    if (takes("--lengths"))
      file = argv[++i];
    else if (takes("--sequences"))
      count = static_cast<size_t>(std::max(std::atoi(argv[++i]), 1));
    else if (takes("--plugin"))
      options.plugin = argv[++i];
    else
      rest.push_back(argv[i]);
  }
  const Options common = parse_options(
      static_cast<int>(rest.size()), rest.data(),
      "the CPU back end; also: --lengths FILE (CSV, lengths of sequences), --sequences N (8), --plugin FILE");
  options.lengths_from = file.empty() ? "drawn, log-normal" : file.substr(file.rfind('/') + 1) + ", the first";
  options.lengths = file.empty() ? drawn_lengths(count) : read_lengths(file, count);
  if (options.lengths.empty()) {
    fmt::print(stderr, "no lengths in {}\n", file);
    return 2;
  }
  return run(common, options);
}
