// bench/cpu/compile_bench.cpp — what it costs to make the two kernels: our share, and NVRTC's against the prototypes.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <optional>
#include <utility>

#include "backends/nvidia/emit/emit_p.h"
#include "bench/common/code.h"
#include "bench/common/prototype_source.h"
#include "bench/common/report.h"
#include "src/passes/lower_p.h"
#include "tlxjit/kernels/attention.h"
#include "tlxjit/kernels/gemm.h"

namespace tlxjit::bench {
namespace {

struct Case {
  std::string name;
  std::function<Kernel()> build;
  double bar_ms;
  std::string kind;  ///< of the prototype
  Macros macros;
};

std::vector<Case> cases() {
  const auto attention_case = [](bool causal) {
    constexpr int sequence = 8192;
    return Case{fmt::format("compile attention fwd D128 {}", causal ? "causal" : "full"),
                [causal] { return attention(attention_config("sm_90a", {.causal = causal}, sequence)); }, 30, "fa",
                attention_macros(causal, false, sequence)};
  };
  return {{"compile gemm bf16 TN", [] { return gemm(gemm_config("sm_90a")); }, 15, "gemm", gemm_macros()},
          attention_case(false),
          attention_case(true)};
}

/// A kernel as CUDA C++ for sm_90a.
struct Generated {
  nvidia::EmittedKernel emitted;
  std::string hash;
  double build_ms = 0;  ///< the builder's calls
  StageTimes times;     ///< verify, lower and emit
  double total_ms() const { return build_ms + times.ours(); }
};

Result<Generated> generate(const std::function<Kernel()>& build) {
  using Clock = std::chrono::steady_clock;
  auto last = Clock::now();
  const auto lap = [&] {
    const auto before = std::exchange(last, Clock::now());
    return std::chrono::duration<double, std::milli>(last - before).count();
  };
  Generated made;
  const Kernel kernel = build();
  made.build_ms = lap();
  const auto portable = kernel.module();  // verified
  if (!portable) return portable.error();
  made.times.verify = lap();
  const auto target = find_target("sm_90a");
  if (!target) return target.error();
  const auto lowered = lower(*portable, *target);
  if (!lowered) return lowered.error();
  made.times.lower = lap();
  auto emitted = nvidia::emit_cuda(*lowered);
  if (!emitted) return emitted.error();
  made.times.emit = lap();
  made.emitted = std::move(*emitted);
  Resources resources;
  resources.threads = made.emitted.abi.threads;
  resources.shared_bytes = made.emitted.abi.shared_bytes;
  resources.workspace_words = made.emitted.abi.workspace_words;
  made.hash = code_hash(made.emitted.source, resources);
  return made;
}

struct Spread {
  double least = 0, median = 0;
};

Spread spread(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return {values.front(), values[values.size() / 2]};
}

/// Our stages, `count` times.
std::optional<Generated> time_stages(const Case& c, int count, Report& report) {
  std::vector<Generated> all;
  for (int i = 0; i < count; ++i) {
    auto made = generate(c.build);
    if (!made) {
      print_error(c.name, made.error());
      return {};
    }
    if (i > 0 && made->hash != all[0].hash) {
      fmt::print(stderr, "ERROR {}: two runs gave different code\n", c.name);
      return {};
    }
    all.push_back(std::move(*made));
  }
  fmt::print("{:<34}", c.name);
  const auto column = [&](const char* label, auto&& stage) {
    std::vector<double> values;
    for (const Generated& g : all) values.push_back(stage(g));
    const Spread s = spread(std::move(values));
    fmt::print(" {} {:.2f}/{:.2f}", label, s.least, s.median);
    return s;
  };
  column("build", [](const Generated& g) { return g.build_ms; });
  column("verify", [](const Generated& g) { return g.times.verify; });
  column("lower", [](const Generated& g) { return g.times.lower; });
  column("emit", [](const Generated& g) { return g.times.emit; });
  const Spread total = column("all", [](const Generated& g) { return g.total_ms(); });
  fmt::print(" ms (min/median of {}); bar {} ms: {}\n", count, c.bar_ms, total.least <= c.bar_ms ? "met" : "MISSED");
  report.rows.push_back({c.name + ": our share, min", "ms", total.least, c.bar_ms, "the bar", all[0].hash});
  report.rows.push_back({c.name + ": our share, median", "ms", total.median, c.bar_ms, "the bar", all[0].hash});
  return std::move(all[0]);
}

/// NVRTC on ours and the prototype by turns; CPU time, least of `count`.
bool time_nvrtc(const Case& c, const Generated& ours, const nvidia::Nvrtc& nvrtc, const Options& options, int count,
                Report& report) {
  std::optional<PrototypeSource> peer;
  if (!options.prototypes.empty()) {
    auto source = prototype_source(options.prototypes, c.kind, c.macros);
    if (!source) return print_error(c.name, source.error()), false;
    peer = std::move(*source);
  }
  std::vector<double> our_ms, peer_ms;
  Code our_code, peer_code;
  for (int i = 0; i < count; ++i) {
    auto code = compile_source(nvrtc, ours.emitted.source, ours.emitted.entry);
    if (!code) return print_error(c.name, code.error()), false;
    our_code = std::move(*code);
    our_ms.push_back(our_code.cpu_ms);
    if (!peer) continue;
    auto other = compile_source(nvrtc, peer->source, peer->entry);
    if (!other) return print_error(peer->name, other.error()), false;
    peer_code = std::move(*other);
    peer_ms.push_back(peer_code.cpu_ms);
  }
  std::string name = c.name.substr(c.name.find(' ') + 1);
  std::replace(name.begin(), name.end(), ' ', '-');
  dump(options.dump, name, our_code);
  our_code.cpu_ms = spread(our_ms).least;
  std::vector<CodeColumn> columns = {{"ours", &our_code}};
  fmt::print("{:<34} NVRTC cpu {:.1f} ms (min of {})", c.name, our_code.cpu_ms, count);
  if (peer) {
    dump(options.dump, name + "-prototype", peer_code);
    peer_code.cpu_ms = spread(peer_ms).least;
    columns.push_back({"prototype", &peer_code});
    const double times = our_code.cpu_ms / peer_code.cpu_ms;
    fmt::print(", prototype {:.1f} ms, x{:.2f}; bar x1.15: {}", peer_code.cpu_ms, times,
               times <= 1.15 ? "met" : "MISSED");
    report.rows.push_back(
        {c.name + ": NVRTC cpu, min", "ms", our_code.cpu_ms, peer_code.cpu_ms, peer->name, ours.hash});
  }
  fmt::print("\n");
  print_code(columns);
  fmt::print("\n");
  return true;
}

int run(const Options& options) {
  Report report;
  report.bench = "compile";
  report.device = cpu_name();
  auto nvrtc = open_nvrtc();
  if (nvrtc)
    report.compiler = (*nvrtc)->identity();
  else
    print_error("NVRTC (only our share is measured; TLXJIT_NVRTC_DIR names its folder)", nvrtc.error());
  if (options.prototypes.empty()) fmt::print("no prototypes (--prototypes FOLDER): NVRTC's time has no peer\n");
  bool good = nvrtc.ok();
  for (const Case& c : cases()) {
    if (!options.wants(c.name)) continue;
    const auto made = time_stages(c, options.quick ? 5 : 30, report);
    if (!made)
      good = false;
    else if (nvrtc)
      good = time_nvrtc(c, *made, **nvrtc, options, options.quick ? 2 : 5, report) && good;
  }
  if (report.write(options)) fmt::print("results: {}\n", report.path(options));
  return good ? 0 : 1;
}

}  // namespace
}  // namespace tlxjit::bench

int main(int argc, char** argv) {
  return tlxjit::bench::run(
      tlxjit::bench::parse_options(argc, argv, "compile times, ours and NVRTC's; needs no device"));
}
