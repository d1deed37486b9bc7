// tests/stress/jit_process.cpp — engines and functions under threads that call, warm, evict and end them.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//   stress_jit_process <directory of the disk cache> <seconds at least> <seed>
//
// Ends with 0 if every call gave its numbers or an error that it may give; else says what was wrong.
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "tlxjit/tlxjit.h"

namespace {

using namespace tlxjit;
using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

std::atomic<uint64_t> calls{0}, refused{0}, given_up{0}, warmed{0}, worlds{0}, compiles{0}, disk_hits{0}, evictions{0},
    lines{0}, events{0}, wrong{0};

/// The first few are told.
void is_wrong(const std::string& what) {
  if (++wrong <= 5) std::fprintf(stderr, "%d: %s\n", getpid(), what.c_str());
}

class Random {
 public:
  explicit Random(uint64_t seed) : engine_(seed) {}
  /// From 0 to below `end`.
  size_t below(size_t end) { return std::uniform_int_distribution<size_t>(0, end - 1)(engine_); }
  bool one_in(size_t n) { return below(n) == 0; }

 private:
  std::mt19937_64 engine_;
};

/// out[i] = 2 · in[i] + n + salt for i < N.
Kernel doubled(int salt) {
  Kernel k{"doubled"};
  const Index size = k.dim("N");
  const Tensor in = k.tensor<float>("in", {size}), out = k.tensor<float>("out", {size});
  const Scalar n = k.scalar<int32_t>("n");
  const Tiles tiles = k.tiles(ceil_div(size, 64), 1);
  k.task("main").body([&](Task&) {
    tiles.each([&](Index i, Index) {
      const Tile x = in.load_tile({i * 64}, {64});
      out.store({i * 64}, x * 2 + n.to(Elem::f32) + static_cast<float>(salt));
    });
  });
  return k;
}

constexpr Tier tiers[] = {Tier::wait, Tier::background, Tier::sealed, Tier::warn};

/// An engine and functions of it. Who holds one of them may go on when the engine has ended.
struct World {
  static constexpr int functions_made = 6;

  World(const std::string& directory, Random& random) : engine(options(directory)), device(*engine.device("cpu")) {
    ++worlds;
    for (int salt = 0; salt < functions_made; ++salt) {
      JitOptions o;
      o.numbers = {{"n", salt % 3 == 0   ? Policy::exact()
                         : salt % 3 == 1 ? Policy::divisible(4)
                                         : Policy::buckets({5, 11, 17})}};
      if (random.one_in(2)) o.numbers["N"] = Policy::powers_of_two();
      o.tier = tiers[random.below(4)];
      o.max_versions = 1 + random.below(6);
      o.stable = random.one_in(4);
      if (random.one_in(3)) o.compile.time_limit = milliseconds(1 + random.below(200));
      functions.emplace_back(
          engine, device, "doubled", [salt](const Signature&, const Config&) { return doubled(salt); }, std::move(o));
    }
  }
  ~World() {
    const EngineCounters c = engine.counters();
    compiles += c.compiles;
    disk_hits += c.disk_hits;
    evictions += c.memory_evictions + c.disk.evictions;
    if (c.disk.bad_entries > 0) is_wrong("the disk cache had bad entries");
  }
  static EngineOptions options(const std::string& directory) {
    EngineOptions o;
    o.cpu_plugin = TLXJIT_TEST_PLUGIN;
    o.cpu_threads = 2;
    o.background_threads = 2;
    o.background_queue = 4;
    o.kept_kernels = 8;
    o.cache_directory = directory;
    o.cache_bytes = 400000;  // some forty entries, so that sweeps take what others read
    o.read_environment = false;
    o.log = [](std::string_view) { ++lines; };
    o.event = [](const Event&) { ++events; };
    return o;
  }

  Engine engine;
  Device device;
  std::vector<JitFunction> functions;
};

class Stress {
 public:
  Stress(std::string directory, int seconds, uint64_t seed)
      : directory_(std::move(directory)), end_(Clock::now() + std::chrono::seconds(seconds)), seed_(seed) {
    Random random(seed);
    world_ = std::make_shared<World>(directory_, random);
  }

  void run() {
    std::vector<std::thread> threads;
    const auto add = [&](void (Stress::*turn)(Random&)) {
      threads.emplace_back([this, turn, seed = seed_ * 100 + threads.size()] {
        Random random(seed);
        while (Clock::now() < end_ || !tried()) (this->*turn)(random);
      });
    };
    for (int i = 0; i < 4; ++i) add(&Stress::call);
    add(&Stress::warm);
    add(&Stress::warm);
    add(&Stress::change_tiers);
    add(&Stress::look);
    add(&Stress::compile_and_stop);
    add(&Stress::end_worlds);
    for (std::thread& thread : threads) thread.join();
    world_.reset();
  }

 private:
  /// Where nothing of a kind happened it was not tried. What engines did is counted as their worlds end.
  static bool tried() { return calls > 100 && worlds > 1 && compiles > 0 && disk_hits > 0; }
  std::shared_ptr<World> world() {
    std::lock_guard lock(mutex_);
    return world_;
  }
  /// One of the functions, whose engine may end while it is used.
  std::pair<JitFunction, int> function(Random& random) {
    const auto all = world();
    const size_t salt = random.below(all->functions.size());
    return {all->functions[salt], static_cast<int>(salt)};
  }

  /// Runs `launch` on arguments, and compares.
  static void check(Random& random, int salt, const std::function<Result<void>(std::vector<Argument>)>& launch) {
    const size_t size = 1 + random.below(300);
    const auto n = static_cast<int32_t>(random.below(24));
    std::vector<float> in(size + 5), out(size + 5, -7.f);
    for (size_t i = 0; i < in.size(); ++i) in[i] = static_cast<float>(i % 97);
    const size_t offset = random.below(5);  // not all are aligned
    const auto extent = static_cast<int64_t>(size);
    ++calls;
    const auto done =
        launch({tensor<float>(in.data() + offset, {extent}), tensor<float>(out.data() + offset, {extent}), n});
    if (!done) return may_fail(done.error());
    for (size_t i = 0; i < out.size(); ++i) {
      const bool inside = i >= offset && i < offset + size;
      if (out[i] == (inside ? 2 * in[i] + static_cast<float>(n + salt) : -7.f)) continue;
      return is_wrong("element " + std::to_string(i) + " of " + std::to_string(size) + " at " + std::to_string(offset) +
                      " with n = " + std::to_string(n) + ", salt " + std::to_string(salt) + " is " +
                      std::to_string(out[i]));
    }
  }
  static void may_fail(const Error& error) {
    switch (error.code) {
      case ErrorCode::not_compiled: ++refused; return;
      case ErrorCode::timed_out:
      case ErrorCode::cancelled: ++given_up; return;
      case ErrorCode::out_of_resources:
        if (error.message.find("left behind") != std::string::npos) return static_cast<void>(++given_up);
        break;
      default: break;
    }
    is_wrong(to_string(error));
  }

  void call(Random& random) {
    const auto [f, salt] = function(random);
    for (size_t i = random.below(50); i-- > 0;)
      check(random, salt, [&f = f](const std::vector<Argument>& arguments) { return f.launch(Stream(), arguments); });
  }
  /// Of the keys that another function has loaded, some of which are of other kernels.
  void warm(Random& random) {
    const auto [from, salt] = function(random);
    const auto [to, other] = function(random);
    std::string manifest;
    {
      std::lock_guard lock(mutex_);
      if (random.one_in(2) || manifests_.empty()) manifests_.push_back(from.manifest());
      if (manifests_.size() > 20) manifests_.erase(manifests_.begin());
      manifest = manifests_[random.below(manifests_.size())];
    }
    WarmOptions o;
    o.threads = 1 + static_cast<int>(random.below(3));
    const size_t most = random.below(8);
    const bool throws = random.one_in(10);
    o.progress = [&](const WarmProgress& p) {
      if (throws && p.done > most) throw std::runtime_error("told enough");
      return p.done <= most;
    };
    const auto report = to.warm(manifest, o);
    if (report)
      warmed += report->compiled;
    else if (!throws)
      is_wrong("warm: " + to_string(report.error()));
    std::this_thread::sleep_for(milliseconds(random.below(20)));
  }
  void change_tiers(Random& random) {
    function(random).first.set_tier(tiers[random.below(4)]);
    std::this_thread::sleep_for(milliseconds(random.below(10)));
  }
  void look(Random& random) {
    const auto f = function(random).first;
    switch (random.below(4)) {
      case 0: f.wait(); break;
      case 1: static_cast<void>(f.keys()); break;
      case 2:
        if (const JitCounters c = f.counters(); c.failures > c.compiles) is_wrong("more failures than compiles");
        break;
      default: {
        const auto held = world();
        static_cast<void>(held->engine.counters());
        held->engine.settle();
      }
    }
    std::this_thread::sleep_for(milliseconds(random.below(5)));
  }
  /// A compile of its own that another thread may stop, or its limit end.
  void compile_and_stop(Random& random) {
    const auto held = world();
    const int salt = static_cast<int>(random.below(12));
    std::stop_source stop;
    CompileOptions o;
    o.reuse = random.one_in(2);
    if (random.one_in(2)) o.stop = stop.get_token();
    if (random.one_in(3)) o.time_limit = milliseconds(1 + random.below(100));
    std::optional<std::thread> stopper;
    if (random.one_in(2))
      stopper.emplace([&stop, ms = random.below(60)] {
        std::this_thread::sleep_for(milliseconds(ms));
        stop.request_stop();
      });
    const auto exe = held->engine.compile(doubled(salt), held->device, o);
    if (stopper) stopper->join();
    if (!exe) return may_fail(exe.error());
    check(random, salt, [&](const std::vector<Argument>& arguments) { return exe->launch(Stream(), arguments); });
  }
  void end_worlds(Random& random) {
    std::this_thread::sleep_for(milliseconds(random.below(800)));
    auto fresh = std::make_shared<World>(directory_, random);
    std::lock_guard lock(mutex_);
    // The old one ends here, or with the last who uses it.
    world_.swap(fresh);
  }

  const std::string directory_;
  const Clock::time_point end_;
  const uint64_t seed_;
  std::mutex mutex_;
  std::shared_ptr<World> world_;
  std::vector<std::string> manifests_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  const int seconds = std::atoi(argv[2]);
  alarm(static_cast<unsigned>(seconds + 300));  // a hang ends in a signal
  Stress(argv[1], seconds, std::strtoull(argv[3], nullptr, 10)).run();
  const auto number = [](const std::atomic<uint64_t>& n) { return static_cast<unsigned long long>(n.load()); };
  std::printf(
      "%llu calls, %llu of them refused and %llu compiles given up; %llu engines, %llu compiles, %llu from disk, %llu "
      "warmed, %llu evicted; %llu lines, %llu events\n",
      number(calls), number(refused), number(given_up), number(worlds), number(compiles), number(disk_hits),
      number(warmed), number(evictions), number(lines), number(events));
  return wrong > 0;
}
