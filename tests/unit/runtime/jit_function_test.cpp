// tests/unit/runtime/jit_function_test.cpp — which versions there are, and which one a call runs.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tlxjit/runtime/jit_function.h"

#include <thread>

#include "tests/support/allocations.h"
#include "tests/unit/runtime/child.h"
#include "tests/unit/runtime/jit_fixture.h"

namespace tlxjit::runtime_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::SizeIs;

using Jit = JitTest;

JitOptions by(Policy policy, Tier tier = Tier::wait) {
  JitOptions o;
  o.numbers = {{"N", Policy::any()}, {"n", std::move(policy)}};
  o.other_tensors = {.aligned = false, .narrow = false};
  o.tier = tier;
  return o;
}

TEST_F(Jit, BL_219_IntegersGiveTheDocumentedNumberOfVersions) {
  const std::pair<Policy, uint64_t> expected[] = {{Policy::any(), 1},
                                                  {Policy::exact(), 5},
                                                  {Policy::divisible(16), 2},
                                                  {Policy::powers_of_two(), 3},
                                                  {Policy::buckets({16, 64}), 2}};
  for (const auto& [policy, versions] : expected) {
    const JitFunction f = function(by(policy));
    for (int round = 0; round < 2; ++round)
      for (int32_t n : {0, 1, 15, 16, 17}) call(f, 100, n);
    EXPECT_EQ(f.counters().versions, versions) << policy.text();
    EXPECT_EQ(f.counters().signatures, 1u);
    EXPECT_EQ(f.counters().failures, 0u);
  }
}

// 1, odd and multiples of 16: one version where nothing was said of the number.
TEST_F(Jit, BL_219_NumbersThatNobodyNamedShareAVersion) {
  JitOptions by_default;
  by_default.tier = Tier::wait;
  for (const JitOptions& o : {by_default, by(Policy::any())}) {
    const JitFunction f = function(o);
    for (int round = 0; round < 2; ++round)
      for (int32_t n : {1, 3, 8, 16, 32}) call(f, 100, n);
    EXPECT_EQ(f.counters().versions, 1u);
    EXPECT_EQ(f.counters().compiles, 1u);
    EXPECT_EQ(f.counters().waits, 1u);
  }
  // As an extent: multiples of 16, and others.
  const JitFunction f = function(by_default);
  for (int64_t n : {1, 3, 8, 16, 32}) call(f, n, 3);
  EXPECT_EQ(f.counters().versions, 2u);
}

TEST_F(Jit, ExtentsOfAllPoliciesGiveTheSameNumbers) {
  const Policy policies[] = {Policy::any(), Policy::exact(), Policy::divisible(16), Policy::powers_of_two(),
                             Policy::buckets({64, 100, 1000})};
  for (const Policy& policy : policies) {
    JitOptions o = by(policy);
    o.numbers["N"] = policy;
    const JitFunction f = function(o);
    for (int64_t n : {0, 1, 15, 16, 17, 63, 64, 65, 100, 128, 1000, 1001}) call(f, n, static_cast<int32_t>(n) - 16);
  }
}

TEST_F(Jit, ANegativeNumberIsAClassLikeOthers) {
  for (const Policy& policy : {Policy::exact(), Policy::divisible(16), Policy::powers_of_two(), Policy::buckets({4})}) {
    const JitFunction f = function(by(policy));
    for (int32_t n : {-1, -16, -17, INT32_MIN / 4}) call(f, 10, n);
  }
}

TEST_F(Jit, EveryPromiseOfAVersionIsCheckedByItsExecutable) {
  JitOptions o = by(Policy::exact());
  o.numbers["N"] = Policy::divisible(16);
  o.other_tensors = {};
  o.other_tensors.strides = true;
  const JitFunction f = function(o);
  alignas(16) float in[64] = {}, out[64] = {};
  auto exe = f.version({tensor<float>(in, {32}), tensor<float>(out, {32}), int32_t{5}});
  TLXJIT_MUST(exe);
  const auto call = [&](float* from, int64_t size, int32_t n) {
    return message(exe->launch({tensor<float>(from, {size}), tensor<float>(out, {size}), n}));
  };
  EXPECT_EQ(call(in, 48, 5), "success");
  EXPECT_THAT(call(in, 40, 5), HasSubstr("promised a multiple of 16"));
  EXPECT_EQ(call(in, 48, 6), "argument `n` is 6, and the kernel was promised at most 5");
  EXPECT_EQ(call(in, 48, 4), "argument `n` is 4, and the kernel was promised at least 5");
  EXPECT_EQ(call(in + 1, 48, 5), "argument `in` begins at an address that is no multiple of the promised 16 bytes");
  // The function has a version for each of these calls.
  EXPECT_TRUE(f.launch({tensor<float>(in + 1, {40}), tensor<float>(out, {40}), int32_t{6}}).ok());
}

TEST_F(Jit, TypesHaveKernelsOfTheirOwn) {
  const JitFunction f = function(by(Policy::any()));
  call(f, 40);
  double in[8] = {1, 2, 3}, out[8] = {};
  TLXJIT_MUST(f.launch({tensor<double>(in, {3}), tensor<double>(out, {3}), int32_t{1}}));
  EXPECT_EQ(out[2], 7.0);
  call(f, 41);
  EXPECT_EQ(generated.load(), 2);
  EXPECT_EQ(f.counters().signatures, 2u);
}

TEST_F(Jit, ArgumentsByName) {
  const JitFunction f = function(by(Policy::exact()));
  float in[4] = {1, 2, 3, 4}, out[4] = {};
  const TensorArg from = tensor<float>(in, {4}), to = tensor<float>(out, {4});
  TLXJIT_MUST(f.launch({from, arg("n", int32_t{5}), arg("out", to)}));
  EXPECT_EQ(out[3], 13.f);
  TLXJIT_MUST(f.launch({from, arg("out", to), arg("n", int32_t{6})}));
  EXPECT_EQ(out[3], 14.f);
  EXPECT_EQ(message(f.launch({from, arg("no", to), int32_t{6}})),
            "`doubled` has no parameter `no`: doubled(in: f32[N], out: f32[N], n: i32)");
}

TEST_F(Jit, BadCallsAreTheLaunchsErrorsWithTheCallersLine) {
  for (const Tier tier : {Tier::wait, Tier::background}) {
    const JitFunction f = function(by(Policy::exact(), tier));
    float room[8] = {};
    const TensorArg x = tensor<float>(room, {8});
    const auto error = f.launch({x, x}).error();
    EXPECT_THAT(error.message, HasSubstr("argument `n` is missing"));
    EXPECT_THAT(to_string(error), HasSubstr("jit_function_test.cpp"));
    EXPECT_THAT(message(f.launch({x, x, 1.5f})), HasSubstr("wants i32"));
    EXPECT_THAT(message(f.launch({tensor<float>(room, {-1}), tensor<float>(room, {-1}), int32_t{1}})),
                HasSubstr("extent -1"));
    TensorArg deep = x;
    deep.rank = 6;
    EXPECT_THAT(message(f.launch({deep, x, int32_t{1}})), HasSubstr("argument 0 is a tensor without axes"));
  }
}

TEST_F(Jit, RefusedCallsLeaveTheFunctionItsSignatures) {
  const JitFunction f = function();
  float room[8] = {};
  const TensorArg x = tensor<float>(room, {8});
  for (int i = 0; i < 300; ++i) {
    const std::string name = "no" + std::to_string(i);
    EXPECT_THAT(message(f.launch({x, x, arg(name, int32_t{1})})), HasSubstr("has no parameter `no"));
  }
  EXPECT_EQ(f.counters().signatures, 0u);
  call(f, 40);
}

TEST_F(Jit, BadOptionsAndBadKernelsAreErrors) {
  float room[8] = {};
  const auto said = [&](const JitOptions& o) {
    return message(function(o).launch({tensor<float>(room, {8}), tensor<float>(room + 4, {4}), int32_t{1}}));
  };
  JitOptions o;
  o.numbers = {{"M", Policy::exact()}};
  EXPECT_EQ(said(o), "JitOptions name a dim or integer `M`, which the kernel has not");
  o.numbers = {{"N", Policy::divisible(0)}};
  EXPECT_EQ(said(o), "JitOptions: `N`: divisible(n) has n from 1 to 2^31 − 1, not 0");
  o.numbers = {{"N", Policy::buckets({})}};
  EXPECT_EQ(said(o), "JitOptions: `N`: buckets are 1 to 64 bounds");
  o.numbers = {{"N", Policy::buckets({4, 4})}};
  EXPECT_EQ(said(o), "JitOptions: `N`: the bounds of buckets ascend");
  o.numbers = {{"N", Policy::buckets({INT64_MAX})}};
  EXPECT_EQ(said(o), "JitOptions: `N`: a bound of 2^63 − 1 says nothing");
  o.numbers = {};
  o.tensors = {{"weights", {}}};
  EXPECT_EQ(said(o), "JitOptions name a tensor `weights`, which the kernel has not");
  o.tensors = {};
  o.max_versions = 257;
  EXPECT_EQ(said(o), "JitOptions: max_versions is 1 to 256, not 257");
  EXPECT_EQ(message(JitFunction(engine, device, "none", nullptr).launch({})), "JitOptions: there is no generator");
  const JitFunction faulty(engine, device, "faulty", [](const Signature&, const Config&) {
    Kernel k{"faulty"};
    k.fault("this cannot be");
    return k;
  });
  EXPECT_THAT(message(faulty.launch({})), HasSubstr("this cannot be"));
  const JitFunction thrower(engine, device, "thrower",
                            [](const Signature&, const Config&) -> Kernel { throw std::runtime_error("no"); });
  const auto thrown = thrower.launch({});
  ASSERT_FALSE(thrown.ok());
  EXPECT_EQ(thrown.error().kind, ErrorKind::user);
  EXPECT_EQ(thrown.error().code, ErrorCode::host_threw);
  EXPECT_EQ(thrown.error().message, "the generator threw: no");
}

TEST_F(Jit, SignaturesBeyondTheMostAreRefusedBeforeTheirKernelIsMade) {
  const Elem elems[] = {Elem::i8, Elem::i16, Elem::i32, Elem::i64, Elem::u8, Elem::u16, Elem::u32};
  size_t made = 0;
  const JitFunction f(engine, device, "many",
                      [&](const Signature& s, const Config&) {
                        ++made;
                        Kernel k{"many"};
                        const Tensor out = k.tensor<float>("out", {k.dim("N")});
                        for (int i = 0; i < 3; ++i)
                          k.scalar(s.arguments[static_cast<size_t>(i) + 1].elem, std::string(1, char('a' + i)));
                        k.grid(1);
                        k.task("main").body([&](Task& t) { out.store({0}, t.full<float>({4}, 1.f)); });
                        return k;
                      },
                      {.tier = Tier::sealed});
  float room[4] = {};
  ErrorCode last = ErrorCode::not_compiled;
  for (size_t i = 0; i < JitFunction::most_signatures + 5; ++i) {
    std::vector<Argument> arguments = {tensor<float>(room, {4}), int32_t{0}, int32_t{0}, int32_t{0}};
    for (size_t a = 1, rest = i; a < 4; ++a, rest /= 7) arguments[a].scalar = elems[rest % 7];
    const auto refused = f.launch(arguments);
    ASSERT_FALSE(refused.ok());
    last = refused.error().code;
    ASSERT_EQ(last, i < JitFunction::most_signatures ? ErrorCode::not_compiled : ErrorCode::out_of_resources)
        << to_string(refused.error());
  }
  EXPECT_EQ(last, ErrorCode::out_of_resources);
  EXPECT_EQ(made, JitFunction::most_signatures);
}

TEST_F(Jit, AWarmCallAllocatesNothing) {
  const JitFunction f = function(by(Policy::exact()));
  alignas(16) float in[64] = {}, out[64] = {};
  const Argument arguments[] = {tensor<float>(in, {64}), tensor<float>(out, {64}), int32_t{4}};
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(f.launch(Stream(), arguments).ok());
  const int before = allocations_so_far();
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(f.launch(Stream(), arguments).ok());
  EXPECT_EQ(allocations_so_far(), before);
}

TEST_F(Jit, BackgroundRunsTheGenericOneAndThenItsOwn) {
  const JitFunction f = function(by(Policy::exact(), Tier::background));
  float room[8] = {};
  TLXJIT_MUST(f.prepare({tensor<float>(room, {8}), tensor<float>(room, {8}), int32_t{0}}));
  EXPECT_EQ(f.counters().versions, 0u);
  for (int32_t n = 1; n <= 4; ++n) call(f, 30, n);
  f.wait();
  const JitCounters after = f.counters();
  EXPECT_EQ(after.versions, 4u);
  EXPECT_EQ(after.stand_ins, 4u);
  EXPECT_EQ(after.waits, 0u) << "the generic one was there";
  EXPECT_EQ(after.misses, 4u);
  for (int32_t n = 1; n <= 4; ++n) call(f, 30, n);
  EXPECT_EQ(f.counters().misses, 4u) << "each runs its own now";
}

// The compile begins when the call is done, so that it does not run in its place.
TEST_F(Jit, ACallThatCannotBeLaunchedCompilesNothing) {
  const JitFunction f = function(by(Policy::exact(), Tier::background));
  float room[8] = {};
  const TensorArg x = tensor<float>(room, {8}), other = tensor<float>(room, {7});
  TLXJIT_MUST(f.prepare({x, x, int32_t{0}}));
  for (int32_t n = 1; n <= 4; ++n) EXPECT_FALSE(f.launch({x, other, n}));
  f.wait();
  EXPECT_EQ(f.counters().compiles, 1u) << "the generic one";
  EXPECT_EQ(f.counters().stand_ins, 0u);
}

TEST_F(Jit, WithoutPrepareTheFirstBackgroundCallIsACountedWait) {
  const JitFunction f = function(by(Policy::exact(), Tier::background));
  call(f, 30, 1);
  EXPECT_EQ(f.counters().waits, 1u);
  call(f, 30, 2);
  EXPECT_EQ(f.counters().waits, 1u);
}

TEST_F(Jit, WarnTellsEachKeyOnce) {
  JitOptions o = by(Policy::divisible(16));
  o.numbers["N"] = Policy::exact();
  const JitFunction f = function(o);
  call(f, 64, 16);  // N = 64, n % 16 = 0
  f.set_tier(Tier::warn);
  call(f, 64, 17);
  call(f, 65, 16);
  call(f, 64, 32);  // has its own
  ASSERT_THAT(told, SizeIs(2));
  EXPECT_THAT(told[0], AllOf(HasSubstr("no version for the key"), HasSubstr("N = 64")));
  call(f, 64, 17);
  EXPECT_THAT(told, SizeIs(2)) << "once each";
}

TEST_F(Jit, SealedIsAnErrorWithAKeyThatWarms) {
  const JitFunction f = function(by(Policy::exact()));
  call(f, 30, 1);
  f.set_tier(Tier::sealed);
  call(f, 31, 1);
  float in[30] = {}, out[30] = {};
  const auto refused = f.launch({tensor<float>(in, {30}), tensor<float>(out, {30}), int32_t{2}});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::not_compiled);
  EXPECT_THAT(refused.error().message, HasSubstr("n = 2")) << "which number it was, in words";
  EXPECT_THAT(refused.error().key, AllOf(HasSubstr("\"function\":\"doubled\""), HasSubstr("n = 2")));
  EXPECT_EQ(f.counters().refused, 1u);
  auto warmed = f.warm(refused.error().key);
  TLXJIT_MUST(warmed);
  EXPECT_EQ(warmed->compiled, 1u);
  call(f, 30, 2);
}

TEST_F(Jit, SealedDoesNotRunStandIns) {
  const JitFunction f = function(by(Policy::exact(), Tier::warn));
  call(f, 30, 1);
  f.set_tier(Tier::sealed);
  float in[30] = {}, out[30] = {};
  EXPECT_FALSE(f.launch({tensor<float>(in, {30}), tensor<float>(out, {30}), int32_t{1}}).ok());
}

TEST_F(Jit, BL_218_AStormOfKeysKeepsFewVersionsAndServesEveryCall) {
  for (const Tier tier : {Tier::wait, Tier::background}) {
    told.clear();
    JitOptions o = by(Policy::exact(), tier);
    o.max_versions = 8;
    const JitFunction f = function(o);
    for (int32_t n = 0; n < 300; ++n) call(f, 10, n);
    f.wait();
    EXPECT_LE(f.counters().versions, 8u);
    EXPECT_GE(f.counters().held_back, 200u);
    EXPECT_LE(f.counters().compiles, 20u);
    EXPECT_EQ(std::count_if(told.begin(), told.end(),
                            [](const std::string& s) { return s.find("more than 8 versions") != s.npos; }),
              1);
    // A key that is called again gets a version in the place of one that is not.
    for (int i = 0; i < 3; ++i) call(f, 10, 299);
    f.wait();
    EXPECT_GE(f.counters().evictions, 1u);
    EXPECT_LE(f.counters().versions, 8u);
  }
}

TEST_F(Jit, BL_235_ThreadsThatMissOneKeyCompileItOnce) {
  for (const Tier tier : {Tier::wait, Tier::background}) {
    const uint64_t before = engine.counters().compiles;
    const JitFunction f = function(by(Policy::exact(), tier));
    std::vector<std::thread> threads;
    for (int i = 0; i < 8; ++i)
      threads.emplace_back([&] {
        for (int32_t n = 0; n < 6; ++n) call(f, 20, 1000 + n + (tier == Tier::wait ? 0 : 100));
      });
    for (std::thread& thread : threads) thread.join();
    f.wait();
    EXPECT_EQ(engine.counters().compiles - before, tier == Tier::wait ? 6u : 7u);  // and the generic one
    EXPECT_EQ(f.counters().versions, 6u);
  }
}

TEST_F(Jit, ThreadsRunWhileVersionsComeAndGo) {
  JitOptions o = by(Policy::exact(), Tier::background);
  o.max_versions = 4;
  const JitFunction f = function(o);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&, i] {
      for (int32_t round = 0; round < 100; ++round) call(f, 20, (round * 7 + i) % 12);
    });
  for (std::thread& thread : threads) thread.join();
  f.wait();
  EXPECT_LE(f.counters().versions, 4u);
}

TEST_F(Jit, ItOutlivesItsEngine) {
  std::optional<JitFunction> f;
  {
    Engine other{options()};
    f.emplace(other, *other.device("cpu"), "doubled", doubled, by(Policy::exact(), Tier::background));
    call(*f, 20, 1);
  }
  call(*f, 20, 2);
  f->wait();
  call(*f, 20, 2);
  EXPECT_EQ(f->counters().versions, 2u);
}

TEST_F(Jit, ItEndsWhileItsVersionsAreCompiled) {
  for (int32_t i = 0; i < 10; ++i) {
    Engine other{options()};
    const JitFunction f(other, *other.device("cpu"), "doubled", doubled, by(Policy::exact(), Tier::background));
    for (int32_t n = 0; n < 4; ++n) call(f, 20, n);
  }
}

TEST_F(Jit, BL_232_AForkedChildBeginsAnew) {
  const JitFunction f = function(by(Policy::exact(), Tier::background));
  call(f, 20, 1);
  call(f, 20, 2);
  f.wait();  // a child forked during a compile has no compiler
  EXPECT_TRUE(in_child([&] {
    call(f, 20, 1);
    call(f, 20, 3);
    f.wait();
    return f.counters().versions == 2 && !HasFailure();
  }));
  call(f, 20, 3);
}

TEST_F(Jit, AModuleInPlaceOfAGenerator) {
  const Kernel kernel = doubled({}, {});
  const auto module = kernel.module();
  TLXJIT_MUST(module);
  const JitFunction f(engine, device, "doubled", *module, by(Policy::exact(), Tier::wait));
  for (int32_t n : {1, 2, 1}) call(f, 20, n);
  EXPECT_EQ(f.counters().versions, 2u);
  // Keys are those of a function that generates it.
  const JitFunction g = function(by(Policy::exact(), Tier::wait));
  for (int32_t n : {1, 2}) call(g, 20, n);
  EXPECT_EQ(f.manifest(), g.manifest());
}

TEST_F(Jit, AModuleMustBePortableAndVerified) {
  auto module = parse(
      "tlx 1 lowered cpu\nkernel \"k\" [threads = 0, shared_bytes = 0] {\n  %0 = dim [name = \"N\"] : i32\n"
      "  %1 = tensor %0 [name = \"x\"] : tensor<1xf32>\n  grid %0\n"
      "  task [name = \"t\", warps = 1, replicas = 1] {\n  }\n}\n");
  TLXJIT_MUST(module);
  float x[1] = {};
  EXPECT_EQ(message(JitFunction(engine, device, "f", *module).launch({tensor<float>(x, {1})})),
            "a JitFunction specialises portable IR, and `k` is lowered for cpu");
  EXPECT_THAT(message(JitFunction(engine, device, "f", Module()).launch({})), HasSubstr("the kernel has no task"));
}

TEST_F(Jit, OneThatWasMovedFromSaysSo) {
  JitFunction f = function();
  const JitFunction g = std::move(f);
  EXPECT_THAT(message(f.launch({})), HasSubstr("moved from"));
  EXPECT_FALSE(f.prepare({}).ok());
  EXPECT_FALSE(f.version({}).ok());
  EXPECT_FALSE(f.warm("{}").ok());
  EXPECT_EQ(f.name(), "");
  EXPECT_EQ(f.counters().misses, 0u);
  f.wait();
  call(g, 20);
}

}  // namespace
}  // namespace tlxjit::runtime_test
