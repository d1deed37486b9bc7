// bench/cpu/runtime_cases.cpp — what a JitFunction adds to a launch, and what a call of a new key waits for.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "bench/cpu/cpu_cases.h"

namespace tlxjit::bench {

namespace {

using Clock = std::chrono::steady_clock;

double seconds(Clock::time_point from) { return std::chrono::duration<double>(Clock::now() - from).count(); }

bool fault(const Error& error) {
  fmt::print(stderr, "{}\n", to_string(error));
  return false;
}

void add(std::vector<Row>& rows, std::string name, const char* unit, double value, double bar, std::string peer) {
  fmt::print("{}: {:.1f} {}, bar {:.1f}: {}\n", name, value, unit, bar, value <= bar ? "met" : "MISSED");
  rows.push_back({std::move(name), unit, value, bar, std::move(peer), ""});
}

Kernel jagged(const Signature&, const Config&) {
  return attention(attention_config("cpu", {.elem = Elem::f32, .head = 64, .jagged = true, .lse = false}));
}

/// Jagged attention of an empty batch: a call is its checks and nothing else. By turns, the quickest round of each.
bool dispatch(const Engine& engine, const Device& device, bool quick, std::vector<Row>& rows) {
  JitOptions options;
  options.tier = Tier::Wait;
  const JitFunction function(engine, device, "attention", jagged, options);
  alignas(64) static float room[64 * 64];
  alignas(64) static int32_t offsets[2] = {};
  const TensorArg x = tensor<float>(room, {0, 4, 64});
  const Argument arguments[] = {x, x, x, x, tensor<int32_t>(offsets, {1}), 0.125f};
  auto executable = function.version(arguments);
  if (!executable) return fault(executable.error());
  const int calls = quick ? 2'000 : 50'000;
  double bare = 1, through = 1;
  for (int round = 0; round < 20; ++round) {
    auto from = Clock::now();
    for (int i = 0; i < calls; ++i)
      if (auto done = executable->launch(Stream(), arguments); !done) return fault(done.error());
    bare = std::min(bare, seconds(from) / calls);
    from = Clock::now();
    for (int i = 0; i < calls; ++i)
      if (auto done = function.launch(Stream(), arguments); !done) return fault(done.error());
    through = std::min(through, seconds(from) / calls);
  }
  add(rows, "warm call of a JitFunction over its executable's, jagged attention", "ns", (through - bare) * 1e9, 150,
      fmt::format("bar; the executable's call takes {:.0f} ns", bare * 1e9));
  return true;
}

/// The first call of each of 20 new keys, whose generic version is there. Each tier has an engine that has compiled
/// nothing.
bool first_calls(const CpuOptions& cpu, std::vector<Row>& rows) {
  alignas(64) static float room[4][96 * 64];
  alignas(64) static int32_t offsets[2] = {};
  double median[2] = {}, warm = 0;
  for (const Tier tier : {Tier::Background, Tier::Wait}) {
    const Engine engine = cpu_engine(cpu, 2);
    const auto device = engine.device("cpu");
    if (!device) return fault(device.error());
    JitOptions options;
    options.tier = tier;
    options.numbers = {{"T", Policy::exact()}};
    const JitFunction function(engine, *device, "attention", jagged, options);
    const auto call = [&](int32_t tokens) {
      offsets[1] = tokens;
      const auto x = [&](int i) { return tensor<float>(room[i], {tokens, 1, 64}); };
      return function.launch({x(0), x(1), x(2), x(3), tensor<int32_t>(offsets, {2}), 0.125f});
    };
    if (auto done = call(32); !done) return fault(done.error());  // the generic version, too
    function.wait();
    std::vector<double> times, again;
    for (int32_t tokens = 40; tokens < 60; ++tokens) {
      auto from = Clock::now();
      if (auto done = call(tokens); !done) return fault(done.error());
      times.push_back(seconds(from));
      function.wait();
      for (int i = 0; i < 5; ++i) {
        from = Clock::now();
        if (auto done = call(tokens); !done) return fault(done.error());
        again.push_back(seconds(from));
      }
    }
    std::nth_element(times.begin(), times.begin() + 10, times.end());
    std::nth_element(again.begin(), again.begin() + 50, again.end());
    median[tier == Tier::Wait] = times[10];
    if (tier == Tier::Background) warm = again[50];
  }
  add(rows, "first call of a new key, Background", "us", median[0] * 1e6, 2 * warm * 1e6,
      fmt::format("twice a warm call; under Wait {:.0f} us", median[1] * 1e6));
  return true;
}

}  // namespace

bool add_runtime(const CpuOptions& options, const Options& common, std::vector<Row>& rows) {
  if (!common.wants("JitFunction")) return true;
  const Engine engine = cpu_engine(options, 2);
  const auto device = engine.device("cpu");
  if (!device) return fault(device.error());
  return dispatch(engine, *device, common.quick, rows) && first_calls(options, rows);
}

}  // namespace tlxjit::bench
