// tests/unit/runtime/no_memory_test.cpp — wherever memory runs out, calls give errors.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tests/support/allocations.h"
#include "tests/unit/runtime/engine_fixture.h"

namespace tlxjit::runtime_test {
namespace {

/// x[p] = p.
Kernel numbers() {
  Kernel k{"numbers"};
  const Index n = k.dim("N");
  const Tensor x = k.tensor<int32_t>("x", {n});
  k.grid(n);
  k.task("main").body([&](Task& t) { x.store({k.program_id()}, t.full<int32_t>({1}, k.program_id())); });
  return k;
}

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

}  // namespace
}  // namespace tlxjit::runtime_test
