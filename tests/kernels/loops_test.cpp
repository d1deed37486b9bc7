// tests/kernels/loops_test.cpp — counted loops at the ends of i32 run as often on every target.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tests/kernels/fixture.h"

namespace kernels_test {

class Loops : public KernelTest {};

TEST_P(Loops, EndWhereAStepWouldPassTheEnd) {
  // Counts the turns of a loop and keeps its last index. A tile's rows all hold the same number; as f32 it is exact
  // in halves of 16 bits.
  Kernel k{"loops"};
  const Index size = k.dim("N");
  const Tensor out = k.tensor<float>("out", {size});
  const Scalar first = k.scalar<int32_t>("first"), end = k.scalar<int32_t>("end"), step = k.scalar<int32_t>("step");
  k.grid(1);
  k.task("main").body([&](Task& t) {
    Index turns = first * 0, last = first * 0;
    k.range(first, end, step).each([&](Index i) {
      turns = turns + 1;
      last = i;
    });
    const auto put = [&](int place, const Index& x) {
      out.store({64 * place}, maximum(t.full<float>({64, 8}, x.to<float>()), 1));
    };
    put(0, turns);
    put(1, last & 0xffff);
    put(2, last >> 16);
  });
  auto exe = compile(k);
  TLXJIT_MUST(exe);
  const int32_t big = INT32_MAX;
  const int32_t cases[][3] = {
      {0, 0, 1},
      {0, -5, 7},
      {5, 5, big},
      {0, 10, 3},
      {0, 9, 3},
      {-7, 8, 5},
      {big - 1, big, 1},
      {big - 10, big, 7},
      {big - 7, big, 7},
      {0, big, big},
      {0, big, big - 1},
      {1, big, 1 << 30},
      {0, big, 1 << 30},
      {INT32_MIN, big, big},
      {INT32_MIN, big, 1 << 30},
      {INT32_MIN, INT32_MIN + 3, 2},
      {big, INT32_MIN, 1},
      {-big, big, 123456789},
  };
  for (const auto& [from, to, by] : cases) {
    SCOPED_TRACE(std::to_string(from) + " to " + std::to_string(to) + " by " + std::to_string(by));
    int64_t turns = 0, last = 0;
    for (int64_t i = from; i < to; i += by) ++turns, last = i;
    Random random(1);
    TestTensor<float> y({192}, random);
    TLXJIT_MUST(exe->launch({y.on(device()), from, to, by}));
    TLXJIT_MUST(device().synchronize());
    y.download();
    const double wanted[] = {static_cast<double>(turns), static_cast<double>(last & 0xffff),
                             static_cast<double>(last >> 16)};
    for (int64_t row = 0; row < 192; ++row) ASSERT_EQ(y.result(row), wanted[row / 64]) << "row " << row;
    EXPECT_EQ(y.strays(), 0u);
  }
}

#ifndef TLXJIT_TEST_GPU  // which does not look: the loop would not end
TEST_P(Loops, AStepBelow1EndsTheLaunchAtItsLine) {
  // The step is an argument, comes from a tensor, or is the index of a loop around.
  for (const int from : {0, 1, 2}) {
    SCOPED_TRACE(from);
    Kernel k{"steps"};
    const Index n = k.dim("N");
    const Tensor out = k.tensor<float>("out", {n}), steps = k.tensor<int32_t>("steps", {k.dim("S", 1)});
    const Scalar first = k.scalar<int32_t>("first"), step = k.scalar<int32_t>("step");
    k.grid(2);
    uint32_t line = 0;
    k.task("main").body([&](Task& t) {
      Index turns = first * 0;
      const auto count = [&](const Scalar& by) {
        line = __LINE__ + 1;
        k.range(first, 10, by).each([&] { turns = turns + 1; });
      };
      if (from == 0) count(step);
      if (from == 1) count(steps.load({0}));
      if (from == 2) k.range(step, step + 3).each([&](Index i) { count(i); });
      out.store({64 * k.program_id()}, maximum(t.full<float>({64, 8}, turns.to<float>()), 1));
    });
    auto exe = compile(k);
    TLXJIT_MUST(exe);
    Random random(1);
    TestTensor<float> y({128}, random);
    TestTensor<int32_t> by({1}, random);
    const auto launch = [&](int32_t begin, int32_t s) {
      by(0) = s;
      return exe->launch({y.on(device()), by.on(device()), begin, s});
    };
    TLXJIT_MUST(launch(0, 1));
    for (const int32_t s : {0, -1, -7, INT32_MIN})
      for (const int32_t begin : {0, 10, 11}) {  // also where there is no turn to take
        const auto refused = launch(begin, s);
        ASSERT_FALSE(refused.ok()) << s;
        EXPECT_EQ(refused.error().kind, ErrorKind::user);
        EXPECT_EQ(refused.error().code, ErrorCode::invalid_kernel);
        EXPECT_EQ(refused.error().stage, Stage::run);
        EXPECT_EQ(refused.error().message,
                  "CPU: `steps`: for: the step is " + std::to_string(s) + " in this call; it is at least 1");
        EXPECT_EQ(refused.error().location.line, line);
      }
    TLXJIT_MUST(launch(0, 3));
  }
}
#endif

INSTANTIATE_TEST_SUITE_P(On, Loops, places, place_name);

}  // namespace kernels_test
