// tests/unit/ir/verify_tiles_test.cpp — what ops on tiles, accesses to tensors, prints and inline text refuse.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tests/support/faults.h"

namespace tlxjit {
namespace {

/// A portable kernel with these ops in its task; they find %10 to %19 there.
std::string task_text(const std::string& ops) {
  return R"(tlx 1 portable
kernel "k" {
  %0 = dim [name = "N"] : i32
  %1 = tensor %0, %0 [name = "x"] : tensor<2xf32>
  %2 = tensor %0 [name = "n"] : tensor<1xi32>
  %3 = const [value = 0] : i32
  %4 = const [value = 1.0] : f32
  %5 = const [value = 1] : b1
  grid %0
  task [name = "t", warps = 4, replicas = 1] {
    %10 = splat %4 : tile<4x6xf32>
    %11 = iota [axis = 0] : tile<4x6xi32>
    %12 = splat %5 : tile<4x6xb1>
    %13 = iota [axis = 0] : tile<8xi32>
    %14 = splat %4 : tile<8xf32>
    %15 = splat %4 : tile<4x2xf32>
    %16 = var %4 : var<f32>
    %17 = cast %10 : tile<4x6xbf16>
    %18 = splat %5 : tile<8xb1>
)" + ops +
         "\n  }\n}\n";
}

using Cases = std::vector<std::pair<const char*, const char*>>;

void expect_faults(const Cases& cases) {
  for (const auto& [ops, message] : cases) EXPECT_EQ(only_fault(task_text(ops)), message) << ops;
}

TEST(VerifyTiles, Shapes) {
  expect_faults({
      {"%30 = reshape %10 : tile<2x12xf32>", "no fault"},
      {"%30 = reshape %10 : tile<2x11xf32>", "reshape: keeps the number of elements: tile<4x6xf32> to tile<2x11xf32>"},
      {"%30 = reshape %10 : tile<24xi32>", "reshape: keeps the element type: tile<4x6xf32> to tile<24xi32>"},
      {"%30 = reshape %4 : tile<1xf32>", "reshape: works on tiles, not on f32"},
      {"%30 = reshape %10 : f32",
       "reshape: f32 is no tile (rank 1 to 5, each extent 1 to 2^20, at most 2^24 elements)"},
      {"%30 = transpose %10 [order = <1, 0>] : tile<6x4xf32>", "no fault"},
      {"%30 = transpose %10 [order = <1, 1>] : tile<6x6xf32>",
       "transpose: order names each axis of tile<4x6xf32> once"},
      {"%30 = transpose %10 [order = <1, 0>] : tile<24xf32>",
       "transpose: keeps the rank: tile<4x6xf32> to tile<24xf32>"},
      {"%30 = transpose %10 [order = <1, 0>] : tile<4x6xf32>",
       "transpose: axis 0 has not the extent of the axis that order names: tile<4x6xf32> to tile<4x6xf32>"},
      {"%30 = slice %10 [offsets = <1, 2>] : tile<3x4xf32>", "no fault"},
      {"%30 = slice %10 [offsets = <1>] : tile<3x4xf32>",
       "slice: has one offset per axis and keeps the rank: tile<4x6xf32> to tile<3x4xf32>"},
      {"%30 = slice %10 [offsets = <2, 2>] : tile<3x4xf32>",
       "slice: tile<3x4xf32> at 2 along axis 0 is outside tile<4x6xf32>"},
      {"%30 = slice %10 [offsets = <1, -1>] : tile<3x4xf32>",
       "slice: tile<3x4xf32> at -1 along axis 1 is outside tile<4x6xf32>"},
      {"%30 = concat %10, %15 [axis = 1] : tile<4x8xf32>", "no fault"},
      {"%30 = concat %10, %15 [axis = 2] : tile<4x8xf32>", "concat: axis 2 of tile<4x8xf32> is out of range"},
      {"%30 = concat %10, %15 [axis = 1] : tile<4x9xf32>", "concat: the extents along the axis add up to 8, not 9"},
      {"%30 = concat %10, %15 [axis = 0] : tile<8x6xf32>",
       "concat: the other axes are alike: tile<4x2xf32> and tile<8x6xf32>"},
      {"%30 = concat %10, %14 [axis = 0] : tile<8x6xf32>",
       "concat: puts tiles of one rank and element type together, tile<8x6xf32>, not tile<8xf32>"},
      {"%30 = join %10, %10 : tile<4x6x2xf32>", "no fault"},
      {"%30 = join %10, %15 : tile<4x6x2xf32>", "join: joins tiles of one type: tile<4x6xf32> and tile<4x2xf32>"},
      {"%30 = join %10, %10 : tile<2x4x6xf32>", "join: gives tile<4x6x2xf32>, not tile<2x4x6xf32>"},
      {"%30, %31 = split %15 : tile<4xf32>, tile<4xf32>", "no fault"},
      {"%30, %31 = split %10 : tile<4xf32>, tile<4xf32>",
       "split: divides a tile whose last axis has extent 2, not tile<4x6xf32>"},
      {"%30 = split %15 : tile<4xf32>", "split: has 2 results, not 1"},
      {"%30 = broadcast %14 [axis = 2] : tile<4x6xf32>", "broadcast: axis 2 of tile<4x6xf32> is out of range"},
      {"%30 = broadcast %14 [axis = 0] : tile<4x6xf32>",
       "broadcast: the other axes stay: tile<8xf32> and tile<4x6xf32>"},
  });
}

TEST(VerifyTiles, Reductions) {
  expect_faults({
      {"%30 = reduce %10 [kind = \"min\", axis = 1, partial = 0] : tile<4xf32>", "no fault"},
      {"%30 = reduce %14 [kind = \"sum\", axis = 0, partial = 0] : f32", "no fault"},
      {"%30 = reduce %10 [kind = \"mean\", axis = 1, partial = 0] : tile<4xf32>",
       "reduce: kind is sum, prod, max, min, and, or, xor, argmax or argmin"},
      {"%30 = reduce %10 [kind = \"sum\", axis = 1, partial = 0] : tile<6xf32>",
       "reduce: gives tile<4xf32>, not tile<6xf32>"},
      {"%30 = reduce %10 [kind = \"sum\", axis = 2, partial = 0] : tile<4xf32>",
       "reduce: axis 2 of tile<4x6xf32> is out of range"},
      {"%30 = reduce %4 [kind = \"sum\", axis = 0, partial = 0] : f32",
       "reduce: works on tiles: f32 is no tile (rank 1 to 5, each extent 1 to 2^20, at most 2^24 elements)"},
      {"%30 = reduce %12 [kind = \"sum\", axis = 1, partial = 0] : tile<4xb1>",
       "reduce: sum works on numbers, not on tile<4x6xb1>"},
      {"%30 = reduce %10 [kind = \"or\", axis = 1, partial = 0] : tile<4xf32>",
       "reduce: or works on integers or b1, not on tile<4x6xf32>; cast first"},
      {"%30 = reduce %10 [kind = \"argmax\", axis = 1, partial = 0] : tile<4xf32>",
       "reduce: gives tile<4xi32>, not tile<4xf32>"},
      {"%30 = reduce %10 [kind = \"sum\", axis = 1, partial = 2] : tile<4xf32>", "reduce: partial is 0 or 1"},
      {"%30 = reduce %11 [kind = \"sum\", axis = 1, partial = 1] : tile<4xi32>",
       "reduce: partial reductions are sums and maxima of f32, of rank 2 and more"},
      {"%30 = scan %10 [kind = \"sum\", axis = 1, exclusive = 1, reverse = 0] : tile<4x6xf32>", "no fault"},
      {"%30 = scan %10 [kind = \"sum\", axis = 1, exclusive = 3, reverse = 0] : tile<4x6xf32>",
       "scan: exclusive is 0 or 1"},
      {"%30 = scan %10 [kind = \"sum\", axis = 1, exclusive = 0, reverse = 3] : tile<4x6xf32>",
       "scan: reverse is 0 or 1"},
      {"%30 = scan %10 [kind = \"sum\", axis = 1, exclusive = 0, reverse = 0] : tile<4xf32>",
       "scan: gives tile<4x6xf32>, not tile<4xf32>"},
      {"%30 = scan %10 [kind = \"argmax\", axis = 1, exclusive = 0, reverse = 0] : tile<4x6xi32>",
       "scan: kind argmax is for reduce"},
  });
}

std::string region_text(const std::string& region,
                        const std::string& results = "%30 = ", const std::string& types = "tile<4xf32>") {
  return task_text(results + "reduce.custom %10 [axis = 1] : " + types + " {\n" + region + "}");
}

TEST(VerifyTiles, Regions) {
  EXPECT_EQ(only_fault(region_text("(%40: f32, %41: f32)\n%42 = max %40, %41 : f32\nyield %42\n")), "no fault");
  EXPECT_EQ(only_fault(region_text("(%40: f32, %41: f32)\n%42 = get %16 : f32\nyield %42\n")), "no fault");
  const Cases cases = {
      {"(%40: f32)\nyield %40\n", "reduce.custom: the region has two elements of each operand as arguments"},
      {"(%40: f32, %41: i32)\nyield %40\n", "reduce.custom: the region has two elements of each operand as arguments"},
      {"(%40: f32, %41: f32)\n", "reduce.custom: the region yields one element of each operand"},
      {"(%40: f32, %41: f32)\nyield %3\n", "reduce.custom: the region yields one element of each operand"},
      {"(%40: f32, %41: f32)\nyield %40, %41\n", "reduce.custom: the region yields one element of each operand"},
      {"(%40: f32, %41: f32)\nset %16, %41\nyield %40\n",
       "reduce.custom: the region joins elements with pure ops on scalars; 'set' is none"},
      {"(%40: f32, %41: f32)\n%42 = splat %40 : tile<4xf32>\nyield %40\n",
       "reduce.custom: the region joins elements with pure ops on scalars; 'splat' is none"},
      {"(%40: f32, %41: f32)\n%42 = load %1, %3, %3 : f32\nyield %42\n",
       "reduce.custom: the region joins elements with pure ops on scalars; 'load' is none"},
  };
  for (const auto& [region, message] : cases) EXPECT_EQ(only_fault(region_text(region)), message) << region;
  EXPECT_EQ(only_fault(region_text("(%40: f32, %41: f32)\nyield %40\n", "%30, %31 = ", "tile<4xf32>, tile<4xf32>")),
            "reduce.custom: gives a result for each operand");
  EXPECT_EQ(
      only_fault(task_text("%30, %31 = scan.custom %10, %14 [axis = 1, reverse = 0] : tile<4x6xf32>, tile<8xf32> {\n"
                           "(%40: f32, %41: f32, %42: f32, %43: f32)\nyield %40, %41\n}")),
      "scan.custom: the operands have one shape: tile<4x6xf32> and tile<8xf32>");
}

TEST(VerifyTiles, Accesses) {
  expect_faults({
      {"%30 = load.tile %1, %3, %3, %12, %4 : tile<4x6xf32>", "no fault"},
      {"%30 = load.tile %4, %3, %3 : tile<4x6xf32>", "load.tile: works on a tensor, not on f32"},
      {"%30 = load.tile %1, %3 : tile<4x6xf32>",
       "load.tile: needs one offset per axis, then at most a mask and a fill"},
      {"%30 = load.tile %1, %3, %3, %12, %4, %4 : tile<4x6xf32>",
       "load.tile: needs one offset per axis, then at most a mask and a fill"},
      {"%30 = load.tile %1, %3, %4 : tile<4x6xf32>", "load.tile: offsets are i32, not f32; cast first"},
      {"%30 = load.tile %1, %3, %3 : tile<8xf32>",
       "load.tile: a tile of rank 1 does not fit tensor<2xf32>; drop axes with at(axis, index)"},
      {"%30 = load.tile %1, %3, %3 : tile<4x6xbf16>",
       "load.tile: gives bf16 from a tensor of f32; cast after the load"},
      {"%30 = load.tile %1, %3, %3 : f32",
       "load.tile: f32 is no tile (rank 1 to 5, each extent 1 to 2^20, at most 2^24 elements)"},
      {"%30 = load.tile %1, %3, %3, %18 : tile<4x6xf32>", "load.tile: the mask is tile<4x6xb1>, not tile<8xb1>"},
      {"%30 = load.tile %1, %3, %3, %3 : tile<4x6xf32>", "load.tile: the fill is a scalar of f32, not i32"},
      {"store.masked %1, %10, %3, %3, %12", "no fault"},
      {"store.masked %1, %10, %3, %3, %18", "store.masked: the mask is tile<4x6xb1>, not tile<8xb1>"},
      {"store.masked %1, %10, %3, %3", "store.masked: needs a mask"},
      {"store.masked %1, %17, %3, %3, %12", "store.masked: writes bf16 to a tensor of f32; cast first"},
      {"%30 = load.at %1, %11, %3, %12, %4 : tile<4x6xf32>", "no fault"},
      {"%30 = load.at %1, %11 : tile<4x6xf32>", "load.at: needs one index per axis, then at most a mask and a fill"},
      {"%30 = load.at %1, %3, %3 : f32", "load.at: needs an index or a value that is a tile"},
      {"%30 = load.at %1, %11, %10 : tile<4x6xf32>", "load.at: indices are i32 or i64, not tile<4x6xf32>"},
      {"%30 = load.at %1, %11, %13 : tile<4x6xf32>",
       "load.at: indices and values have one shape: tile<4x6xi32> and tile<8xi32>"},
      {"%30 = load.at %1, %11, %3 : tile<8xf32>", "load.at: gives tile<4x6xf32>, not tile<8xf32>"},
      {"store.at %1, %10, %11, %3", "no fault"},
      {"store.at %1, %4, %11, %3", "store.at: indices and values have one shape: tile<4x6xf32> and f32"},
      {"store.at %1, %17, %11, %3", "store.at: writes bf16 to a tensor of f32; cast first"},
      {"%30 = atomic %1, %4, %3, %3 [kind = \"add\", order = \"relaxed\"] : f32", "no fault"},
      {"%30 = atomic %1, %10, %3, %3 [kind = \"add\", order = \"relaxed\"] : f32",
       "atomic: works on scalars; atomic.tile works on tiles"},
      {"%30 = atomic.tile %1, %4, %3, %3 [kind = \"add\", order = \"relaxed\"] : f32",
       "atomic.tile: needs an index or a value that is a tile"},
      {"%30 = atomic %1, %4, %3, %3 [kind = \"nand\", order = \"relaxed\"] : f32",
       "atomic: kind is add, min, max, and, or, xor, exchange or cas"},
      {"%30 = atomic %1, %4, %3, %3 [kind = \"or\", order = \"relaxed\"] : f32",
       "atomic: kind or works on integers, not on f32"},
      {"%30 = atomic %2, %3, %3 [kind = \"or\", order = \"seq_cst\"] : i32",
       "atomic: order is relaxed, acquire, release or acq_rel"},
      {"%30 = atomic.tile %2, %3, %13 [kind = \"cas\", order = \"relaxed\"] : tile<8xi32>",
       "atomic.tile: needs one index per axis, then at most a mask and a fill"},
  });
}

TEST(VerifyTiles, AtomicsOfSmallTypes) {
  auto module = parse(
      "tlx 1 portable\nkernel \"k\" {\n%0 = dim [name = \"N\"] : i32\n%1 = tensor %0 [name = \"x\"] : tensor<1xu8>\n"
      "%2 = const [value = 0] : u8\n%3 = const [value = 0] : i32\ngrid %0\ntask [name = \"t\", warps = 4, replicas = "
      "1] "
      "{\n%4 = atomic %1, %2, %3 [kind = \"add\", order = \"relaxed\"] : u8\n}\n}\n");
  ASSERT_TRUE(module) << to_string(module.error());
  const auto faults = verify(*module);
  ASSERT_EQ(faults.size(), 1u);
  EXPECT_EQ(faults[0].message, "atomic: works on i32, u32, i64, u64, f32 and f64, not on u8");
}

TEST(VerifyTiles, LookingInside) {
  expect_faults({
      {"print %10, %3 [text = \"{} and {}\"]", "no fault"},
      {"print %10 [text = \"{} and {}\"]", "print: the text has 2 places {} for 1 values"},
      {"print %1 [text = \"{}\"]", "print: prints scalars and tiles of numbers or b1, not tensor<2xf32>"},
      {"assert %12 [message = \"m\"]", "no fault"},
      {"assert %12 [message = \"\"]", "assert: has a message"},
      {"assert %10 [message = \"m\"]", "assert: the condition is b1, not tile<4x6xf32>"},
      {"%30 = clock : i32", "clock: gives i64"},
      {"%30 = inline %10, %4 [target = \"cpu\", text = \"\", constraints = \"\"] : tile<4x6xi32>", "no fault"},
      {"%30 = inline %10, %14 [target = \"cpu\", text = \"\", constraints = \"\"] : tile<4x6xi32>",
       "inline: the operands have one shape: tile<4x6xf32> and tile<8xf32>"},
      {"%30 = inline %17 [target = \"cpu\", text = \"\", constraints = \"\"] : tile<4x6xi32>",
       "inline: operands are integers, f32 or f64, not tile<4x6xbf16>"},
      {"%30 = inline %10 [target = \"cpu\", text = \"\", constraints = \"\"] : i32",
       "inline: gives one element for each of the operands, an integer, f32 or f64, not i32"},
      {"%30 = inline %10 [target = \"\", text = \"\", constraints = \"\"] : tile<4x6xi32>",
       "inline: names its target, text and constraints"},
  });
}

}  // namespace
}  // namespace tlxjit
