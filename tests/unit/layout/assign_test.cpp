// tests/unit/layout/assign_test.cpp — fragments spread from dots; what nothing anchors is refused with its line.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "src/layout/assign_p.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tlxjit/ir/text.h"

using namespace tlxjit;
using testing::HasSubstr;

namespace {

struct Assigned {
  Module module;
  TileLayouts layouts;
  Result<void> result;
};

Assigned assign(const std::string& body, int warps = 4) {
  auto module = parse("tlx 1 lowered sm_90a\nkernel \"k\" {\n task [name = \"t\", warps = " + std::to_string(warps) +
                      ", replicas = 1] {\n" + body + "}\n}\n");
  EXPECT_TRUE(module) << to_string(module.error());
  Assigned a{std::move(*module), TileLayouts(*module), {}};
  a.layouts = TileLayouts(a.module);
  a.result = assign_fragments(a.module, *a.module.body.ops[0], a.layouts);
  return a;
}

FragmentKind kind_of(const Assigned& a, OpCode code) {
  FragmentKind kind = FragmentKind::none;
  walk(a.module.body, [&](const Op& op) {
    if (op.code == code) kind = a.layouts.kind(op.result());
  });
  return kind;
}

TEST(AssignTest, SpreadsThroughReductionsVariablesAndBroadcasts) {
  const Assigned a = assign(R"(
    %0 = const [value = 0.0] : f32
    %1 = accumulator : accumulator<64x128xf32>
    %2 = splat %0 : tile<64xf32>
    %3 = var %2 : var<tile<64xf32>>
    %4 = acc.read %1 [col = 0] : tile<64x128xf32>
    %5 = reduce %4 [kind = "max", axis = 1, partial = 0] : tile<64xf32>
    set %3, %5
    %6 = iota [axis = 0] : tile<128xi32>
    %7 = broadcast %6 [axis = 0] : tile<64x128xi32>
    %8 = cast %7 : tile<64x128xf32>
    acc.write %1, %8
  )");
  ASSERT_TRUE(a.result) << to_string(a.result.error());
  EXPECT_EQ(kind_of(a, OpCode::splat), FragmentKind::row);
  EXPECT_EQ(kind_of(a, OpCode::var), FragmentKind::row);
  EXPECT_EQ(kind_of(a, OpCode::iota), FragmentKind::column);
  EXPECT_EQ(kind_of(a, OpCode::cast), FragmentKind::accumulator);
}

TEST(AssignTest, RefusesWhatNothingAnchors) {
  const Assigned a = assign("%0 = iota [axis = 0] : tile<64xi32> @\"user.cpp\" 17\n");
  ASSERT_FALSE(a.result);
  EXPECT_EQ(to_string(a.result.error().location), "user.cpp:17");
  EXPECT_THAT(a.result.error().message, HasSubstr("iota"));
  EXPECT_EQ(a.result.error().kind, ErrorKind::user);
}

TEST(AssignTest, RefusesTwoAnchorsAndOddShapes) {
  const Assigned two = assign(R"(
    %0 = iota [axis = 0] : tile<64xi32>
    %1 = broadcast %0 [axis = 0] : tile<64x64xi32>
    %2 = broadcast %0 [axis = 1] : tile<64x64xi32> @"user.cpp" 3
  )");
  ASSERT_FALSE(two.result);
  EXPECT_THAT(two.result.error().message, HasSubstr("both"));
  EXPECT_EQ(two.result.error().location.line, 3u);
  const Assigned odd = assign("%0 = accumulator : accumulator<32x64xf32>\n");
  ASSERT_FALSE(odd.result);
  EXPECT_THAT(odd.result.error().message, HasSubstr("32x64"));
}

TEST(AssignTest, RefusesTilesThatAreNotSharedByFourWarps) {
  const std::string tiles[] = {
      "%0 = accumulator : accumulator<64x64xf32> @\"user.cpp\" 7\n",
      // Neither a dot nor an accumulator: the broadcast alone makes them fragments.
      "%0 = const [value = 1.0] : f32\n"
      "%1 = splat %0 : tile<64xf32> @\"user.cpp\" 7\n"
      "%2 = broadcast %1 [axis = 1] : tile<64x8xf32>\n",
  };
  for (const std::string& body : tiles) {
    EXPECT_TRUE(assign(body).result);
    for (int warps : {1, 2, 8}) {
      const Assigned a = assign(body, warps);
      ASSERT_FALSE(a.result) << body;
      EXPECT_EQ(to_string(a.result.error().location), "user.cpp:7");
      EXPECT_EQ(a.result.error().code, ErrorCode::unsupported);
      EXPECT_THAT(a.result.error().message, HasSubstr("4 warps on this target; the task has " + std::to_string(warps)));
    }
  }
  // Every thread holds all of a lone splat.
  EXPECT_TRUE(assign("%0 = const [value = 1.0] : f32\n%1 = splat %0 : tile<4xf32>\n", 1).result);
}

}  // namespace
