// tests/unit/runtime/signature_test.cpp — calls that do not fit the kernel's signature, and what they are told.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tests/unit/runtime/engine_fixture.h"

namespace tlxjit::runtime_test {
namespace {

using ::testing::HasSubstr;

struct Signature : EngineTest {
  Executable gemm_exe = compile(gemm(gemm_config("cpu")));
  std::vector<bf16> a = std::vector<bf16>(64 * 64), b = a, d = a;
  TensorArg ta = tensor<bf16>(a.data(), {8, 16}), tb = tensor<bf16>(b.data(), {24, 16}),
            td = tensor<bf16>(d.data(), {8, 24});

  std::string call(std::initializer_list<Argument> arguments) { return message(gemm_exe.launch(arguments)); }
};

const char* const gemm_text = "gemm(a: bf16[M, K], b: bf16[N, K], d: bf16[M, N])";

TEST_F(Signature, IsShown) {
  EXPECT_EQ(gemm_exe.signature(), gemm_text);
  ASSERT_EQ(gemm_exe.parameters().size(), 3u);
  EXPECT_EQ(gemm_exe.parameters()[1].text(), "b: bf16[N, K]");
  EXPECT_EQ(compile(attention(attention_config("cpu", {.head = 64, .jagged = true}))).signature(),
            "attention(q: bf16[T, H, 64], k: bf16[T, H, 64], v: bf16[T, H, 64], out: bf16[T, H, 64], lse: f32[H, T], "
            "offsets: i32[B+1], scale: f32)");
}

TEST_F(Signature, GoodCallsByPositionAndName) {
  EXPECT_EQ(call({ta, tb, td}), "success");
  EXPECT_EQ(call({ta, arg("d", td), arg("b", tb)}), "success");
}

TEST_F(Signature, NumberAndNames) {
  EXPECT_EQ(call({ta, tb}), std::string("argument `d` is missing: ") + gemm_text);
  EXPECT_EQ(call({ta, tb, td, 1}), std::string("`gemm` takes 3 arguments and 4 were given: ") + gemm_text);
  EXPECT_EQ(call({ta, tb, arg("x", td)}), std::string("`gemm` has no parameter `x`: ") + gemm_text);
  EXPECT_EQ(call({ta, tb, arg("a", ta)}), "argument `a` is given twice");
  EXPECT_EQ(call({arg("a", ta), tb, td}),
            "an argument without a name follows one with a name; give the rest names too");
}

TEST_F(Signature, Types) {
  EXPECT_EQ(call({ta, 2.f, td}), "argument `b` is a scalar, and the kernel wants a tensor: b: bf16[N, K]");
  EXPECT_EQ(call({tensor<float>(a.data(), {8, 16}), tb, td}),
            "argument `a` is of f32, and the kernel wants bf16: convert it, or build the kernel for f32");
}

TEST_F(Signature, Extents) {
  EXPECT_EQ(call({ta, tensor<bf16>(b.data(), {24, 8}), td}),
            "argument `b` has extent 8 in dimension 1 (K), which is 16 in `a`");
  EXPECT_EQ(call({ta, tb, tensor<bf16>(d.data(), {8, 24, 1})}),
            "argument `d` has 3 dimensions, and the kernel wants 2: d: bf16[M, N]");
  EXPECT_EQ(call({ta, tb, tensor<bf16>(d.data(), {8, -1})}),
            "argument `d` has extent -1 in dimension 1; 0 to 2147483647 are possible");
  EXPECT_EQ(call({tensor<bf16>(a.data(), {int64_t{1} << 31, 16}), tb, td}),
            "argument `a` has extent 2147483648 in dimension 0; 0 to 2147483647 are possible: split the call");
}

TEST_F(Signature, Memory) {
  EXPECT_EQ(call({ta, tensor<bf16>(nullptr, {24, 16}), td}),
            "argument `b` is a null pointer, and its extents are not 0");
  EXPECT_EQ(call({ta.with_strides({32, 2}), tb, td}),
            "argument `a` has stride 2 in its innermost dimension, and the kernel wants 1: copy it to a packed tensor");
  EXPECT_EQ(call({ta.with_strides({32}), tb, td}), "argument `a` has another number of strides than of dimensions");
  TensorArg odd = ta;
  odd.data = reinterpret_cast<char*>(a.data()) + 1;
  EXPECT_EQ(call({odd, tb, td}), "argument `a` begins at an address that is no multiple of its element's 2 bytes");
  const Buffer small = *device.allocate(8 * 24 * 2 - 6);
  EXPECT_EQ(call({ta, tb, small.tensor<bf16>({8, 24})}),
            "argument `d` ends 6 bytes behind its buffer: allocate more, or check the extents");
  EXPECT_EQ(call({ta, tb, small.tensor<bf16>({8, 24}).with_strides({-24, 1})}),
            "argument `d` begins before its buffer: its strides are negative");
  EXPECT_EQ(call({ta, tb, small.tensor<bf16>({8, 24}).with_strides({INT64_MAX / 2, 1})}),
            "argument `d` ends 2^63 or more bytes behind its buffer: allocate more, or check the extents");
}

TEST_F(Signature, TheErrorHasTheLineOfTheCall) {
  const auto result = gemm_exe.launch({ta, tb});
  const int line = __LINE__ - 1;
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().kind, ErrorKind::user);
  EXPECT_EQ(result.error().stage, Stage::launch);
  EXPECT_EQ(result.error().code, ErrorCode::bad_argument);
  EXPECT_THAT(result.error().location.file, HasSubstr("signature_test.cpp"));
  EXPECT_EQ(result.error().location.line, static_cast<uint32_t>(line));
}

TEST_F(Signature, AttentionWantsAPositiveScale) {
  const Executable exe = compile(attention(attention_config("cpu")));
  alignas(16) static bf16 room[128];
  static float sums[1];
  const TensorArg x = tensor<bf16>(room, {1, 1, 1, 128});
  const auto with = [&](float scale) {
    return message(exe.launch({x, x, x, x, tensor<float>(sums, {1, 1, 1}), scale}));
  };
  EXPECT_EQ(with(0.5f), "success");
  EXPECT_EQ(with(0.f), "argument `scale` is 0, and the kernel wants a finite number above 0");
  EXPECT_EQ(with(-1.f), "argument `scale` is -1, and the kernel wants a finite number above 0");
  EXPECT_EQ(with(std::numeric_limits<float>::quiet_NaN()),
            "argument `scale` is nan, and the kernel wants a finite number above 0");
}

TEST_F(Signature, TensorMapsWantSixteenBytes) {
  const Executable exe = compile(gemm(gemm_config("sm_90a")), "sm_90a");
  alignas(16) bf16 room[2048];
  const TensorArg m = tensor<bf16>(room, {8, 16});
  EXPECT_EQ(message(exe.launch({m, m, tensor<bf16>(room + 1024, {8, 8})})), "success");
  EXPECT_EQ(message(exe.launch({tensor<bf16>(room + 4, {8, 16}), m, tensor<bf16>(room + 1024, {8, 8})})),
            "argument `a` begins at an address that is no multiple of 16 bytes, which the copies of this target need: "
            "allocate it so, or begin at another element");
  EXPECT_EQ(message(exe.launch({m, tensor<bf16>(room, {12, 16}), tensor<bf16>(room + 1024, {8, 12})})),
            "argument `d` has a stride of 24 bytes in dimension 0, no multiple of 16, which the copies of this target "
            "need: pad the rows");
  EXPECT_EQ(
      message(exe.launch({m, tensor<bf16>(room, {12, 16}), tensor<bf16>(room + 1024, {8, 12}).with_strides({16, 1})})),
      "argument `d` has rows of 24 bytes; the copies of this target store multiples of 16 and would write past "
      "their end: pad the innermost extent");
  EXPECT_EQ(message(exe.launch({m.with_strides({-16, 1}), m, tensor<bf16>(room + 1024, {8, 8})})),
            "argument `a` has stride -16 in dimension 0; the copies of this target need 0 to 2^34 - 1: copy the tensor "
            "to a packed one");
  // A stride along which there is one element does not matter.
  const TensorArg row = tensor<bf16>(room, {1, 16}).with_strides({3, 1});
  EXPECT_EQ(message(exe.launch({row, m, tensor<bf16>(room + 1024, {1, 8})})), "success");
}

/// out[i] = a · in[i], for rows that are a multiple of `columns`; M is promised to be at least 2.
Kernel scale_kernel() {
  Kernel k{"scale"};
  Index m = k.dim("M", 2);
  Tensor out = k.tensor<int32_t>("out", {m, 4});
  Tensor twice = k.tensor<int32_t>("twice", {m * 2});
  Scalar factor = k.scalar<int32_t>("factor");
  k.grid(m);
  k.task("main").warps(4).body([&](Task& t) {
    const Index p = k.program_id();
    out.store({p, 0}, t.full<int32_t>({1, 4}, 0) + factor);
    twice.store({p * 2}, t.full<int32_t>({2}, 1));
  });
  return k;
}

TEST_F(Signature, ConstantsPromisesExpressionsScalars) {
  const Executable exe = compile(scale_kernel());
  EXPECT_EQ(exe.signature(), "scale(out: i32[M, 4], twice: i32[M * 2], factor: i32)");
  int32_t out[12] = {}, twice[6] = {};
  EXPECT_EQ(message(exe.launch({tensor<int32_t>(out, {3, 4}), tensor<int32_t>(twice, {6}), 7})), "success");
  EXPECT_THAT(out, ::testing::Each(7));
  EXPECT_THAT(twice, ::testing::Each(1));
  EXPECT_EQ(message(exe.launch({tensor<int32_t>(out, {3, 3}), tensor<int32_t>(twice, {6}), 7})),
            "argument `out` has extent 3 in dimension 1, and the kernel wants 4");
  EXPECT_EQ(message(exe.launch({tensor<int32_t>(out, {1, 4}), tensor<int32_t>(twice, {2}), 7})),
            "argument `out` has extent 1 in dimension 0 (M), and the kernel was promised at least 2");
  EXPECT_EQ(message(exe.launch({tensor<int32_t>(out, {3, 4}), tensor<int32_t>(twice, {5}), 7})),
            "argument `twice` has extent 5 in dimension 0, and the kernel wants M * 2 = 6");
  EXPECT_EQ(message(exe.launch({tensor<int32_t>(out, {3, 4}), tensor<int32_t>(twice, {6}), 7.0})),
            "argument `factor` is of f64, and the kernel wants i32: convert it, or build the kernel for f64");
  EXPECT_EQ(message(exe.launch({tensor<int32_t>(out, {2000000000, 4}), tensor<int32_t>(twice, {6}), 7})),
            "argument `twice` has extent 6 in dimension 0, and the kernel wants M * 2, which is no i32 in this call");
}

TEST_F(Signature, MoreProgramsThanACallHas) {
  Kernel k{"square"};
  const Index n = k.dim("N");
  const Tensor out = k.tensor<int8_t>("out", {n});
  k.grid(n * n);
  k.task("main").body([&](Task& t) { out.store({0}, t.full<int8_t>({4}, 1)); });
  std::vector<int8_t> room(1 << 16);
  EXPECT_EQ(message(compile(k).launch({tensor<int8_t>(room.data(), {1 << 16})})),
            "the number of programs of this call is beyond 2^31: split the call");
}

TEST_F(Signature, WhatDividesByZeroSaysSo) {
  Kernel k{"divides"};
  const Index n = k.dim("N"), m = k.dim("M");
  const Tensor x = k.tensor<int32_t>("x", {n}), y = k.tensor<int32_t>("y", {m}), z = k.tensor<int32_t>("z", {12 / m});
  k.grid(128 / n);
  const int line = __LINE__ - 1;
  k.task("main").body([&](Task& t) { y.store({0}, t.full<int32_t>({1}, k.program_id())); });
  const Executable exe = compile(k);
  int32_t data[16] = {};
  const auto with = [&](int64_t n, int64_t m) {
    return exe.launch({tensor<int32_t>(data, {n}), tensor<int32_t>(data, {m}), tensor<int32_t>(data, {4})});
  };
  EXPECT_EQ(message(with(2, 3)), "success");
  const auto grid = with(0, 3);
  EXPECT_EQ(message(grid), "the number of programs of this call, 128 / N, divides by 0");
  EXPECT_THAT(grid.error().log, ::testing::EndsWith("signature_test.cpp:" + std::to_string(line)));
  EXPECT_EQ(message(with(2, 0)),
            "argument `z` has extent 4 in dimension 0, and the kernel wants 12 / M, which divides by 0 in this call");
}

}  // namespace
}  // namespace tlxjit::runtime_test
