// tests/unit/runtime/memory_cache_test.cpp — equal kernels are compiled once; the key is all that they mean.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "src/runtime/memory_cache_p.h"

#include <atomic>
#include <barrier>
#include <future>
#include <thread>

#include "src/runtime/executable_p.h"
#include "src/runtime/guard_p.h"
#include "src/runtime/key_p.h"
#include "tests/unit/runtime/child.h"
#include "tests/unit/runtime/engine_fixture.h"

namespace tlxjit::runtime_test {
namespace {

using runtime::MemoryCache;

/// out = 8 times `value`.
Kernel filled(float value, int warps = 1, const char* name = "filled") {
  Kernel k{name};
  const Tensor out = k.tensor<float>("out", {k.dim("N")});
  k.grid(1);
  k.task("main").warps(warps).body([&](Task& t) { out.store({0}, t.full<float>({8}, value)); });
  return k;
}

std::vector<float> run(const Executable& exe) {
  std::vector<float> out(8, -1.f);
  const auto done = exe.launch({tensor<float>(out.data(), {8})});
  if (!done) ADD_FAILURE() << to_string(done.error());
  return out;
}

struct Kept : EngineTest {
  const std::shared_ptr<runtime::Events> events = std::make_shared<runtime::Events>();
  uint64_t count(EventKind kind) const { return events->sums().count(kind); }
  MemoryCache::State state() const { return std::make_shared<runtime::ExecutableState>(device); }
  MemoryCache::State find(MemoryCache& cache, const std::string& key) const {
    return cache.get(key, {}, [&] { return state(); });
  }
  uint64_t compiles() const { return engine.counters().compiles; }
};

TEST_F(Kept, BL_205_KeysOfOneHashAreTwoKernels) {
  MemoryCache cache(8, events, [](std::string_view) -> size_t { return 7; });
  const auto a = *find(cache, "a"), b = *find(cache, "b");
  EXPECT_NE(a, b);
  EXPECT_EQ(*find(cache, "a"), a);
  EXPECT_EQ(*find(cache, "b"), b);
  EXPECT_EQ(count(EventKind::memory_miss), 2u);
  EXPECT_EQ(count(EventKind::memory_hit), 2u);
}

TEST_F(Kept, TheLeastRecentlyUsedIsDropped) {
  MemoryCache cache(2, events);
  const auto a = *find(cache, "a"), b = *find(cache, "b");
  EXPECT_TRUE(find(cache, "a").ok());
  EXPECT_TRUE(find(cache, "c").ok());  // instead of b
  EXPECT_EQ(count(EventKind::memory_eviction), 1u);
  EXPECT_EQ(*find(cache, "a"), a);
  EXPECT_NE(*find(cache, "b"), b);
  EXPECT_EQ(b.use_count(), 1) << "a dropped kernel lives with its users only";
  EXPECT_EQ(count(EventKind::memory_miss), 4u);
}

TEST_F(Kept, NothingIsKeptWithoutRoom) {
  MemoryCache cache(0, events);
  EXPECT_NE(*find(cache, "a"), *find(cache, "a"));
  EXPECT_EQ(count(EventKind::memory_miss), 2u);
  EXPECT_EQ(count(EventKind::memory_hit), 0u);
}

std::atomic<int> hashes;   // that the cache has asked for, mostly under its lock
std::atomic<int> stop_at;  // which of them waits until this is something else
size_t watched_hash(std::string_view) {
  const int now = ++hashes;
  hashes.notify_all();
  stop_at.wait(now);
  return 7;
}

MemoryCache::State failure(ErrorCode code, const char* text) {
  return runtime::error_of(ErrorKind::environment, Stage::compile, code, text);
}

/// What two threads get that ask for one key: the first makes it, and fails when the second waits for it.
std::pair<MemoryCache::State, MemoryCache::State> two_that_ask(MemoryCache& cache, ErrorCode code) {
  stop_at = 0, hashes = 0;
  MemoryCache::State first = failure(code, ""), second = first;
  std::atomic<bool> making = false;
  std::thread maker([&] {
    first = cache.get("a", {}, [&] {
      const int mine = hashes;
      making = true;
      making.notify_all();
      hashes.wait(mine);  // the other holds the lock, or waits already
      return failure(code, "of the first");
    });
  });
  making.wait(false);
  second = cache.get("a", {}, [&] { return failure(code, "of the second"); });
  maker.join();
  return {first, second};
}

TEST_F(Kept, FailuresAreNotKeptAndWhoWaitedGetsTheSame) {
  MemoryCache cache(8, events, watched_hash);
  const auto [first, second] = two_that_ask(cache, ErrorCode::compiler_failed);
  ASSERT_FALSE(first || second);
  EXPECT_EQ(first.error().message, "of the first");
  EXPECT_EQ(second.error().message, "of the first");
  EXPECT_EQ(count(EventKind::memory_miss), 1u);
  EXPECT_TRUE(find(cache, "a").ok());
}

TEST_F(Kept, WhoWaitedForOneThatTimedOutTriesByItself) {
  MemoryCache cache(8, events, watched_hash);
  const auto [first, second] = two_that_ask(cache, ErrorCode::timed_out);
  ASSERT_FALSE(first || second);
  EXPECT_EQ(second.error().message, "of the second");
  EXPECT_EQ(count(EventKind::memory_miss), 2u);
}

TEST_F(Kept, WaitingForAnotherThreadCounts) {
  MemoryCache cache(8, events);
  std::promise<void> end;
  std::atomic<bool> making = false;
  std::thread maker([&] {
    EXPECT_TRUE(cache.get("a", {}, [&] {
      making = true;
      making.notify_all();
      end.get_future().wait();
      return state();
    }));
  });
  making.wait(false);
  const auto late = cache.get("a", runtime::Deadline(std::chrono::milliseconds(20)), [&] { return state(); });
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code, ErrorCode::timed_out);
  EXPECT_EQ(late.error().kind, ErrorKind::environment);
  EXPECT_EQ(late.error().message,
            "another thread compiles an equal kernel, and has not ended within this call's limit of 20 ms");
  EXPECT_EQ(count(EventKind::wait_ended), 1u);
  EXPECT_EQ(count(EventKind::memory_miss), 1u);
  EXPECT_EQ(count(EventKind::memory_hit), 0u);
  end.set_value();
  maker.join();
  EXPECT_TRUE(find(cache, "a").ok()) << "the other's compile is kept";
  EXPECT_EQ(count(EventKind::memory_miss), 1u);
}

TEST_F(Kept, LimitsAreCheckedAndHugeOnesAreNone) {
  CompileOptions o;
  for (const bool reuse : {true, false}) {
    o.reuse = reuse;
    o.time_limit = std::chrono::milliseconds::max();
    EXPECT_TRUE(engine.compile(filled(1.f), device, o).ok());
    o.time_limit = std::chrono::milliseconds(-1);
    const auto refused = engine.compile(filled(2.f), device, o);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().kind, ErrorKind::user);
    EXPECT_EQ(refused.error().code, ErrorCode::bad_argument);
    EXPECT_EQ(refused.error().message, "a time limit is 0, which is none, or more, not -1 ms");
  }
}

TEST_F(Kept, AForkWhileTheLockIsHeldDoesNotHangTheChild) {
  MemoryCache cache(8, events, watched_hash);
  stop_at = 0, hashes = 0;
  const auto kept = *find(cache, "kept");
  EXPECT_TRUE(in_child([&] { return *find(cache, "kept") == kept && count(EventKind::memory_miss) == 1; }))
      << "a child goes on with what was compiled";
  const int next = hashes + 1;
  stop_at = next;
  std::thread other([&] { EXPECT_TRUE(find(cache, "other").ok()); });
  for (int asked = hashes; asked < next; asked = hashes) hashes.wait(asked);
  EXPECT_TRUE(in_child([&] {
    stop_at = 0;
    return find(cache, "kept").ok() && find(cache, "other").ok();
  }));
  stop_at = 0;
  stop_at.notify_all();
  other.join();
  EXPECT_EQ(*find(cache, "kept"), kept);
}

TEST_F(Kept, WhatTheMakerThrowsIsAnErrorAndNobodyWaitsForEver) {
  MemoryCache cache(8, events);
  const auto thrown = cache.get("a", {}, []() -> MemoryCache::State { throw std::bad_alloc(); });
  ASSERT_FALSE(thrown);
  EXPECT_EQ(thrown.error().code, ErrorCode::out_of_resources);
  EXPECT_TRUE(find(cache, "a").ok());
}

TEST_F(Kept, BL_203_TheKeyIsTheBodyAndNotTheName) {
  const Executable one = compile(filled(1.f)), two = compile(filled(2.f));
  EXPECT_THAT(run(one), ::testing::Each(1.f));
  EXPECT_THAT(run(two), ::testing::Each(2.f));
  EXPECT_EQ(compiles(), 2u);
}

TEST_F(Kept, BL_207_WarpsAndStagesAreInTheKey) {
  for (int round = 0; round < 2; ++round)
    for (int warps : {1, 4, 8}) EXPECT_THAT(run(compile(filled(1.f, warps))), ::testing::Each(1.f));
  EXPECT_EQ(compiles(), 3u);
  for (int round = 0; round < 2; ++round)
    for (int stages : {2, 3}) {
      GemmConfig config = gemm_config("cpu");
      config.stages = stages;
      compile(gemm(config));
    }
  EXPECT_EQ(compiles(), 5u);
}

TEST_F(Kept, BL_210_LinesAreNotInTheKey) {
  const auto build = [](std::source_location at) {
    Kernel k{"filled"};
    const Tensor out = k.tensor<float>("out", {k.dim("N", 0, at)}, at);
    k.grid(1);
    k.task("main", at).body([&](Task& t) { out.store({0}, t.full<float>({8}, 1.f)); });
    return k;
  };
  compile(build(std::source_location::current()));
  compile(build(std::source_location::current()));
  EXPECT_EQ(compiles(), 1u);
  EXPECT_EQ(engine.counters().memory_hits, 1u);
}

TEST_F(Kept, BL_220_AKernelBuilt500TimesIsCompiledOnce) {
  for (int i = 0; i < 500; ++i) {
    const Executable exe = compile(filled(3.f));
    if (i % 100 == 0) {
      EXPECT_THAT(run(exe), ::testing::Each(3.f));
    }
  }
  EXPECT_EQ(compiles(), 1u);
  EXPECT_EQ(engine.counters().memory_hits, 499u);
}

TEST_F(Kept, BL_235_ThreadsThatAskAtOnce) {
  constexpr int threads = 64;
  std::barrier ready(threads);
  std::vector<std::thread> all;
  std::vector<std::vector<float>> outs(threads);
  for (size_t i = 0; i < threads; ++i)
    all.emplace_back([&, i] {
      ready.arrive_and_wait();
      outs[i] = run(compile(filled(-5.f)));
      ready.arrive_and_wait();
      EXPECT_EQ(compiles(), 1u);
      ready.arrive_and_wait();
      const std::vector<float> own = run(compile(filled(static_cast<float>(i))));
      EXPECT_THAT(own, ::testing::Each(static_cast<float>(i)));
    });
  for (std::thread& t : all) t.join();
  for (const auto& out : outs) EXPECT_THAT(out, ::testing::Each(-5.f));
  EXPECT_EQ(compiles(), 65u);
  EXPECT_EQ(engine.counters().memory_hits, 63u);
}

TEST_F(Kept, OptionsAreInTheKey) {
  const Kernel kernel = gemm(gemm_config("sm_90a"));
  CompileOptions o;
  for (const char* as : {"", "sm_90a"})
    for (bool lineinfo : {false, true}) {
      o.as = as, o.lineinfo = lineinfo;
      auto exe = engine.compile(kernel, device, o);
      TLXJIT_MUST(exe);
      EXPECT_EQ(exe->target(), *as ? as : "cpu");
    }
  EXPECT_EQ(compiles(), 4u);
}

TEST_F(Kept, WithoutReuseItIsCompiledAnew) {
  CompileOptions anew;
  anew.reuse = false;
  const Kernel kernel = filled(1.f);
  for (int i = 0; i < 2; ++i) EXPECT_TRUE(engine.compile(kernel, device, anew).ok());
  EXPECT_EQ(compiles(), 2u);
  compile(kernel);
  EXPECT_EQ(compiles(), 3u) << "what was compiled anew is not kept";
}

TEST(KeptKernels, HaveABoundAndOutliveIt) {
  EngineOptions o = options();
  o.kept_kernels = 4;
  const Engine engine(o);
  const Device device = *engine.device("cpu");
  std::vector<Executable> all;
  for (int i = 0; i < 12; ++i) {
    auto exe = engine.compile(filled(static_cast<float>(i)), device);
    TLXJIT_MUST(exe);
    all.push_back(*exe);
  }
  EXPECT_EQ(engine.counters().memory_evictions, 8u);
  for (size_t i = 0; i < all.size(); ++i) EXPECT_THAT(run(all[i]), ::testing::Each(static_cast<float>(i)));
}

TEST_F(Kept, ErrorsOfCompilesCarryTheKey) {
  Kernel k{"inline"};
  const Tensor out = k.tensor<float>("out", {1});
  k.grid(1);
  k.task("main").body([&](Task& t) {
    out.store({0}, k.inline_text("sm_90a", "nonsense", "=f,f", Elem::f32, {t.full<float>({1}, 1.f)}));
  });
  CompileOptions o;
  std::vector<std::string> keys;
  for (const bool reuse : {true, true, false}) {
    o.reuse = reuse;
    const auto refused = engine.compile(k, device, o);
    ASSERT_FALSE(refused.ok());
    keys.push_back(refused.error().key);
  }
  EXPECT_THAT(keys[0], ::testing::MatchesRegex("[0-9a-f]{32}"));
  EXPECT_THAT(keys, ::testing::Each(keys[0]));
  o.as = "sm_90a";
  const auto other = engine.compile(k, device, o);
  ASSERT_FALSE(other.ok());
  EXPECT_NE(other.error().key, keys[0]);
  EXPECT_EQ(runtime::key_text(""), "99aa06d3014798d86001c324468d497f");
  EXPECT_EQ(runtime::key_text("a"), "a96faf705af16834e6c632b61e964e1f") << "XXH3 of 128 bits";
}

TEST_F(Kept, AModuleAndItsKernelAreOne) {
  const Kernel kernel = filled(1.f);
  compile(kernel);
  auto module = kernel.module();
  TLXJIT_MUST(module);
  EXPECT_TRUE(engine.compile(*module, device).ok());
  EXPECT_EQ(compiles(), 1u);
}

}  // namespace
}  // namespace tlxjit::runtime_test
