// tests/unit/builder/kernel_test.cpp — ops that builder calls make.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tlxjit/builder/kernel.h"

#include <gtest/gtest.h>

#include "tlxjit/ir/text.h"

namespace tlxjit {
namespace {

/// The text of the only task's body, without indentation.
std::string task_body(const Kernel& k) {
  auto module = k.module();
  if (!module) return to_string(module.error());
  const std::string text = print(*module);
  const size_t open = text.find('\n', text.find("task ")) + 1;
  std::string body = text.substr(open, text.find("\n  }", open) - open + 1), out;
  for (size_t at = 0; at < body.size();) {
    const size_t end = body.find('\n', at);
    out += body.substr(body.find_first_not_of(' ', at), end + 1 - body.find_first_not_of(' ', at));
    at = end + 1;
  }
  return out;
}

Kernel with_task(const std::function<void(Kernel&, Task&, Tensor&)>& body) {
  Kernel k{"k"};
  const Index n = k.dim("N");
  Tensor x = k.tensor<float>("x", {n});
  k.grid(n);
  k.task("t").body([&](Task& t) { body(k, t, x); });
  return k;
}

TEST(Builder, OperatorsReadLikeMathematics) {
  const Kernel k = with_task([](Kernel&, Task& t, Tensor& x) {
    const Tile a = t.full<float>({4}, 2), i = t.iota({4}, 0).to<float>();
    x.store({0}, (a + 1) * i - 0.5f);
  });
  EXPECT_EQ(task_body(k),
            "%2 = const [value = 2.0] : f32\n%3 = splat %2 : tile<4xf32>\n%4 = iota [axis = 0] : tile<4xi32>\n"
            "%5 = cast %4 : tile<4xf32>\n%6 = const [value = 1.0] : f32\n%7 = splat %6 : tile<4xf32>\n"
            "%8 = add %3, %7 : tile<4xf32>\n%9 = mul %8, %5 : tile<4xf32>\n%10 = const [value = 0.5] : f32\n"
            "%11 = splat %10 : tile<4xf32>\n%12 = sub %9, %11 : tile<4xf32>\n%13 = const [value = 0] : i32\n"
            "store %1, %12, %13\n");
}

TEST(Builder, ExpandRepeatsAlongTheNewAxis) {
  const Kernel k = with_task([](Kernel&, Task& t, Tensor& x) {
    const Tile a = t.full<float>({4, 8}, 1), row = t.full<float>({4}, 2);
    x.store({0}, sum(a - row.expand(1), 1));
  });
  EXPECT_NE(task_body(k).find("broadcast %5 [axis = 1] : tile<4x8xf32>"), std::string::npos) << task_body(k);
}

TEST(Builder, OpsThatNothingNeedsGoHoweverLongTheirChain) {
  const Kernel k = with_task([](Kernel& k, Task& t, Tensor& x) {
    Index unused = k.program_id();
    for (int i = 0; i < 100000; ++i) unused = unused + 1;
    Tile counts = t.full<float>({4}, 0), total = counts;  // of which only one is asked for
    k.range(3).each([&] {
      counts = counts + 1;
      total = total + 2;
    });
    x.store({0}, total);
  });
  const std::string body = task_body(k);
  EXPECT_EQ(body.find("program_id"), std::string::npos) << body;
  EXPECT_NE(body.find("[value = 2.0]"), std::string::npos) << body;
  EXPECT_EQ(body.find("[value = 1.0]"), std::string::npos) << body;
}

TEST(Builder, AssignmentInALoopWritesTheVariable) {
  const Kernel k = with_task([](Kernel& k, Task& t, Tensor& x) {
    Tile total = t.full<float>({4}, 0);
    k.range(3).each([&] { total = total + 1; });
    x.store({0}, total);
  });
  const std::string body = task_body(k);
  EXPECT_NE(body.find("var %3 : var<tile<4xf32>>"), std::string::npos) << body;
  EXPECT_NE(body.find("set %4, "), std::string::npos) << body;
  int reads = 0;
  for (size_t at = body.find("get %4"); at != std::string::npos; at = body.find("get %4", at + 1)) ++reads;
  EXPECT_EQ(reads, 2) << "one in the loop, one after it: " << body;
}

TEST(Builder, StraightAssignmentNeedsNoVariable) {
  const Kernel k = with_task([](Kernel&, Task& t, Tensor& x) {
    Tile a = t.full<float>({4}, 1);
    a = a + a;
    a = a * a;
    x.store({0}, a);
  });
  EXPECT_EQ(task_body(k).find("var"), std::string::npos) << task_body(k);
}

TEST(Builder, CopiesAreNewVariables) {
  const Kernel k = with_task([](Kernel& k, Task& t, Tensor& x) {
    Tile a = t.full<float>({4}, 1);
    const Tile before = a;
    k.range(3).each([&] { a = a + before; });
    x.store({0}, a - before);
  });
  const std::string body = task_body(k);
  // `before` is never assigned: it is the first splat itself.
  EXPECT_NE(body.find("sub %"), std::string::npos);
  EXPECT_EQ(body.find("var"), body.rfind("= var") + 2) << "one variable: " << body;
}

TEST(Builder, HandlesSurviveMovesOfTheKernel) {
  Kernel a{"k"};
  const Index n = a.dim("N");
  (void)a.tensor<float>("x", {n});
  a.grid(n);
  Kernel b = std::move(a);
  b.task("t").body([&] {});
  EXPECT_TRUE(b.verify().empty());
  EXPECT_EQ(b.name(), "k");
}

TEST(Builder, AThrowLeavesTheKernelUsable) {
  Kernel k{"k"};
  const Index n = k.dim("N");
  (void)k.tensor<float>("x", {n});
  k.grid(n);
  EXPECT_THROW(k.task("t").body([&](Task&) { k.range(n).each([&] { throw 1; }); }), int);
  k.task("t").body([&] {});
  auto module = k.module();
  ASSERT_TRUE(module.ok()) << to_string(module.error());
  EXPECT_EQ(print(*module).find("for"), std::string::npos) << "the op whose body threw is not there";
}

}  // namespace
}  // namespace tlxjit
