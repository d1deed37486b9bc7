// tests/unit/ir/verify_unfinished_test.cpp — what may be done with a partial reduction before it is finished.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tests/support/faults.h"

namespace tlxjit {
namespace {

const char* const before = R"(    %60 = reduce %10 [kind = "sum", axis = 1, partial = 1] : tile<64xf32>
    %61 = reduce %10 [kind = "max", axis = 1, partial = 1] : tile<64xf32>
    %62 = reduce %10 [kind = "sum", axis = 1, partial = 0] : tile<64xf32>
    %63 = const [value = 0.0] : f32
    %64 = splat %63 : tile<64xf32>
    %65 = const [value = 4] : i32
    %66 = const [value = 1] : i32
    %70 = var %64 : var<tile<64xf32>>
)";

std::string fault(const std::string& ops) { return only_fault(kernel_text("", std::string(ring_ops) + before + ops)); }

TEST(VerifyUnfinished, WhatLeavesSharesShares) {
  const char* const sums[] = {
      "%40 = add %60, %60 : tile<64xf32>", "%40 = sub %60, %64 : tile<64xf32>", "%40 = sub %64, %60 : tile<64xf32>",
      "%40 = mul %60, %62 : tile<64xf32>", "%40 = mul %62, %60 : tile<64xf32>", "%40 = neg %60 : tile<64xf32>",
      "%40 = div %60, %62 : tile<64xf32>", "%40 = add %64, %64 : tile<64xf32>",
  };
  for (const std::string op : sums)
    EXPECT_EQ(fault(op + "\n%41 = finish %40 [kind = \"sum\"] : tile<64xf32>\n"), "no fault") << op;
  const char* const maxima[] = {
      "%40 = max %61, %61 : tile<64xf32>", "%40 = max %62, %61 : tile<64xf32>", "%40 = add %61, %62 : tile<64xf32>",
      "%40 = add %62, %61 : tile<64xf32>", "%40 = sub %61, %62 : tile<64xf32>",
  };
  for (const std::string op : maxima)
    EXPECT_EQ(fault(op + "\n%41 = finish %40 [kind = \"max\"] : tile<64xf32>\n"), "no fault") << op;
}

TEST(VerifyUnfinished, WhatElseIsRefused) {
  const std::string sum = "an unfinished sum is used, of which each lane has its share; finish it first";
  const std::string maximum = "an unfinished maximum is used, of which each lane has its share; finish it first";
  const std::pair<const char*, std::string> cases[] = {
      {"%40 = add %60, %62 : tile<64xf32>", "add: " + sum},
      {"%40 = mul %60, %60 : tile<64xf32>", "mul: " + sum},
      {"%40 = div %62, %60 : tile<64xf32>", "div: " + sum},
      {"%40 = max %60, %62 : tile<64xf32>", "max: " + sum},
      {"%40 = rcp %60 : tile<64xf32>", "rcp: " + sum},
      {"%40 = cast %60 : tile<64xbf16>", "cast: " + sum},
      {"%40 = broadcast %60 [axis = 1] : tile<64x64xf32>", "broadcast: " + sum},
      {"%40 = reduce %60 [kind = \"sum\", axis = 0, partial = 0] : f32", "reduce: " + sum},
      {"%40 = cmp %60, %64 [pred = \"eq\"] : tile<64xb1>", "cmp: " + sum},
      {"%40 = sub %62, %61 : tile<64xf32>", "sub: " + maximum},
      {"%40 = mul %61, %62 : tile<64xf32>", "mul: " + maximum},
      {"%40 = add %61, %61 : tile<64xf32>", "add: " + maximum},
      {"%40 = neg %61 : tile<64xf32>", "neg: " + maximum},
      {"print %61 [text = \"{}\"]", "print: " + maximum},
      {"%40 = finish %60 [kind = \"max\"] : tile<64xf32>", "finish: its operand is no unfinished maximum"},
      {"%40 = finish %61 [kind = \"sum\"] : tile<64xf32>", "finish: its operand is no unfinished sum"},
      {"%40 = finish %62 [kind = \"sum\"] : tile<64xf32>", "finish: its operand is no unfinished sum"},
  };
  for (const auto& [op, message] : cases) EXPECT_EQ(fault(std::string(op) + "\n"), message) << op;
}

TEST(VerifyUnfinished, Variables) {
  // The variable begins with 0, gets shares in the loop and is finished behind it, in place.
  EXPECT_EQ(fault(R"(
    for %3, %65, %66 {
      (%50 : i32)
      %51 = get %70 : tile<64xf32>
      %52 = mul %51, %62 : tile<64xf32>
      %53 = add %52, %60 : tile<64xf32>
      set %70, %53
    }
    %54 = get %70 : tile<64xf32>
    %55 = finish %54 [kind = "sum"] : tile<64xf32>
    set %70, %55
    %56 = get %70 : tile<64xf32>
    %57 = rcp %56 : tile<64xf32>
)"),
            "no fault");
  // What the loop leaves reaches its beginning.
  EXPECT_EQ(fault(R"(
    for %3, %65, %66 {
      (%50 : i32)
      %51 = get %70 : tile<64xf32>
      %52 = rcp %51 : tile<64xf32>
      set %70, %60
    }
)"),
            "rcp: an unfinished sum is used, of which each lane has its share; finish it first");
  EXPECT_EQ(fault(R"(
    if %12 {
      set %70, %60
    } {
      set %70, %62
    }
    %51 = get %70 : tile<64xf32>
)"),
            "get: holds an unfinished reduction on one path, and something else on another");
  // A maximum that all lanes have is as good as a share.
  EXPECT_EQ(fault(R"(
    if %12 {
      set %70, %61
    } {
      set %70, %62
    }
    %51 = get %70 : tile<64xf32>
    %52 = finish %51 [kind = "max"] : tile<64xf32>
)"),
            "no fault");
  EXPECT_EQ(fault(R"(
    while {
      %51 = get %70 : tile<64xf32>
      %52 = add %51, %60 : tile<64xf32>
      set %70, %52
      yield %12
    } {
      %53 = get %70 : tile<64xf32>
      %54 = finish %53 [kind = "sum"] : tile<64xf32>
      set %70, %64
    }
    %55 = get %70 : tile<64xf32>
    %56 = log %55 : tile<64xf32>
)"),
            "log: an unfinished sum is used, of which each lane has its share; finish it first");
}

}  // namespace
}  // namespace tlxjit
