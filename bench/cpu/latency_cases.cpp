// bench/cpu/latency_cases.cpp — what compiles, calls and dropped kernels cost.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fmt/format.h>
#include <unistd.h>

#include <fstream>

#include "bench/cpu/cpu_cases.h"

namespace tlxjit::bench {
namespace {

double resident_mb() {
  long all = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> all >> resident;
  return static_cast<double>(resident) * static_cast<double>(sysconf(_SC_PAGESIZE)) / (1 << 20);
}

Kernel empty_kernel() {
  Kernel k{"empty"};
  k.grid(1);
  k.task("main").body([] {});
  return k;
}

/// Eight numbers; another kernel for each `value`.
Kernel small_kernel(float value) {
  Kernel k{"small"};
  const Tensor out = k.tensor<float>("out", {k.dim("N")});
  k.grid(1);
  k.task("main").body([&](Task& t) { out.store({0}, t.full<float>({8}, value)); });
  return k;
}

}  // namespace

bool add_latency(std::vector<Pair>& pairs, const CpuOptions& options, const Options& common) {
  const auto engine = std::make_shared<Engine>(cpu_engine(options, 2));
  const auto device = engine->device("cpu");
  if (!device) return fault(device.error());
  const auto bar = [](std::string name, const char* unit, double at_most, double scale, Side side) {
    return Pair{{std::move(name), unit, 0, at_most, "the bar", ""}, 1, 0, scale, std::move(side), {}};
  };
  const auto add_kernel = [&](const std::string& name, const std::function<Kernel()>& build, double bar_ms) {
    if (common.wants("compile " + name)) {
      const auto kernel = std::make_shared<Kernel>(build());
      pairs.push_back(bar("compile " + name, "ms", bar_ms, 1e-3, {[engine, kernel, device] {
                            CompileOptions anew;
                            anew.reuse = false;
                            const auto exe = engine->compile(*kernel, *device, anew);
                            return exe ? true : fault(exe.error());
                          }}));
    }
    if (common.wants("build and verify " + name))
      pairs.push_back(bar("build and verify " + name, "ms", 1, 1e-3,
                          {[build] {
                             const auto module = build().module();
                             return module ? true : fault(module.error());
                           },
                           10}));
  };
  add_kernel("gemm f32", [] { return gemm(gemm_config("cpu", Elem::f32)); }, 40);
  add_kernel("gemm bf16", [] { return gemm(gemm_config("cpu")); }, 40);
  for (Elem elem : {Elem::f32, Elem::bf16})
    for (bool causal : {false, true})
      add_kernel(
          fmt::format("jagged attention {} D64 {}", to_string(elem), causal ? "causal" : "full"),
          [=] {
            return attention(attention_config("cpu", {.elem = elem, .head = 64, .causal = causal, .jagged = true}));
          },
          120);

  if (common.wants("call of an empty kernel, warm")) {
    const auto exe = engine->compile(empty_kernel(), *device);
    if (!exe) return fault(exe.error());
    pairs.push_back(bar("call of an empty kernel, warm", "us", 2, 1e-6,
                        {[engine, exe = *exe] {
                           const auto done = exe.launch({});
                           return done ? true : fault(done.error());
                         },
                         20'000}));
  }
  return true;
}

bool memory_rounds(const CpuOptions& options, const Options& common, std::vector<Row>& rows) {
  const std::string name = "resident set, kernels compiled and dropped";
  if (!common.wants(name)) return true;
  const Engine engine = cpu_engine(options, 1);
  const auto device = engine.device("cpu");
  if (!device) return fault(device.error());
  const int rounds = common.quick ? 1'000 : 10'000;
  double early = 0;
  for (int i = 0; i < rounds; ++i) {
    const auto exe = engine.compile(small_kernel(static_cast<float>(i)), *device);
    if (!exe) return fault(exe.error());
    float out[8];
    const auto done = exe->launch({tensor<float>(out, {8})});
    if (!done) return fault(done.error());
    if (i + 1 == rounds / 10) early = resident_mb();
  }
  const double late = resident_mb();
  fmt::print("{}: {:.1f} MB after {} rounds, {:.1f} MB after {}\n", name, early, rounds / 10, late, rounds);
  rows.push_back({name, "MB", late, early, fmt::format("after {} rounds of {}", rounds / 10, rounds), ""});
  return true;
}

}  // namespace tlxjit::bench
