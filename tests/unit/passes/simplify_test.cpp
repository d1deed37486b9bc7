// tests/unit/passes/simplify_test.cpp — what is known of integers is folded, and nothing else changes.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "src/passes/simplify_p.h"

#include <gmock/gmock.h>

#include "src/passes/specialize_p.h"
#include "tests/unit/passes/lowering.h"
#include "tlxjit/builder/kernel.h"
#include "tlxjit/ir/text.h"
#include "tlxjit/ir/verify.h"

namespace tlxjit {
namespace {

using testing::HasSubstr;
using testing::Not;

/// A kernel of one dim N, one i32 n and one tensor, whose task stores what `value` makes of the two.
Module kernel_of(const std::function<Scalar(Kernel&, Index, Scalar)>& value) {
  Kernel k{"k"};
  const Index dim = k.dim("N");
  const Scalar n = k.scalar<int32_t>("n");
  const Tensor x = k.tensor<int32_t>("x", {dim});
  k.grid(1);
  k.task("t").body([&](Task& t) { x.store({0}, t.full<int32_t>({1}, value(k, dim, n))); });
  auto module = k.module();
  EXPECT_TRUE(module) << to_string(module.error());
  return module ? std::move(*module) : Module();
}

/// The text of the kernel when N is promised `dim`, and n `number`.
std::string special(const std::function<Scalar(Kernel&, Index, Scalar)>& value, NumberPromise dim,
                    NumberPromise number = {}) {
  auto module = specialize(kernel_of(value), Promises{{dim}, {number}, {}});
  EXPECT_TRUE(module) << to_string(module.error());
  return module ? print(*module) : std::string();
}

TEST(Simplify, ArithmeticOfKnownNumbers) {
  const auto exact = NumberPromise::exact;
  EXPECT_THAT(special([](Kernel&, Index n, Scalar) { return n * 3 + 7; }, exact(5)),
              HasSubstr("const [value = 22] : i32"));
  EXPECT_THAT(special([](Kernel&, Index n, Scalar s) { return (n - s) / 4; }, exact(5), exact(-12)),
              HasSubstr("const [value = 4] : i32"));
  EXPECT_THAT(special([](Kernel&, Index n, Scalar) { return n + 7; }, exact(0)), HasSubstr("const [value = 7] : i32"));
  EXPECT_THAT(special([](Kernel&, Index n, Scalar s) { return n / s; }, exact(INT32_MAX), exact(INT32_MAX)),
              HasSubstr("const [value = 1] : i32"));
  EXPECT_THAT(special([](Kernel&, Index n, Scalar) { return n % 0; }, exact(5)), HasSubstr("mod"));        // means n
  EXPECT_THAT(special([](Kernel&, Index n, Scalar) { return n * n; }, exact(1 << 20)), HasSubstr("mul"));  // it wraps
}

TEST(Simplify, MultiplesMakeRemaindersZeroAndQuotientsExact) {
  const NumberPromise tiles{0, INT32_MAX, 128};
  const auto rest = [](Kernel&, Index n, Scalar) { return n % 64; };
  EXPECT_THAT(special(rest, tiles), Not(HasSubstr("mod")));
  EXPECT_THAT(special(rest, {0, INT32_MAX, 96}), HasSubstr("mod"));
  const auto rounded_up = [](Kernel&, Index n, Scalar) { return ceil_div(n, 64); };
  EXPECT_THAT(special(rounded_up, tiles), Not(HasSubstr("ceil_div")));
  EXPECT_THAT(special(rounded_up, {0, INT32_MAX, 1}), HasSubstr("ceil_div"));
  // 3 divides N, but not what N · 3 + N is after it has wrapped.
  const auto wraps = [](Kernel&, Index n, Scalar) { return (n * 3 + n) % 3; };
  EXPECT_THAT(special(wraps, {0, INT32_MAX, 3}), HasSubstr("mod"));
  EXPECT_THAT(special(wraps, {0, 1 << 20, 3}), Not(HasSubstr("mod")));
}

/// Of each sum both operands are one value, which is looked at once: not 2^64 times.
TEST(Simplify, MultiplesOfLongChainsAreFound) {
  const auto rest = [](Kernel&, Index n, Scalar) {
    std::vector<Index> sums = {n + n};
    while (sums.size() < 64) sums.push_back(sums.back() + sums.back());
    return sums.back() % 8;
  };
  EXPECT_THAT(special(rest, {0, INT32_MAX, 16}), Not(HasSubstr("mod")));
  EXPECT_THAT(special(rest, {0, INT32_MAX, 4}), HasSubstr("mod"));
}

TEST(Simplify, BoundsDecideComparisonsAndLesserAndGreater) {
  const auto below = [](Kernel&, Index n, Scalar s) { return select(n < s, n, s); };
  EXPECT_THAT(special(below, {0, 100, 1}, {200, 300, 1}), Not(HasSubstr("= select")));
  EXPECT_THAT(special(below, {0, 200, 1}, {200, 300, 1}), HasSubstr("select"));
  const auto lesser = [](Kernel&, Index n, Scalar s) { return min(n, s); };
  EXPECT_THAT(special(lesser, {0, 200, 1}, {200, 300, 1}), Not(HasSubstr("= min %")));
}

TEST(Simplify, ABranchThatIsNeverTakenGoes) {
  Kernel k{"k"};
  const Index n = k.dim("N");
  const Tensor x = k.tensor<int32_t>("x", {n});
  k.grid(1);
  k.task("t").body([&](Task& t) {
    k.when(n > 64, [&] { x.store({0}, t.full<int32_t>({1}, 11)); }, [&] { x.store({0}, t.full<int32_t>({1}, 22)); });
    k.range(n, 8).each([&](Index i) { x.store({i}, t.full<int32_t>({1}, 33)); });
  });
  const auto made = k.module();
  ASSERT_TRUE(made.ok());
  const Module& module = *made;
  const auto text = [&](NumberPromise p) { return print(*specialize(module, Promises{{p}, {}, {}})); };
  // A store is asynchronous: its branch stays, though it is never run, and the back ends drop it.
  EXPECT_THAT(text({65, 1000, 1}), HasSubstr("22"));
  EXPECT_THAT(text(NumberPromise::exact(64)), HasSubstr("11"));
}

TEST(Simplify, ABranchThatIsAlwaysTakenKeepsTheEndOfItsSlots) {
  Kernel k{"k"};
  const Index n = k.dim("N");
  const Tensor x = k.tensor<int32_t>("x", {n});
  const Ring ring = k.ring(2).slot<int32_t>("x", {8});
  k.grid(1);
  const auto twice = [&](const std::function<void()>& fn) {
    k.when(n > 64, fn);
    fn();
  };
  k.task("fill").body([&] { twice([&] { ring.acquire().load("x", x, {0}); }); });
  k.task("drain").body([&] {
    twice([&] {
      k.when(n > 63, [&] { x.store({0}, ring.wait()["x"].load()); });
      const Slot slot = ring.wait();
      slot.release();
      x.store({0}, ring.wait()["x"].load());
    });
  });
  auto module = specialize(*k.module(), Promises{{NumberPromise::exact(65)}, {}, {}});
  ASSERT_TRUE(module.ok()) << to_string(module.error());
  std::string drain;  // the skeleton of its only region: there is no branch
  for (const auto& op : module->body.ops.back()->regions[0].ops) switch (op->code) {
      case OpCode::wait_slot: drain += "wait "; break;
      case OpCode::store: drain += "store "; break;
      case OpCode::release: drain += op->attrs.find("implied") ? "end " : "release "; break;
      default: EXPECT_TRUE(op->regions.empty());
    }
  const std::string once = "wait store end wait release wait store ";
  EXPECT_EQ(drain, once + "end " + once) << "the task's own region ends by itself";
}

TEST(Simplify, PromisesStandInTheParametersAndAreChecked) {
  const auto same = [](Kernel&, Index n, Scalar s) { return n + s; };
  const std::string text = special(same, {16, 64, 16}, {-5, 5, 1});
  EXPECT_THAT(text, HasSubstr("min = 16, max = 64, multiple = 16"));
  EXPECT_THAT(text, HasSubstr("min = -5, max = 5"));
  auto never = specialize(kernel_of(same), Promises{{{-9, -1, 1}}, {}, {}});
  ASSERT_FALSE(never.ok());
  EXPECT_EQ(never.error().message,
            "dim: no call can keep what is promised here of `N` beside what the kernel asks for");
}

TEST(Simplify, ParametersStayAndTheModuleVerifies) {
  const Module module = kernel_of([](Kernel&, Index n, Scalar) { return n * 0; });
  Module simple = module.clone();
  simplify(simple);
  EXPECT_TRUE(verify(simple).empty());
  EXPECT_THAT(print(simple), HasSubstr("\"n\""));
  EXPECT_THAT(print(simple), Not(HasSubstr("mul")));
}

}  // namespace
}  // namespace tlxjit
