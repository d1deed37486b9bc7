// tests/unit/builder/tiles_test.cpp — what calls on tiles and tensors make, and which mistakes are found where.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <gmock/gmock.h>

#include "tlxjit/builder/kernel.h"
#include "tlxjit/ir/text.h"

namespace tlxjit {
namespace {

using testing::HasSubstr;
using testing::Not;

struct Fixture {
  Kernel k{"k"};
  Index n = k.dim("N");
  Tensor x = k.tensor<float>("x", {n, n});
  Tensor y = k.tensor<float>("y", {n});
  Fixture() { k.grid(n); }
};

void expect_fault(const std::string& message, const std::function<uint32_t(Fixture&, Task&)>& body) {
  Fixture f;
  uint32_t line = 0;
  f.k.task("t").body([&](Task& t) { line = body(f, t); });
  ASSERT_EQ(f.k.faults().size(), 1u) << message;
  EXPECT_EQ(f.k.faults()[0].message, message);
  EXPECT_EQ(f.k.faults()[0].location.line, line);
}

std::string text_of(const std::function<void(Fixture&, Task&)>& body) {
  Fixture f;
  f.k.task("t").body([&](Task& t) { body(f, t); });
  auto module = f.k.module();
  EXPECT_TRUE(module) << to_string(module.error());
  if (!module) return {};
  const std::string text = print(*module);
  auto again = parse(text);
  EXPECT_TRUE(again) << to_string(again.error());
  EXPECT_TRUE(again && print(*again) == text);
  return text;
}

TEST(BuilderTiles, RulesOfOpsHoldAtTheCall) {
  expect_fault("reshape: keeps the number of elements: tile<4x6xf32> to tile<5x5xf32>",
               [](Fixture&, Task& t) -> uint32_t {
                 (void)reshape(t.full<float>({4, 6}, 0), {5, 5});
                 return __LINE__ - 1;
               });
  expect_fault("transpose: order names each axis of tile<4x6xf32> once", [](Fixture&, Task& t) -> uint32_t {
    (void)transpose(t.full<float>({4, 6}, 0), {0, 2});
    return __LINE__ - 1;
  });
  expect_fault("concat: the other axes are alike: tile<4x6xf32> and tile<10x4xf32>", [](Fixture&, Task& t) -> uint32_t {
    (void)concat({t.full<float>({6, 4}, 0), t.full<float>({4, 6}, 0)}, 0);
    return __LINE__ - 1;
  });
  expect_fault("split: divides a tile whose last axis has extent 2, not tile<4x6xf32>",
               [](Fixture&, Task& t) -> uint32_t {
                 (void)split(t.full<float>({4, 6}, 0));
                 return __LINE__ - 1;
               });
  expect_fault("reduce: axis 2 of tile<4x6xf32> is out of range", [](Fixture&, Task& t) -> uint32_t {
    (void)sum(t.full<float>({4, 6}, 0), 2);
    return __LINE__ - 1;
  });
  expect_fault("reduce: or works on integers or b1, not on tile<4x6xf32>; cast first",
               [](Fixture&, Task& t) -> uint32_t {
                 (void)any(t.full<float>({4, 6}, 0), 1);
                 return __LINE__ - 1;
               });
}

TEST(BuilderTiles, ShapesThatDoNotFollow) {
  expect_fault("the extent of axis 0 does not follow from the tiles, which all repeat along it",
               [](Fixture& f, Task& t) -> uint32_t {
                 (void)f.x.load_at({t.iota({4}, 0).expand(0), t.iota({4}, 0).expand(0)});
                 return __LINE__ - 1;
               });
  expect_fault("the tiles do not fit one shape: tile<8xi32>, expanded along axis 1, differs from those before",
               [](Fixture& f, Task& t) -> uint32_t {
                 (void)f.x.load_at({t.iota({4, 6}, 0), t.iota({8}, 0).expand(1)});
                 return __LINE__ - 1;
               });
}

TEST(BuilderTiles, Regions) {
  expect_fault("reduce.custom: the region joins elements with pure ops on scalars; 'set' is none",
               [](Fixture& f, Task& t) -> uint32_t {
                 Scalar seen = f.k.program_id().to<float>();
                 (void)reduce(t.full<float>({4, 6}, 0), 1, [&](Tile a, Tile b) {
                   seen = a;
                   return b;
                 });
                 return __LINE__ - 4;
               });
  expect_fault("scan.custom: is never exclusive: a function has no element to begin with",
               [](Fixture&, Task& t) -> uint32_t {
                 (void)scan(t.full<float>({4, 6}, 0), 1, [](Tile a, Tile) { return a; }, {.exclusive = true});
                 return __LINE__ - 1;
               });
  // A fault of the region's own is the only one.
  expect_fault("mod: works on integers, not on f32", [](Fixture&, Task& t) -> uint32_t {
    (void)reduce(t.full<float>({4, 6}, 0), 1, [](Tile a, Tile b) { return a % b; });
    return __LINE__ - 1;
  });
}

TEST(BuilderTiles, ARegionsHandlesAreValues) {
  const std::string text = text_of([](Fixture& f, Task& t) {
    Scalar scale = f.k.program_id().to<float>();
    const Tile x = f.x.load_tile({0, 0}, {4, 6});
    f.k.range(f.n).each([&] { scale = scale * 2.0f; });
    const Tile r = reduce(x, 1, [&](Tile a, Tile b) {
      Tile m = max(a, b);
      m = m * scale;
      return m;
    });
    f.y.store({0}, r);
    (void)t;
  });
  EXPECT_THAT(text, HasSubstr("(%"));
  const std::string region = text.substr(text.find("reduce.custom"));
  EXPECT_THAT(region.substr(0, region.find('}')),
              testing::AllOf(HasSubstr(" get "), Not(HasSubstr("var")), Not(HasSubstr("set"))));
}

TEST(BuilderTiles, WhatNobodyReadsIsDropped) {
  const std::string text = text_of([](Fixture& f, Task& t) {
    const auto [first, second] = split(t.full<float>({4, 2}, 0));
    (void)first;
    (void)reduce(t.full<float>({4, 6}, 0), 1, [](Tile a, Tile b) { return max(a, b); });
    f.y.store({0}, second);
  });
  EXPECT_THAT(text, Not(HasSubstr("reduce.custom")));
  EXPECT_THAT(text, HasSubstr("split"));  // one of its results is read
}

TEST(BuilderTiles, AThrowInARegionLeavesTheKernelAsItWas) {
  Fixture f;
  f.k.task("t").body([&](Task& t) {
    const Tile x = t.full<float>({4, 6}, 0);
    EXPECT_THROW((void)reduce(x, 1, [](Tile, Tile) -> Tile { throw 1; }), int);
    f.y.store({0}, sum(x, 1) + 1.0f);
    Tile r = sum(x, 1);
    r = r + 1.0f;  // handles are variables again
    f.y.store({4}, r);
  });
  EXPECT_TRUE(f.k.verify().empty());
}

TEST(BuilderTiles, LiteralsTakeTheTensorsType) {
  Kernel k{"k"};
  const Tensor u = k.tensor<uint64_t>("u", {8}), h = k.tensor<f16>("h", {8});
  k.grid(1);
  k.task("t").body([&](Task& t) {
    (void)u.atomic(Atomic::add, {t.iota({8}, 0)}, 1);
    (void)u.compare_exchange({3}, 1, 2, {.order = Order::acq_rel});
    h.store({0}, h.load_tile({0}, {8}, {.other = 0.5}));
  });
  auto module = k.module();
  ASSERT_TRUE(module) << to_string(module.error());
  const std::string text = print(*module);
  EXPECT_THAT(text, HasSubstr("[value = 0.5] : f16"));
  EXPECT_THAT(text, HasSubstr("[kind = \"cas\", order = \"acq_rel\"] : u64"));
}

TEST(BuilderTiles, PartialReductionsAreFinishedByTheirKind) {
  const std::string text = text_of([](Fixture& f, Task& t) {
    const Tile x = f.x.load_tile({0, 0}, {4, 6});
    Tile l = t.full<float>({4}, 0), m = t.full<float>({4}, -INFINITY);
    f.k.range(f.n).each([&] {
      l = l * 0.5 + sum(x, 1, {.partial = true});
      m = max(m, maximum(x, 1, {.partial = true}));
    });
    f.y.store({0}, finish(l) + finish(m));
  });
  EXPECT_THAT(text, HasSubstr("[kind = \"sum\"] : tile<4xf32>"));
  EXPECT_THAT(text, HasSubstr("[kind = \"max\"] : tile<4xf32>"));
  expect_fault("finish: this is no unfinished sum or maximum", [](Fixture&, Task& t) -> uint32_t {
    (void)finish(sum(t.full<float>({4, 6}, 0), 1));
    return __LINE__ - 1;
  });
  Fixture f;
  f.k.task("t").body([&](Task& t) { f.y.store({0}, maximum(t.full<float>({4, 6}, 0), 1, {.partial = true})); });
  const auto faults = f.k.verify();
  ASSERT_EQ(faults.size(), 1u);
  EXPECT_EQ(faults[0].message,
            "store: an unfinished maximum is used, of which each lane has its share; finish it first");
}

}  // namespace
}  // namespace tlxjit
