// tests/unit/runtime/no_memory_test.cpp — wherever memory runs out, calls give errors.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <atomic>
#include <deque>

#include "tests/support/allocations.h"
#include "tests/unit/runtime/engine_fixture.h"
#include "tests/unit/runtime/numbers_kernel.h"

namespace tlxjit::runtime_test {
namespace {

/// Runs `fn` with memory for 0, 1, 2, … allocations until it gives true, which it does in the end.
template <class Fn>
void with_ever_more(Fn fn) {
  constexpr int most = 20000;
  int n = 0;
  for (bool whole = false; !whole && n < most; n += 1 + n / 200) {
    allow_allocations(n);
    whole = fn();
    allow_allocations(-1);
  }
  EXPECT_GT(n, 1) << "nothing was allocated";
  EXPECT_LT(n, most);
}

bool fine(const Error& error) { return error.code == ErrorCode::out_of_resources; }

TEST(NoMemory, ForAnEngineMakesItEmpty) {
  ASSERT_TRUE(Engine(options()).device("cpu").ok());  // LLVM's tables, which the loader makes, are not ours to guard
  std::vector<EngineOptions> copies(300, options());
  with_ever_more([&] {
    const Engine engine(std::move(copies.back()));
    const auto devices = engine.devices();
    const auto device = engine.device("cpu");
    allow_allocations(-1);
    copies.pop_back();
    EXPECT_TRUE(device || fine(device.error())) << to_string(device.error());
    return copies.empty() || (device.ok() && !devices.empty());
  });
  EXPECT_FALSE(copies.empty());
}

TEST(NoMemory, ToVerifyIsAFault) {
  const Kernel kernel = numbers();
  with_ever_more([&] {
    const std::vector<Error> faults = kernel.verify();
    const auto module = kernel.module();
    allow_allocations(-1);
    for (const Error& fault : faults) EXPECT_TRUE(fine(fault)) << to_string(fault);
    EXPECT_TRUE(module || fine(module.error())) << to_string(module.error());
    return faults.empty() && module.ok();
  });
}

// Strings and lists beyond what libstdc++ keeps in place.
TEST(NoMemory, ToCopyOrReadAModuleThrowsAndNoMore) {
  Kernel k{"a kernel with a name that is long enough for memory of its own"};
  const Tensor x =
      k.tensor<int32_t>("a tensor with a name that is long enough for it", {k.dim("and a dimension likewise")});
  k.grid(1);
  k.task("a task with a name that is long enough for it").body([&](Task& t) {
    k.print("a text with a number {} in it, long enough for memory of its own", {k.program_id()});
    x.store({0}, reshape(transpose(t.full<int32_t>({4, 2, 2}, 1), {2, 0, 1}), {16}));
  });
  const auto module = k.module();
  TLXJIT_MUST(module);
  const std::string text = print(*module);
  const auto whole = [&](auto&& make) {
    with_ever_more([&] {
      try {
        const std::string made = make();
        allow_allocations(-1);
        EXPECT_EQ(made, text);
        return true;
      } catch (const std::bad_alloc&) {
        return false;
      }
    });
  };
  whole([&] { return print(module->clone()); });
  whole([&] { return print(*parse(text)); });
  whole([&] {
    Module copy;
    copy.attrs.set("to be replaced, by one that is long enough too", std::vector<int64_t>{1, 2, 3, 4});
    copy.attrs = module->body.ops[0]->attrs;
    copy = module->clone();
    return print(copy);
  });
  with_ever_more([&] {
    auto copied = k.module();
    allow_allocations(-1);
    EXPECT_TRUE(copied || fine(copied.error())) << to_string(copied.error());
    return copied.ok();
  });
}

// Not of compiles: LLVM allocates when it takes code down, and ends the process where it cannot.
TEST(NoMemory, ToLaunchIsAnError) {
  const Engine engine(options());
  const auto exe = engine.compile(numbers(), *engine.device("cpu"));
  TLXJIT_MUST(exe);
  std::vector<int32_t> x(64, -1);
  with_ever_more([&] {
    const auto done = exe->launch({tensor<int32_t>(x.data(), {64})});
    allow_allocations(-1);
    EXPECT_TRUE(done || fine(done.error())) << to_string(done.error());
    return done.ok();
  });
  for (int32_t i = 0; i < 64; ++i) EXPECT_EQ(x[static_cast<size_t>(i)], i);
}

/// x[p] = p, of versions by N.
JitFunction by_size(const Engine& engine, Tier tier) {
  JitOptions o;
  o.numbers = {{"N", Policy::exact()}};
  o.tier = tier;
  return {engine, *engine.device("cpu"), "numbers", [](const Signature&, const Config&) { return numbers(); }, o};
}

// The compiled kernels stay with the engine, so that the first round alone compiles.
TEST(NoMemory, ToCallAFunctionIsAnErrorThatNobodyElseWaitsFor) {
  const Engine engine(options());
  for (const Tier tier : {Tier::wait, Tier::background}) {
    std::vector<int32_t> x(64, -1);
    const TensorArg all = tensor<int32_t>(x.data(), {64});
    TLXJIT_MUST(by_size(engine, tier).prepare({all}));
    TLXJIT_MUST(by_size(engine, tier).version({all}));
    std::deque<JitFunction> functions;
    for (int i = 0; i < 500; ++i) functions.push_back(by_size(engine, tier));
    with_ever_more([&] {
      const JitFunction& f = functions.back();
      const Argument call[] = {all};
      const auto done = f.launch(Stream(), call);
      allow_allocations(-1);
      EXPECT_TRUE(done || fine(done.error())) << to_string(done.error());
      f.wait();
      EXPECT_TRUE(f.launch({all}).ok());
      f.wait();
      EXPECT_EQ(f.counters().versions, 1u);
      const bool whole = done.ok() && f.counters().misses == 1;
      if (!whole) functions.pop_back();
      return whole || functions.empty();
    });
    EXPECT_FALSE(functions.empty()) << "none was called whole";
  }
}

// The engine's thread runs out of memory on its way to the compile, and from there on.
TEST(NoMemory, OfTheQueuesThreadIsAFailedCompile) {
  std::atomic<int> allowed = -1;
  EngineOptions o = options();
  o.event = [&](const Event& e) {
    if (e.kind == EventKind::version_started) allow_allocations(allowed);
    if (e.kind == EventKind::version_ready || e.kind == EventKind::version_failed) allow_allocations(-1);
  };
  const Engine engine(o);
  std::vector<int32_t> x(64, -1);
  const TensorArg all = tensor<int32_t>(x.data(), {64});
  TLXJIT_MUST(by_size(engine, Tier::background).version({all}));
  int n = 0;
  for (uint64_t versions = 0; versions == 0 && n < 20000; n += 1 + n / 200) {
    const JitFunction f = by_size(engine, Tier::background);
    TLXJIT_MUST(f.prepare({all}));
    allowed = n;
    EXPECT_TRUE(f.launch({all}).ok());
    f.wait();
    allowed = -1;
    versions = f.counters().versions;
    EXPECT_EQ(f.counters().failures, 1 - versions);
  }
  EXPECT_GT(n, 1);
  EXPECT_LT(n, 20000);
}

}  // namespace
}  // namespace tlxjit::runtime_test
