// tests/unit/runtime/jit_tiers_test.cpp — what stands in for a version, for how long, and who compiles.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <pthread.h>

#include <future>
#include <thread>

#include "tests/unit/runtime/jit_fixture.h"

namespace tlxjit::runtime_test {
namespace {

using testing::AllOf;
using testing::Each;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

using Tiers = JitTest;

JitOptions exact(Tier tier, size_t most = 64) {
  JitOptions o;
  o.numbers = {{"N", Policy::any()}, {"n", Policy::exact()}};
  o.other_tensors = {.aligned = false, .narrow = false};
  o.tier = tier;
  o.max_versions = most;
  return o;
}

/// out[0] = n. Then it does the same `m` times in steps of `times` · n. Of n = 0 there is no version: a step that is
/// known is at least 1.
template <int times>
Kernel steps(const Signature&, const Config&) {
  Kernel k{"steps"};
  const Tensor out = k.tensor<int32_t>("out", {k.dim("N")});
  const Scalar m = k.scalar<int32_t>("m"), n = k.scalar<int32_t>("n");
  k.grid(1);
  k.task("main").body([&](Task& t) {
    out.store({0}, t.full<int32_t>({1}, n));
    const Scalar by = times == 1 ? n : n * times;
    k.range(m).each([&] { k.range(0, 6, by).each([&] { out.store({0}, t.full<int32_t>({1}, n)); }); });
  });
  return k;
}

void step(const JitFunction& f, int32_t n) {
  int32_t out = -1;
  const auto done = f.launch({tensor<int32_t>(&out, {1}), int32_t{0}, n});
  TLXJIT_MUST(done);
  EXPECT_EQ(out, n);
}

/// While it lives, no thread can be started: its stack would be larger than all memory.
class NoThreads {
 public:
  NoThreads() {
    pthread_getattr_default_np(&before_);
    pthread_attr_t none = before_;
    pthread_attr_setstacksize(&none, size_t{1} << 47);
    pthread_setattr_default_np(&none);
  }
  ~NoThreads() { pthread_setattr_default_np(&before_); }
  NoThreads(const NoThreads&) = delete;
  NoThreads& operator=(const NoThreads&) = delete;

 private:
  pthread_attr_t before_;
};

TEST_F(Tiers, AVersionThatCannotBeCompiledIsTriedOnceAndToldOnce) {
  for (const auto& [tier, generator] :
       {std::pair(Tier::wait, &steps<1>), std::pair(Tier::wait, &steps<2>), std::pair(Tier::background, &steps<1>)}) {
    told.clear();
    const JitFunction f(engine, device, "steps", generator, exact(tier));
    for (int i = 0; i < 4; ++i) {
      step(f, 0);
      f.wait();
    }
    step(f, 2);
    f.wait();
    EXPECT_EQ(f.counters().failures, 1u);
    EXPECT_EQ(f.counters().compiles, 3u) << "the generic one, of n = 2, and once of n = 0";
    ASSERT_THAT(told, SizeIs(1));
    EXPECT_THAT(told[0], AllOf(HasSubstr("n = 0"), HasSubstr("served by a less special version: "),
                               HasSubstr("the step is at least 1, not 0")));
  }
}

TEST_F(Tiers, TheLogIsToldBesideAnEngineThatHasEnded) {
  struct Gate {
    std::atomic<bool> waits = false;
    std::promise<void> begun, ended;
  };
  const auto gate = std::make_shared<Gate>();
  const auto last = std::make_shared<Log>();
  EngineOptions o = options();
  o.log = [last](std::string_view text) { last->tell(text); };
  o.event = [gate](const Event& e) {
    if (e.kind != EventKind::version_started || !gate->waits.exchange(false)) return;
    gate->begun.set_value();
    gate->ended.get_future().wait();
  };
  {
    const Engine own(o);
    const JitFunction f(own, *own.device("cpu"), "steps", steps<2>, exact(Tier::background));
    o = {};
    int32_t out = 0;
    TLXJIT_MUST(f.prepare({tensor<int32_t>(&out, {1}), int32_t{0}, int32_t{0}}));
    gate->waits = true;
    step(f, 0);
    gate->begun.get_future().wait();
  }
  EXPECT_GT(last.use_count(), 1) << "the thread holds it";
  EXPECT_THAT(last->texts(), IsEmpty());
  gate->ended.set_value();
  while (last.use_count() > 1) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_THAT(last->texts(), AllOf(SizeIs(1), Each(HasSubstr("served by a less special version"))));
}

TEST_F(Tiers, WhatFailedForWantOfThreadsIsTriedAgain) {
  for (const Tier tier : {Tier::background, Tier::wait}) {
    const JitFunction f = function(exact(tier));
    float room[8] = {};
    TLXJIT_MUST(f.prepare({tensor<float>(room, {8}), tensor<float>(room, {8}), int32_t{0}}));
    f.set_tier(Tier::background);
    call(f, 30, 1);
    f.wait();  // the queue's threads are there
    ASSERT_EQ(f.counters().versions, 1u);
    f.set_tier(tier);
    const int32_t n = tier == Tier::wait ? 7 : 8;
    told.clear();
    uint64_t failures = 0;
    {
      const NoThreads none;
      const auto start = std::chrono::steady_clock::now();
      for (int i = 0; i < 5; ++i) {
        call(f, 30, n);
        f.wait();
        if (std::chrono::steady_clock::now() - start > std::chrono::seconds(1)) continue;  // it was due again
        ASSERT_EQ(f.counters().failures, 1u) << "not with every call";
        EXPECT_THAT(log->texts(), SizeIs(1));
      }
      failures = f.counters().failures;
      const std::vector<std::string> texts = log->texts();
      ASSERT_THAT(texts, Not(IsEmpty()));
      EXPECT_THAT(texts[0], AllOf(HasSubstr("no thread"), HasSubstr("tried again in 1 s")));
    }
    for (int i = 0; i < 100 && f.counters().versions < 2; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      call(f, 30, n);
      f.wait();
    }
    EXPECT_EQ(f.counters().versions, 2u);
    EXPECT_EQ(f.counters().failures, failures);
  }
}

TEST_F(Tiers, KeysThatWarnToldOfAreCompiledInTheBackgroundLater) {
  const JitFunction f = function(exact(Tier::warn));
  for (int i = 0; i < 2; ++i) call(f, 30, 1);
  EXPECT_EQ(f.counters().misses, 1u) << "what was told of is as quick as a warm call";
  f.set_tier(Tier::background);
  call(f, 30, 1);
  f.wait();
  EXPECT_EQ(f.counters().versions, 1u);
  EXPECT_EQ(f.counters().stand_ins, 1u);
}

TEST_F(Tiers, WhatTheQueueHadNoRoomForIsAskedForAgain) {
  EngineOptions o = options();
  o.background_queue = 0;
  Engine full(o);
  const JitFunction f(full, *full.device("cpu"), "doubled", doubled, exact(Tier::background, 1));
  auto there = f.version({tensor<float>(nullptr, {0}), tensor<float>(nullptr, {0}), int32_t{1}});
  TLXJIT_MUST(there);
  for (int i = 0; i < 5; ++i) call(f, 30, 2);
  f.wait();
  EXPECT_EQ(f.counters().queue_full, 1u) << "by the third call, for there is one version already";
  EXPECT_EQ(f.counters().versions, 1u) << "which stays";
  EXPECT_EQ(f.counters().evictions, 0u);
}

TEST_F(Tiers, TheGeneratorIsAskedOnceHoweverManyThreadsCall) {
  std::atomic<int> asked = 0;
  const JitFunction f(
      engine, device, "doubled",
      [&](const Signature& s, const Config& c) {
        if (++asked == 1) throw std::runtime_error("not yet");
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
        return doubled(s, c);
      },
      exact(Tier::wait));
  float room[8] = {};
  const auto refused = f.launch({tensor<float>(room, {4}), tensor<float>(room + 4, {4}), int32_t{1}});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().message, "the generator threw: not yet");
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) threads.emplace_back([&] { call(f, 20, 1); });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(asked, 2) << "after an error the next call asks again";
  EXPECT_EQ(f.counters().signatures, 1u);
}

JitOptions stable(Tier tier, size_t most = 64) {
  JitOptions o = exact(tier, most);
  o.stable = true;
  return o;
}

TEST_F(Tiers, StableRunsTheGenericVersionForGood) {
  const JitFunction f = function(stable(Tier::background));
  for (int i = 0; i < 3; ++i) call(f, 30, 9);
  f.wait();
  EXPECT_EQ(f.counters().compiles, 1u);
  EXPECT_EQ(f.counters().misses, 1u);
  // What would change the bits of calls does not come in, whoever asks for it.
  std::vector<float> x(64);
  TLXJIT_MUST(f.version({tensor<float>(x.data(), {30}), tensor<float>(x.data(), {30}), int32_t{9}}));
  EXPECT_THAT(f.keys(), IsEmpty());
  const JitFunction g = function(exact(Tier::wait));
  for (int32_t n : {9, 10}) call(g, 30, n);
  const auto report = f.warm(g.manifest());
  TLXJIT_MUST(report);
  EXPECT_EQ(report->compiled, 0u);
  ASSERT_THAT(report->errors, SizeIs(2));
  EXPECT_THAT(report->errors[0].message, HasSubstr("with JitOptions::stable a function is warmed before its first"));
  EXPECT_THAT(f.keys(), IsEmpty());
  f.set_tier(Tier::wait);
  for (int32_t n : {9, 10}) call(f, 30, n);
  EXPECT_THAT(f.keys(), IsEmpty());
}

TEST_F(Tiers, StableKeepsWhatWasWarmedForGood) {
  const JitFunction g = function(exact(Tier::wait));
  for (int32_t n : {1, 2}) call(g, 30, n);
  const std::string manifest = g.manifest();
  const JitFunction f = function(stable(Tier::background, 3));
  TLXJIT_MUST(f.warm(manifest));
  for (int round = 0; round < 5; ++round)
    for (int32_t n = 1; n < 12; ++n) call(f, 30, n);
  f.wait();
  EXPECT_EQ(f.manifest(), manifest);
  EXPECT_EQ(f.counters().versions, 2u);
  EXPECT_EQ(f.counters().compiles, 3u) << "those two and the generic one";
}

}  // namespace
}  // namespace tlxjit::runtime_test
