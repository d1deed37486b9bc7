// tests/unit/runtime/loaded_modules_test.cpp — one bound over what the engine's cache and its functions have loaded.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <thread>

#include "src/runtime/executable_p.h"
#include "tests/unit/runtime/child.h"
#include "tests/unit/runtime/jit_fixture.h"

namespace tlxjit::runtime_test {
namespace {

using ::testing::HasSubstr;

Kernel filled(int value) {
  Kernel k{"filled"};
  const Tensor out = k.tensor<int32_t>("out", {k.dim("N")});
  k.grid(1);
  k.task("main").body([&](Task& t) { out.store({0}, t.full<int32_t>({8}, value)); });
  return k;
}

JitOptions by_number(Tier tier) {
  JitOptions o;
  o.numbers = {{"N", Policy::any()}, {"n", Policy::exact()}};
  o.tier = tier;
  return o;
}

struct LoadedModules : ::testing::Test {
  const std::shared_ptr<Log> log = std::make_shared<Log>();
  std::unique_ptr<Engine> engine;
  std::optional<Device> device;

  void begin(size_t most, size_t kept = 256) {
    EngineOptions o = options();
    o.loaded_modules = most;
    o.kept_kernels = kept;
    o.background_threads = 1;
    o.log = [own = log](std::string_view text) { own->tell(text); };
    engine = std::make_unique<Engine>(o);
    device = *engine->device("cpu");
  }
  Executable compile(int value) {
    auto exe = engine->compile(filled(value), *device);
    if (!exe) ADD_FAILURE() << to_string(exe.error());
    return *std::move(exe);
  }
  static int run(const Executable& exe) {
    int32_t out[8] = {};
    EXPECT_TRUE(exe.launch({tensor<int32_t>(out, {8})}).ok());
    return out[7];
  }
  JitFunction function(Tier tier, const char* name = "doubled") {
    return {*engine, *device, name, doubled, by_number(tier)};
  }
  uint64_t loaded() const { return engine->counters().loaded_modules; }
  uint64_t evictions() const { return engine->counters().module_evictions; }
};

TEST_F(LoadedModules, TheLeastRecentlyUsedGoes) {
  begin(3);
  for (const int value : {1, 2, 3}) EXPECT_EQ(run(compile(value)), value);
  EXPECT_EQ(run(compile(1)), 1);
  EXPECT_EQ(evictions(), 0u);
  EXPECT_EQ(run(compile(4)), 4);
  EXPECT_EQ(loaded(), 3u);
  EXPECT_EQ(evictions(), 1u);
  const uint64_t before = engine->counters().compiles;
  for (const int value : {1, 3, 4}) compile(value);
  EXPECT_EQ(engine->counters().compiles, before);
  EXPECT_EQ(run(compile(2)), 2);
  EXPECT_EQ(engine->counters().compiles, before + 1) << "it was the one that went";
}

/// Keeps kernels that were launched into captures, or not.
struct Keeper final : runtime::ModuleHolder {
  struct Kernel final : runtime::LoadedKernel {
    explicit Kernel(bool captured) : captured_(captured) {}
    Result<void> launch(const runtime::BoundCall&, void*) const override { return {}; }
    int programs_at_once() const override { return 1; }
    bool captured() const override { return captured_; }
    bool captured_;
  };
  std::vector<std::shared_ptr<runtime::ExecutableState>> all;

  void keep(runtime::LoadedModules& modules, bool captured) {
    auto state = std::make_shared<runtime::ExecutableState>(Device());
    state->compiled.kernel = std::make_unique<Kernel>(captured);
    state->loaded = modules.one_more();
    all.push_back(std::move(state));
  }
  void list(std::vector<Kept>& kept, Dropped&) override {
    for (const auto& state : all) kept.push_back(runtime::kept_of(state, kept.size()));
  }
  void let_go(const runtime::ExecutableState* state, Dropped& dropped) override {
    for (auto& one : all)
      if (one.get() == state) dropped.push_back(std::move(one));
    std::erase(all, nullptr);
  }
};

TEST(LoadedModulesBound, WhatWasCapturedStays) {
  runtime::LoadedModules modules(1, std::make_shared<runtime::Events>());
  const auto keeper = std::make_shared<Keeper>();
  modules.add(keeper);
  for (const bool captured : {true, false, true, false}) keeper->keep(modules, captured);
  EXPECT_EQ(modules.trim().size(), 2u);
  ASSERT_EQ(keeper->all.size(), 2u);
  for (const auto& state : keeper->all) EXPECT_TRUE(state->compiled.kernel->captured());
  EXPECT_EQ(modules.count(), 2u) << "more than the bound";
}

TEST_F(LoadedModules, ZeroIsNoBound) {
  begin(0);
  for (int value = 0; value < 20; ++value) compile(value);
  EXPECT_EQ(loaded(), 20u);
  EXPECT_EQ(evictions(), 0u);
}

TEST_F(LoadedModules, WhatTheProgramHasStaysAndCounts) {
  begin(2);
  std::vector<Executable> mine;
  for (int value = 0; value < 5; ++value) mine.push_back(compile(value));
  EXPECT_EQ(loaded(), 5u);
  EXPECT_EQ(evictions(), 0u);
  for (int value = 0; value < 5; ++value) EXPECT_EQ(run(mine[static_cast<size_t>(value)]), value);
  mine.clear();
  EXPECT_EQ(loaded(), 5u) << "the engine's cache has them";
  EXPECT_EQ(run(compile(5)), 5);
  EXPECT_EQ(loaded(), 2u);
  EXPECT_EQ(evictions(), 4u);
  CompileOptions alone;
  alone.reuse = false;
  {
    const auto exe = engine->compile(filled(6), *device, alone);
    ASSERT_TRUE(exe.ok());
    EXPECT_EQ(loaded(), 2u) << "what is kept nowhere counts, too";
  }
  EXPECT_EQ(loaded(), 1u);
}

TEST_F(LoadedModules, FunctionsShareIt) {
  begin(6, 2);
  const JitFunction functions[] = {function(Tier::wait, "one"), function(Tier::background, "two")};
  for (int32_t n = 0; n < 40; ++n)
    for (int i = 0; i < 3; ++i)
      for (const JitFunction& f : functions) {
        JitTest::call(f, 30, n);
        f.wait();
      }
  EXPECT_LE(loaded(), 6u);
  EXPECT_GT(evictions(), 20u);
  for (const JitFunction& f : functions) EXPECT_LE(f.counters().versions, 6u) << "they share equal kernels";
  EXPECT_EQ(functions[0].counters().evictions, 0u) << "there were never max_versions";
  const std::vector<std::string> told = log->texts();
  EXPECT_EQ(std::count_if(told.begin(), told.end(),
                          [](const std::string& s) { return s.find("all 6 kernels loaded") != s.npos; }),
            2)
      << "once for each function";
}

TEST_F(LoadedModules, KeysThatComeOnceCompileNothingWhenTheEngineIsFull) {
  begin(8);
  const JitFunction f = function(Tier::wait);
  for (int32_t n = 0; n < 200; ++n) JitTest::call(f, 30, n);
  EXPECT_LE(f.counters().compiles, 9u);
  EXPECT_GE(f.counters().held_back, 190u);
  EXPECT_LE(loaded(), 8u);
}

TEST_F(LoadedModules, WhatIsNotCompiledAgainStays) {
  begin(6);
  const JitFunction sealed = function(Tier::wait, "sealed"), warns = function(Tier::wait, "warns");
  for (const JitFunction& f : {sealed, warns})
    for (int32_t n = 0; n < 2; ++n) JitTest::call(f, 20, n + (f.name() == "warns" ? 2 : 0));
  sealed.set_tier(Tier::sealed);
  warns.set_tier(Tier::warn);
  for (int value = 0; value < 20; ++value) EXPECT_EQ(run(compile(value)), value);
  EXPECT_EQ(sealed.counters().versions, 2u);
  EXPECT_EQ(warns.counters().versions, 2u);
  for (int32_t n = 0; n < 2; ++n) JitTest::call(sealed, 20, n);
  EXPECT_EQ(loaded(), 6u);
}

TEST_F(LoadedModules, ThreadsRunWhileModulesComeAndGo) {
  begin(5, 3);
  const JitFunction functions[] = {function(Tier::wait, "one"), function(Tier::background, "two")};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&, i] {
      for (int32_t round = 0; round < 60; ++round) {
        JitTest::call(functions[(round + i) % 2], 20, (round / 3 * 7 + i) % 12);
        EXPECT_EQ(run(compile(round % 9)), round % 9);
      }
    });
  for (std::thread& thread : threads) thread.join();
  // Kernels that were dropped while in use count until the queue's thread comes to unload them, and what is compiled
  // there comes behind them. The third call of a key is compiled, be the engine full.
  for (int i = 0; i < 3; ++i) JitTest::call(functions[1], 20, 100);
  for (const JitFunction& f : functions) f.wait();
  compile(100);
  EXPECT_LE(loaded(), 6u) << "the last may still have been held when it was counted";
  EXPECT_GT(evictions(), 10u);
}

TEST_F(LoadedModules, AChildGoesOn) {
  begin(3);
  for (const int value : {1, 2, 3}) compile(value);
  const JitFunction f = function(Tier::wait);
  JitTest::call(f, 20, 1);
  EXPECT_TRUE(in_child([&] {
    const uint64_t before = evictions();
    EXPECT_EQ(loaded(), 0u) << "its parent's are not counted";
    for (const int value : {3, 5, 6, 7}) EXPECT_EQ(run(compile(value)), value);
    EXPECT_EQ(loaded(), 3u) << "3 was its parent's";
    EXPECT_EQ(evictions(), before);
    for (const int value : {8, 9}) EXPECT_EQ(run(compile(value)), value);
    EXPECT_EQ(loaded(), 3u);
    EXPECT_EQ(evictions(), before + 2);
    for (int i = 0; i < 3; ++i) JitTest::call(f, 20, 1);  // the third call of a key, for the engine is full
    EXPECT_EQ(f.counters().versions, 1u);
    EXPECT_EQ(loaded(), 3u);
    return !::testing::Test::HasFailure();
  }));
  EXPECT_EQ(loaded(), 3u);
}

}  // namespace
}  // namespace tlxjit::runtime_test
