// tests/unit/codegen/limits_test.cpp — what Hopper's dots, copies and tiles cannot be is refused: message and line.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/nvidia/emit/emit_p.h"
#include "tests/support/faults.h"

namespace tlxjit {
namespace {

/// A kernel with these declarations, and ops in a task.
std::string kernel(const std::string& declarations, const std::string& ops) {
  return R"(tlx 1 lowered sm_90a
kernel "k" [threads = 128, shared_bytes = 65536] {
  %0 = dim [name = "N"] : i32
  %1 = tensor %0, %0 [name = "x"] : tensor<2xf32>
  %2 = tensor %0, %0 [name = "h"] : tensor<2xbf16>
  %3 = const [value = 0] : i32
  %4 = const [value = 1.0] : f32
  %5 = buffer [swizzle = 128, offset = 0] : buffer<2, 64x64xbf16>
  %6 = buffer [swizzle = 0, offset = 16384] : buffer<1, 64x64xbf16>
  %7 = barrier [count = 1, name = "b", offset = 65528] : barrier<1>
  grid %0
)" + declarations +
         R"(
  task [name = "t", warps = 4, replicas = 1] {
    %10 = accumulator : accumulator<64x64xf32>
    %11 = view %5, %3 : view<64x64xbf16>
    %12 = trans %11 : view<64x64xbf16>
    %13 = acc.read %10 [col = 0] : tile<64x64xf32>
    %14 = cast %13 : tile<64x64xbf16>
    %15 = reduce %13 [kind = "sum", axis = 1, partial = 0] : tile<64xf32>
)" + ops +
         "\n  }\n}\n";
}

/// The module is well formed, and the emitter refuses it: `line: message`, the line being that of the ops.
void expect_refused(const FaultCases& cases, const std::string& declarations = "") {
  for (const auto& [ops, expected] : cases) {
    auto module = parse(kernel(declarations, with_lines(ops)));
    ASSERT_TRUE(module) << to_string(module.error()) << "\n" << ops;
    const auto faults = verify(*module);
    ASSERT_TRUE(faults.empty()) << ops << "\n" << faults[0].message;
    const auto emitted = nvidia::emit_cuda(*module);
    ASSERT_FALSE(emitted) << ops;
    EXPECT_EQ(std::to_string(emitted.error().location.line) + ": " + emitted.error().message, expected) << ops;
    EXPECT_EQ(emitted.error().kind, ErrorKind::user) << ops;
  }
}

TEST(Limits, Dots) {
  expect_refused(
      {
          {"%30 = view %20, %3 : view<64x64xf32>\n%31 = trans %30 : view<64x64xf32>\n"
           "dot %10, %30, %31 [overwrite = \"always\"]",
           "3: dot: operands are bf16 or f16, sums f32, on this target"},
          {"%30 = view %21, %3 : view<64x8xbf16>\n%31 = trans %30 : view<8x64xbf16>\n"
           "dot %10, %30, %31 [overwrite = \"always\"]",
           "3: dot: rows in multiples of 64, columns of 8 up to 256, K of 16, on this target"},
          {"%30 = view %6, %3 : view<64x64xbf16>\n%31 = trans %30 : view<64x64xbf16>\n"
           "dot %10, %11, %31 [overwrite = \"always\"]",
           "3: dot: operand b: a swizzled buffer; [K, N] as stored needs swizzle 128 and N in multiples of 64"},
          {"dot %10, %12, %12 [overwrite = \"always\"]", "1: dot: operand a: [M, K] as stored in a swizzled buffer"},
          // Rows of 64 bytes, which a copy puts 64 bytes apart and not 128.
          {"%30 = view %22, %3 : view<64x32xbf16>\n%31 = trans %30 : view<32x64xbf16>\n"
           "%32 = view %23, %3 : view<64x32xbf16>\ndot %10, %32, %31 [overwrite = \"always\"]",
           "4: dot: the rows of operand b's buffer are no multiple of its swizzle span"},
          {"%30 = view %22, %3 : view<64x32xbf16>\n%32 = view %23, %3 : view<64x32xbf16>\n"
           "%31 = trans %32 : view<32x64xbf16>\ndot %10, %30, %31 [overwrite = \"always\"]",
           "4: dot: the rows of operand a's buffer are no multiple of its swizzle span"},
      },
      "%20 = buffer [swizzle = 128, offset = 24576] : buffer<1, 64x64xf32>\n"
      "%21 = buffer [swizzle = 0, offset = 40960] : buffer<1, 64x8xbf16>\n"
      "%22 = buffer [swizzle = 128, offset = 43008] : buffer<1, 64x32xbf16>\n"
      "%23 = buffer [swizzle = 64, offset = 47104] : buffer<1, 64x32xbf16>\n");
}

TEST(Limits, SharedMemory) {
  expect_refused(
      {
          {"buffer.store %6, %3, %14",
           "1: buffer.store: a tile of rank 2 of bf16, f16 or f32 into a swizzled buffer of its shape"},
          {"%30 = accumulator : accumulator<64x32xf32>\n%31 = acc.read %30 [col = 0] : tile<64x32xf32>\n"
           "%32 = cast %31 : tile<64x32xbf16>\nbuffer.store %20, %3, %32",
           "4: buffer.store: the tile's rows are no multiple of the buffer's swizzle span"},
          {"buffer.put %21, %3, %3, %22", "1: buffer.put: a buffer of rank 1 with 32-bit elements"},
          {"%30 = buffer.get %21, %3, %3 : f64", "1: buffer.get: a buffer of rank 1 with 32-bit elements"},
          {"buffer.put %23, %3, %3, %4", "1: buffer.put: copies lay out a swizzled buffer otherwise: use swizzle 0"},
          {"%30 = buffer.get %23, %3, %3 : f32",
           "1: buffer.get: copies lay out a swizzled buffer otherwise: use swizzle 0"},
      },
      "%20 = buffer [swizzle = 128, offset = 24576] : buffer<1, 64x32xbf16>\n"
      "%21 = buffer [swizzle = 0, offset = 40960] : buffer<1, 64xf64>\n%22 = const [value = 1.0] : f64\n"
      "%23 = buffer [swizzle = 128, offset = 43008] : buffer<1, 256xf32>\n");
}

TEST(Limits, StoresOfTiles) {
  expect_refused(
      {
          {"%30 = splat %21 : tile<64x64xi8>\ntile.store %20, %30, %3, %3 [box = <64, 64>, ragged = -1]",
           "2: tile.store: a tile of the tensor's type: f32, i32, bf16 or f16"},
          {"%30 = splat %4 : tile<64x64xf32>\ntile.store %1, %30, %3, %3 [box = <64, 64>, ragged = -1]",
           "2: tile.store: a tile of rows on this target"},
          {"tile.store %1, %13, %3, %3 [box = <32, 128>, ragged = -1]",
           "1: tile.store: the box is not the tile's shape"},
      },
      "%20 = tensor %0, %0 [name = \"b\"] : tensor<2xi8>\n%21 = const [value = 1] : i8\n");
}

TEST(Limits, Copies) {
  const std::string declarations =
      "%20 = tensor %0, %0, %0, %0 [name = \"r4\"] : tensor<4xbf16>\n"
      "%21 = buffer [swizzle = 0, offset = 24576] : buffer<1, 64x4xbf16>\n"
      "%22 = buffer [swizzle = 128, offset = 32768] : buffer<1, 64x96xbf16>\n"
      "%23 = buffer [swizzle = 0, offset = 45056] : buffer<2, 16xf32>\n"
      "%24 = tensor %0 [name = \"r1\"] : tensor<1xf32>\n"
      "%25 = buffer [swizzle = 0, offset = 45200] : buffer<1, 16xf32>\n";
  expect_refused(
      {
          {"copy.load %20, %5, %3, %7, %3, %3, %3, %3, %3, %0 [box = <1, 1, 64, 64>, ragged = 0]",
           "1: copy.load: a tensor map has at most 5 axes, 3 of a ragged tensor"},
          {"copy.load %2, %21, %3, %7, %3, %3, %3 [box = <64, 4>, ragged = -1]",
           "1: copy.load: the innermost extent of a box is a multiple of 16 bytes"},
          {"copy.load %2, %22, %3, %7, %3, %3, %3 [box = <64, 96>, ragged = -1]",
           "1: copy.load: the innermost extent is no multiple of the swizzle span"},
          {"copy.load %24, %23, %3, %7, %3, %3 [box = <16>, ragged = -1]",
           "1: copy.load: slots that copies reach begin on multiples of 128 bytes of shared memory"},
          {"copy.store %24, %25, %3, %3 [box = <16>, ragged = -1]",
           "1: copy.store: slots that copies reach begin on multiples of 128 bytes of shared memory"},
      },
      declarations);
}

TEST(Limits, ScalarsAndTiles) {
  expect_refused(
      {
          {"%30 = add %20, %3 : i32", "0: sms: only the host knows it; kernels read num_programs"},
      },
      "%20 = sms : i32\n");
  expect_refused({
      {"%30 = const [value = 1.0] : bf16", "1: const: scalars of bf16 are only loaded and cast to f32"},
      {"%30 = load %2, %3, %3 : bf16\n%31 = add %30, %30 : bf16\ntile.store %1, %13, %3, %3 [box = <64, 64>, "
       "ragged = -1]",
       "2: add: scalars of bf16 are only loaded and cast to f32"},
      {"%30 = sqrt %4 : f32", "1: sqrt: sm_90a has no libm; targets that have it: cpu"},
      {"%30 = cast %4 : i8", "1: cast: from f32 to i8 is not supported by this back end"},
      {"%30 = add %14, %14 : tile<64x64xbf16>\nbuffer.store %5, %3, %30",
       "1: add: tiles of 16-bit floats are only cast, kept and chosen on this target; compute in f32"},
      {"%30 = load %2, %3, %3 : bf16\n%31 = splat %30 : tile<64x64xbf16>\nbuffer.store %5, %3, %31",
       "2: splat: splat in f32 and cast"},
      {"%30 = cast %15 : tile<64xbf16>\n%31 = broadcast %30 [axis = 1] : tile<64x64xbf16>\nbuffer.store %5, %3, %31",
       "2: broadcast: broadcast in f32 and cast"},
  });
  expect_refused(
      {{"%30 = workspace.add %3 [word = 0] : i32", "1: workspace.add: only in a task that runs on one thread"}},
      "workspace [words = 1]\n");
}

TEST(Limits, ModulesOfOtherTargets) {
  std::string text = kernel("", "");
  text.replace(text.find("sm_90a"), 6, "cpu");
  auto module = parse(text);
  ASSERT_TRUE(module);
  const auto emitted = nvidia::emit_cuda(*module);
  ASSERT_FALSE(emitted);
  EXPECT_EQ(emitted.error().message, "the CUDA emitter reads modules lowered for sm_90a, not 'cpu'");
}

}  // namespace
}  // namespace tlxjit
