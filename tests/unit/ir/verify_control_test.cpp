// tests/unit/ir/verify_control_test.cpp — what declarations, control flow, schedules and tensors refuse, and where.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tests/support/faults.h"

namespace tlxjit {
namespace {

void in_task(const FaultCases& cases) {
  expect_faults(cases, [](const std::string& ops) { return kernel_text("", ring_ops + ops); });
}

void in_module(const FaultCases& cases) {
  expect_faults(cases, [](const std::string& ops) { return kernel_text(ops, ring_ops); });
}

TEST(VerifyControl, Counts) {
  in_task({
      {"if %12 {\n}", "1: if: has 2 regions, not 1"},
      {"reduce.custom %10 [axis = 1] {\n(%40: f32, %41: f32)\nyield %40\n}",
       "1: reduce.custom: has one or more results, not 0"},
      {"dot %11, %10 [overwrite = \"never\"]", "1: dot: takes 3 to 4 operands, not 2"},
  });
}

TEST(VerifyControl, Variables) {
  in_task({
      {"%30 = var %22 : var<bf16>", "1: var: holds a scalar or a tile, not view<64x64xbf16>"},
      {"%30 = var %3 : var<f32>", "1: var: the types of variable and value differ"},
      {"%30 = get %3 : i32", "1: get: reads a variable, not i32"},
      {"%30 = var %3 : var<i32>\n%31 = get %30 : f32", "2: get: the types of variable and value differ"},
  });
}

TEST(VerifyControl, PromisesOfParameters) {
  in_module({
      {"%30 = dim [name = \"M\", multiple = 0] : i32", "1: dim: multiple is an integer from 1 on"},
      {"%30 = scalar [name = \"s\", multiple = 1.5] : i32", "1: scalar: multiple is an integer from 1 on"},
      {"%30 = scalar [name = \"s\", min = 1] : f32", "1: scalar: min is for a scalar of integers"},
      {"%30 = scalar [name = \"s\", max = 300] : u8", "1: scalar: max is a number of u8"},
      {"%30 = scalar [name = \"s\", min = 5, max = 4] : i32", "1: scalar: its greatest value is below its least"},
      {"%30 = tensor %0 [name = \"t\", strides = <1>] : tensor<1xf32>",
       "1: tensor: strides has one number per axis but the last"},
      {"%30 = tensor %0, %0 [name = \"t\", strides = <-2>] : tensor<2xf32>",
       "1: tensor: a stride is 0 or more, or -1 for any"},
      {"%30 = tensor %0 [name = \"t\", align = 12] : tensor<1xf32>", "1: tensor: align is a power of two"},
      {"%30 = tensor %0 [name = \"t\", narrow = 2] : tensor<1xf32>", "1: tensor: narrow is 1, or not there"},
  });
}

TEST(VerifyControl, Parameters) {
  in_module({
      {"%30 = scalar [name = \"\"] : f32", "1: scalar: needs a name"},
      {"%30 = scalar [name = \"s\", above = 1] : f32", "1: scalar: above is a real number, for a scalar of f32 or f64"},
      {"%30 = scalar [name = \"s\", above = 1.0] : f16",
       "1: scalar: above is a real number, for a scalar of f32 or f64"},
      {"%30 = scalar [name = \"s\"] : tile<4xf32>", "1: scalar: gives a scalar"},
      {"%30 = dim [name = \"M\"] : i64", "1: dim: gives i32"},
      {"%30 = dim [name = \"M\", min = 3, max = 2] : i32",
       "1: dim: its greatest value is the least, or more, up to 2^31 − 1"},
      {"%30 = dim [name = \"M\", min = -1] : i32", "1: dim: its least value is 0 to 2^31 − 1"},
      {"%30 = dim [name = \"M\", max = 2147483648] : i32",
       "1: dim: its greatest value is the least, or more, up to 2^31 − 1"},
      {"%30 = tensor %0 [name = \"\"] : tensor<1xf32>", "1: tensor: needs a name"},
  });
}

TEST(VerifyControl, Tensors) {
  in_task({
      {"%30 = select_axis %1, %3 [axis = 0] : tensor<2xbf16>", "1: select_axis: gives one axis less"},
      {"%30 = window %1, %3, %3 [axis = 0] : tensor<1xbf16>", "1: window: keeps the type"},
      {"%30 = load %1, %3, %3 : f32", "1: load: gives one element: bf16"},
      {"%30 = load %1, %3, %3, %3, %3 [window = 0] : bf16", "1: load: window is an axis, in lowered IR"},
      {"%30 = cast %4 : bf16\n%31 = splat %30 : tile<64xbf16>\nstore %1, %31, %3",
       "3: store: a tile of rank 1 does not fit tensor<2xbf16>; drop axes with at(axis, index)"},
      {"store %1, %4, %3, %3", "1: store: writes a tile, not f32; full() makes one of a scalar"},
  });
}

TEST(VerifyControl, Places) {
  in_task({
      {"if %12 {\nyield\n%30 = add %3, %3 : i32\n} {\n}", "2: yield: is the last op of its region"},
  });
  const auto lowered = [](const std::string& ops) { return lowered_text("", ops); };
  expect_faults({{"acc.clear %20", "1: acc.clear: is portable; this module is lowered"}}, lowered);
  expect_faults(
      {
          {"tile.store %0, %22, %0, %0 [box = <64, 64>, ragged = -1]", "1: tile.store: works on a tensor, not on i32"},
          {"tile.store %3, %22, %0, %0 [box = <64>, ragged = -1]",
           "1: tile.store: box has one extent per axis of the tensor"},
          {"tile.store %3, %22, %0, %0 [box = <64, 64>, ragged = 2]", "1: tile.store: ragged is -1 or an axis"},
          {"tile.store %3, %22, %0 [box = <64, 64>, ragged = -1]",
           "1: tile.store: needs one coordinate per axis, and a bound if ragged"},
      },
      lowered);
  expect_faults(
      {
          {"%31 = load %3, %0, %0, %0, %0 [window = 2] : f32", "1: load: window is an axis, in lowered IR"},
          {"%31 = load %3, %0, %0 [window = 1] : f32",
           "1: load: needs one index per axis of tensor<2xf32>, and begin and extent of the window"},
      },
      lowered);
  const auto lowered_module = [](const std::string& ops) { return lowered_text(ops, ""); };
  expect_faults({{"workspace [words = 0]", "1: workspace: words are 1 to 2^20"}}, lowered_module);
  std::string text = kernel_text("", ring_ops);
  text.insert(text.find("{\n") + 2, "(%90: i32)\n");
  EXPECT_EQ(only_fault(text), "kernel 'k': a kernel's body has no arguments");
}

/// A kernel whose schedule maps tile %3 by `map`, and a task.
std::string scheduled(const std::string& type, const std::string& map, const std::string& task) {
  return "tlx 1 portable\nkernel \"k\" {\n%0 = dim [name = \"N\"] : i32\n%1 = const [value = 1] : b1\n"
         "%2 = schedule %0 [kind = \"static\"] : " +
         type + " {\n" + map + "\n}\n" + "task [name = \"t\", warps = 4, replicas = 1] {\n" + task + "}\n}\n";
}

TEST(VerifyControl, SchedulesMapTilesToIndices) {
  const auto in_map = [](const char* type, const FaultCases& cases) {
    expect_faults(cases, [&](const std::string& ops) { return scheduled(type, ops, ""); });
  };
  in_map("ring<1>", {{"(%3: i32)\nyield %1, %3", "0: schedule: gives a schedule"}});
  for (const char* type : {"schedule<0>", "schedule<2>", "schedule<2147483647>"})
    in_map(type, {{"(%3: i32)\nyield %1, %3", "0: schedule: the region yields b1 and the indices"},
                  {"(%3: i32)\nyield", "0: schedule: the region yields b1 and the indices"}});
  in_map("schedule<1>", {
                            {"(%3: f32)\nyield %1, %3", "0: schedule: the region has one index (i32)"},
                            {"(%3: i32)", "0: schedule: the region ends with a yield"},
                            {"(%3: i32)\nyield %3, %3", "0: schedule: the region's first value is a b1"},
                            {"(%3: i32)\nyield %1, %1", "0: schedule: operand 1 is an index (i32), not b1; cast first"},
                            {"(%3: i32)\nprint %3 [text = \"{}\"]\nyield %1, %3",
                             "2: print: a schedule maps indices with scalars only"},
                        });
}

TEST(VerifyControl, TilesOfASchedule) {
  expect_faults(
      {
          {"each %0 {\n(%10: i32)\n}", "1: each: runs over a schedule, not i32"},
          {"each %2 {\n}", "1: each: the region has the schedule's 1 indices"},
          {"each %2 {\n(%10: f32)\n}", "1: each: indices are i32"},
          {"each %2 {\n(%10: i32)\neach %2 {\n(%11: i32)\n}\n}", "3: each: tiles are not iterated inside tiles"},
      },
      [](const std::string& ops) { return scheduled("schedule<1>", "(%3: i32)\nyield %1, %3", ops); });
}

}  // namespace
}  // namespace tlxjit
