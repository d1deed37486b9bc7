// bench/cpu/runtime_cases.cpp — what a JitFunction adds to a launch, and what a call of a new key waits for.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "bench/cpu/cpu_cases.h"

namespace tlxjit::bench {

namespace {

using Clock = std::chrono::steady_clock;

double seconds(Clock::time_point from) { return std::chrono::duration<double>(Clock::now() - from).count(); }

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
  options.tier = Tier::wait;
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

double median(std::vector<double> times) {
  const auto middle = times.begin() + static_cast<ptrdiff_t>(times.size() / 2);
  std::nth_element(times.begin(), middle, times.end());
  return *middle;
}

double percentile_90(std::vector<double> times) {
  std::sort(times.begin(), times.end());
  return times[times.size() * 9 / 10];
}

struct FirstCalls {
  std::vector<double> first, warm;  // seconds
};

/// Calls of attention of few tokens, each number of them a key of its own, one after the other without a pause, or each
/// after a pause of 10 ms, as on an idle machine, whose processor sleeps meanwhile. Each key's first call, and of the
/// others those between compiles, which run versions of their own.
bool first_calls(const CpuOptions& cpu, Tier tier, bool pauses, FirstCalls& times) {
  alignas(64) static float room[4][96 * 64];
  alignas(64) static int32_t offsets[2] = {};
  const Engine engine = cpu_engine(cpu, 2);  // it has compiled nothing
  const auto device = engine.device("cpu");
  if (!device) return fault(device.error());
  JitOptions options;
  options.tier = tier;
  options.numbers = {{"T", Policy::exact()}};
  const JitFunction function(engine, *device, "attention", jagged, options);
  const auto call = [&](int32_t tokens, std::vector<double>* to = nullptr) {
    offsets[1] = tokens;
    const auto x = [&](int i) { return tensor<float>(room[i], {tokens, 1, 64}); };
    if (to && pauses) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    const auto from = Clock::now();
    const auto done = function.launch({x(0), x(1), x(2), x(3), tensor<int32_t>(offsets, {2}), 0.125f});
    if (to) to->push_back(seconds(from));
    return done ? true : fault(done.error());
  };
  if (!call(39)) return false;  // the generic version, too
  function.wait();
  for (int32_t tokens = 40; tokens < 96; ++tokens) {
    for (int i = 0; i < 10; ++i)
      if (!call(tokens - 1, i < 5 ? nullptr : &times.warm)) return false;
    const uint64_t before = function.counters().versions;
    if (!call(tokens, &times.first)) return false;
    while (function.counters().versions == before && function.counters().failures == 0)
      if (!call(tokens)) return false;
  }
  return true;
}

/// What a new key costs its first call, beside a call that finds its version.
bool new_keys(const CpuOptions& cpu, std::vector<Row>& rows) {
  FirstCalls waited;
  if (!first_calls(cpu, Tier::wait, false, waited)) return false;
  for (const bool pauses : {false, true}) {
    FirstCalls times;
    if (!first_calls(cpu, Tier::background, pauses, times)) return false;
    add(rows,
        std::string("first call of a new key, Background, ") + (pauses ? "after a pause" : "in a stream of calls"),
        "us", median(times.first) * 1e6, 2 * median(times.warm) * 1e6,
        fmt::format("twice a warm call {}; nine of ten take {:.0f} us at most; under Wait {:.0f} us",
                    pauses ? "after such a pause" : "of the stream", percentile_90(times.first) * 1e6,
                    median(waited.first) * 1e6));
  }
  return true;
}

}  // namespace

bool add_runtime(const CpuOptions& options, const Options& common, std::vector<Row>& rows) {
  if (!common.wants("JitFunction")) return true;
  const Engine engine = cpu_engine(options, 2);
  const auto device = engine.device("cpu");
  if (!device) return fault(device.error());
  return dispatch(engine, *device, common.quick, rows) && new_keys(options, rows);
}

}  // namespace tlxjit::bench
