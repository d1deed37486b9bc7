// tests/unit/runtime/jit_calls_test.cpp — calls that are hard to specialise for: far and odd strides, storms, functions
// that are made again and again.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tests/support/sparse.h"
#include "tests/unit/runtime/jit_fixture.h"

namespace tlxjit::runtime_test {
namespace {

using testing::IsEmpty;
using testing::StartsWith;

using JitCalls = JitTest;

/// out[i] = x[1, i] + 1 for i < N: row 1 is a literal.
Kernel second_row() {
  Kernel k{"second_row"};
  const Index m = k.dim("M"), n = k.dim("N");
  const Tensor x = k.tensor<int32_t>("x", {m, n}), out = k.tensor<int32_t>("out", {n});
  k.grid(1);
  k.task("main").warps(1).body([&] { out.store({0}, reshape(x.load_tile({1, 0}, {1, 16}), {16}) + 1); });
  return k;
}

struct SecondRow {
  static constexpr int64_t width = 16;
  int32_t out[width];

  static TensorArg rows(int32_t* data, int64_t stride) {
    return tensor<int32_t>(data, {2, width}).with_strides({stride, 1});
  }
  TensorArg to() { return tensor<int32_t>(out, {width}); }
  /// Fills row 1 at a stride and compares what a launch makes of it.
  template <class Launch>
  void call(int32_t* data, int64_t stride, const Launch& launch) {
    for (int64_t i = 0; i < width; ++i) data[stride + i] = static_cast<int32_t>(stride % 1000 + i), out[i] = -7;
    EXPECT_EQ(message(launch({rows(data, stride), to()})), "success");
    for (int64_t i = 0; i < width; ++i) EXPECT_EQ(out[i], stride % 1000 + i + 1) << stride << ' ' << i;
  }
};

// A stride that is a constant of the version's code, and more than 31 bits hold.
TEST_F(JitCalls, BL_111_ALiteralRowPast2To31Elements) {
  constexpr int64_t far = (int64_t{1} << 31) + 5;
  const auto module = second_row().module();
  TLXJIT_MUST(module);
  JitOptions o;
  o.other_tensors.strides = true;
  o.tier = Tier::wait;
  const JitFunction f(engine, device, "second_row", *module, o);
  const test::Sparse memory(static_cast<size_t>(far + SecondRow::width) * sizeof(int32_t));
  SecondRow data;
  for (const int64_t stride : {far, int64_t{16}, far})
    data.call(memory.of<int32_t>(), stride, [&](std::initializer_list<Argument> all) { return f.launch(all); });
  EXPECT_EQ(f.counters().versions, 2u);
  EXPECT_EQ(f.counters().failures, 0u);
}

TEST_F(JitCalls, BL_111_OneThatReachesPast2To31HasAVersionOfItsOwn) {
  constexpr int64_t far = (int64_t{1} << 31) - SecondRow::width + 1;  // its last element is 2^31 from the first
  const auto module = second_row().module();
  TLXJIT_MUST(module);
  JitOptions o;
  o.tier = Tier::wait;
  const JitFunction f(engine, device, "second_row", *module, o);
  const test::Sparse memory(static_cast<size_t>(far + SecondRow::width) * sizeof(int32_t));
  SecondRow data;
  auto* const x = memory.of<int32_t>();
  const auto call = [&](int64_t stride) {
    data.call(x, stride, [&](std::initializer_list<Argument> all) { return f.launch(all); });
  };
  call(16);
  call(far - 1);
  EXPECT_EQ(f.counters().versions, 1u) << "its last is one less";
  call(far);
  EXPECT_EQ(f.counters().versions, 2u);
  const auto small = f.version({SecondRow::rows(x, 16), data.to()});
  TLXJIT_MUST(small);
  EXPECT_THAT(message(small->launch({SecondRow::rows(x, far), data.to()})),
              StartsWith("argument `x` has elements 2^31 or more elements from its first"));
}

/// y = x + 1 of [A, B, C, D], a row of 64 at a time.
Kernel plus_one() {
  Kernel k{"plus_one"};
  const Index a = k.dim("A"), b = k.dim("B"), c = k.dim("C"), d = k.dim("D");
  const Tensor x = k.tensor<int32_t>("x", {a, b, c, d}), y = k.tensor<int32_t>("y", {a, b, c, d});
  k.grid(c);
  k.task("main").warps(1).body([&] {
    k.range(a).each([&](Index i) {
      k.range(b).each([&](Index j) {
        y.store({i, j, k.program_id(), 0}, x.load_tile({i, j, k.program_id(), 0}, {1, 1, 1, 64}) + 1);
      });
    });
  });
  return k;
}

TEST_F(JitCalls, BL_127_StridesOfAxesOf1AreInNoKeyAndNoPromise) {
  const auto module = plus_one().module();
  TLXJIT_MUST(module);
  JitOptions o;
  o.other_dims = Policy::any();
  o.other_tensors.strides = true;
  o.tier = Tier::wait;
  const JitFunction f(engine, device, "plus_one", *module, o);
  constexpr int64_t row = 64, rows = 40, half = 2 * rows * row;
  std::vector<int32_t> in(2 * half), out;
  for (size_t i = 0; i < in.size(); ++i) in[i] = static_cast<int32_t>(i);
  const auto call = [&](int64_t batch, int64_t stride, const auto& launch) {
    out.assign(in.size(), -7);
    const auto apart = [&](std::vector<int32_t>& data) {
      return tensor<int32_t>(data.data(), {batch, 2, rows, row}).with_strides({stride, rows * row, row, 1});
    };
    EXPECT_EQ(message(launch({apart(in), apart(out)})), "success") << stride;
    for (int64_t i = 0; i < 2 * half; ++i)
      ASSERT_EQ(out[static_cast<size_t>(i)], i < batch * half ? i + 1 : -7) << "stride " << stride << " at " << i;
  };
  const auto launch = [&](std::initializer_list<Argument> all) { return f.launch(all); };
  for (const int64_t stride : {int64_t{7}, int64_t{10240}, int64_t{-1}, int64_t{0}}) call(1, stride, launch);
  EXPECT_EQ(f.counters().versions, 1u);
  EXPECT_EQ(f.counters().compiles, 1u);
  // The version knows nothing of that stride: where the axis is 2, its code takes the call's.
  const TensorArg x = tensor<int32_t>(in.data(), {1, 2, rows, row}).with_strides({7, rows * row, row, 1});
  const TensorArg y = tensor<int32_t>(out.data(), {1, 2, rows, row}).with_strides({7, rows * row, row, 1});
  const auto version = f.version({x, y});
  TLXJIT_MUST(version);
  call(2, half, [&](std::initializer_list<Argument> all) { return version->launch(all); });
  call(2, half, launch);
  EXPECT_EQ(f.counters().versions, 2u) << "of that stride";
}

TEST_F(JitCalls, BL_218_AStormOfShapesCompilesThreeKernelsByDefault) {
  const JitFunction f = function({});
  for (int64_t n = 1; n <= 4096; ++n) call(f, n);
  f.wait();
  EXPECT_LE(f.counters().compiles, 3u) << "the generic one, multiples of 16, others";
  EXPECT_EQ(f.counters().versions, 2u);
  EXPECT_LE(engine.counters().loaded_modules, 3u);
  EXPECT_THAT(told, IsEmpty());
}

// A function made where it is called, each time anew.
TEST_F(JitCalls, BL_220_AFunctionMade500TimesIsCompiledOnceAVersion) {
  JitOptions o;
  o.numbers = {{"N", Policy::exact()}};
  o.tier = Tier::wait;
  uint64_t loaded = 0;
  for (int i = 0; i < 500; ++i) {
    const JitFunction f = function(o);
    for (const int64_t n : {16, 17}) call(f, n);
    ASSERT_EQ(f.counters().versions, 2u);
    if (i == 0) loaded = engine.counters().loaded_modules;
    ASSERT_EQ(engine.counters().loaded_modules, loaded);
  }
  EXPECT_EQ(engine.counters().compiles, 2u);
  EXPECT_THAT(told, IsEmpty());
}

}  // namespace
}  // namespace tlxjit::runtime_test
