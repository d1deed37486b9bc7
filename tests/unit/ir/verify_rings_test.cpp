// tests/unit/ir/verify_rings_test.cpp — what slots of rings, accumulators, dots and reductions refuse, and where.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tests/support/faults.h"

namespace tlxjit {
namespace {

void in_task(const FaultCases& cases) {
  expect_faults(cases, [](const std::string& ops) { return kernel_text("", ring_ops + ops); });
}

TEST(VerifyRings, Slots) {
  in_task({
      {"%30 = acquire %3 : slot", "1: acquire: works on a ring, not on i32"},
      {"%30 = wait_slot %2 : i32", "1: wait_slot: gives a slot"},
      {"load_field %3, %1, %3, %3 [field = \"a\"]", "1: load_field: works on a slot, not on i32"},
      {"publish %3", "1: publish: works on a slot, not on i32"},
      {"publish %21", "1: publish: publishes an acquired slot; this one was waited for"},
      {"release %21 [implied = 0]", "1: release: implied is 1"},
      {"%30 = field %20 [field = \"a\"] : view<64x64xbf16>",
       "1: field: reads a slot that was waited for; this one was acquired"},
      {"%30 = field %21 [field = \"a\"] : view<64x32xbf16>", "1: field: gives view<64x64xbf16>"},
      {"load_field %21, %1, %3, %3 [field = \"a\"]", "1: load_field: fills an acquired slot; this one was waited for"},
      {"load_field %20, %3, %3, %3 [field = \"a\"]", "1: load_field: loads from a tensor, not from i32"},
      {"load_field %20, %1, %3 [field = \"a\"]", "1: load_field: needs one offset per axis of tensor<2xbf16>, not 1"},
      {"load_field %20, %1, %3, %4 [field = \"a\"]", "1: load_field: offsets are i32, not f32; cast first"},
      {"%30 = select_axis %1, %3 [axis = 0] : tensor<1xbf16>\nload_field %20, %30, %3 [field = \"a\"]",
       "2: load_field: a field of rank 2 cannot be filled from tensor<1xbf16>; drop axes with at(axis, index)"},
      {"if %12 {\nrelease %21\n} {\n}",
       "2: release: stands in the block that made the slot, so that it happens once on every path"},
  });
  expect_faults({{"load_field %20, %9, %3, %3 [field = \"a\"]",
                  "1: load_field: loads f32 into a field of bf16; a copy does not convert"}},
                [](const std::string& ops) {
                  return kernel_text("  %9 = tensor %0, %0 [name = \"y\"] : tensor<2xf32>\n", ring_ops + ops);
                });
}

TEST(VerifyRings, Accumulators) {
  in_task({
      {"%30 = accumulator : accumulator<64xf32>",
       "1: accumulator: has rank 2, each extent 1 to 2^20, at most 2^24 elements, unlike accumulator<64xf32>"},
      {"%30 = accumulator : accumulator<64x64xbf16>", "1: accumulator: sums in f32 or i32, not in bf16"},
      {"acc.clear %10", "1: acc.clear: works on an accumulator, not on tile<64x64xf32>"},
      {"%30 = acc.read %11 [col = 0] : tile<32x64xf32>",
       "1: acc.read: gives columns of accumulator<64x64xf32>, not tile<32x64xf32>"},
  });
}

TEST(VerifyRings, Dots) {
  in_task({
      {"dot %11, %3, %22 [overwrite = \"never\"]", "1: dot: a is a view or a tile of rank 2, not i32"},
      {"%30 = part %22, %3 : view<32x64xbf16>\ndot %11, %30, %22 [overwrite = \"never\"]",
       "2: dot: view<32x64xbf16> · view<64x64xbf16> does not give accumulator<64x64xf32>"},
      {"%30 = accumulator : accumulator<64x64xi32>\ndot %30, %22, %22 [overwrite = \"never\"]",
       "2: dot: sums of bf16 are f32, not i32"},
      {"dot %11, %22, %22 [overwrite = \"maybe\"]", "1: dot: overwrite is never, always or unless"},
      {"dot %11, %22, %22 [overwrite = \"unless\"]", "1: dot: operand 3 goes with overwrite = unless"},
      {"dot %11, %22, %22, %12 [overwrite = \"never\"]", "1: dot: operand 3 goes with overwrite = unless"},
      {"dot %11, %22, %22, %3 [overwrite = \"unless\"]", "1: dot: operand 3 is a b1 scalar"},
  });
}

TEST(VerifyRings, DotsOfDoubles) {
  expect_faults(
      {{"%30 = view %9, %3 : view<64x64xf64>\ndot %11, %30, %30 [overwrite = \"never\"]",
        "2: dot: multiplies i8, u8, f8e4m3, f8e5m2, f16, bf16 or f32, not f64"}},
      [](const std::string& ops) { return kernel_text("  %9 = buffer : buffer<1, 64x64xf64>\n", ring_ops + ops); });
}

TEST(VerifyRings, FinishedReductions) {
  in_task({
      {"%30 = finish %10 [kind = \"sum\"] : tile<64xf32>", "1: finish: keeps the type"},
      {"%30 = finish %10 [kind = \"min\"] : tile<64x64xf32>", "1: finish: kind is sum or max"},
      {"%30 = cast %10 : tile<64x64xbf16>\n%31 = finish %30 [kind = \"sum\"] : tile<64x64xbf16>",
       "2: finish: works on f32, not on tile<64x64xbf16>; cast first"},
  });
}

TEST(VerifyRings, Numbers) {
  in_task({
      {"%30 = const [value = 1] : tile<4xi32>", "1: const: gives a scalar, not tile<4xi32>"},
      {"%30 = const [value = \"1\"] : i32", "1: const: needs a number"},
      {"%30 = add %22, %22 : view<64x64xbf16>", "1: add: works on scalars and tiles, not on view<64x64xbf16>"},
  });
}

}  // namespace
}  // namespace tlxjit
