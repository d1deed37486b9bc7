// tests/unit/builder/expand_test.cpp — tiles that repeat along new axes, and who may use them.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <gmock/gmock.h>

#include "tests/unit/builder/faults.h"

namespace tlxjit {
namespace {

using testing::HasSubstr;

TEST(Expand, OuterSums) {
  builder_text([](BuilderFixture& f, Task& t) {
    const Tile r = t.full<float>({4}, 1), same = t.full<float>({4}, 2), c = t.full<float>({6}, 2);
    EXPECT_EQ((r.expand(1) + same.expand(0)).shape(), (Shape{4, 4}));
    EXPECT_EQ((r.expand(1) + c.expand(0)).shape(), (Shape{4, 6}));
    EXPECT_EQ((c.expand(0) + r.expand(1)).shape(), (Shape{4, 6}));
    const Tile mask = t.iota({4}, 0).expand(1) >= t.iota({6}, 0).expand(0);
    EXPECT_EQ(mask.type(), Type::tile({4, 6}, Elem::b1));
    EXPECT_EQ(select(mask, r.expand(1), c.expand(0)).shape(), (Shape{4, 6}));
    EXPECT_EQ(fma(r.expand(1), c.expand(0), t.full<float>({4, 6}, 0)).shape(), (Shape{4, 6}));
    f.x.store({0, 0}, r.expand(1) + c.expand(0), {.mask = mask});
  });
}

TEST(Expand, ScalarsAndFunctionsWait) {
  const std::string text = builder_text([](BuilderFixture& f, Task& t) {
    const Tile m = t.full<float>({4}, 1), x = t.full<float>({4, 6}, 1);
    const Scalar s = f.k.program_id().to<float>();
    const Tile scaled = exp2(m.expand(1) * 2 - s).to<float>();
    EXPECT_EQ(scaled.shape(), (Shape{4})) << "as it is stored";
    const Tile copy = scaled;
    EXPECT_EQ((x + copy).shape(), (Shape{4, 6}));
    EXPECT_EQ((x + s.expand(0)).shape(), (Shape{4, 6})) << "a scalar repeats anyway";
    EXPECT_EQ((m.expand(1) + m.expand(1)).shape(), (Shape{4}));
    f.x.store({0, 0}, x + copy);
  });
  EXPECT_THAT(text, testing::ContainsRegex("exp2 %[0-9]+ : tile<4xf32>")) << "of what is stored only";
}

TEST(Expand, ChainedAxes) {
  const std::string text = builder_text(
      [](BuilderFixture& f, Task& t) {
        const Tile a = t.full<float>({2}, 1), b = t.full<float>({3}, 1), c = t.full<float>({5}, 1);
        const Tile cube = a.expand(1).expand(2) + b.expand(0).expand(2) + c.expand(0).expand(0);
        EXPECT_EQ(cube.shape(), (Shape{2, 3, 5}));
        EXPECT_EQ((a.expand(0).expand(1) + cube.expand(0)).shape(), (Shape{})) << "refused below";
        (void)f;
      },
      1);
  EXPECT_THAT(text, HasSubstr("the tiles do not fit one shape"));
  builder_text([](BuilderFixture& f, Task& t) {
    const Tile r = t.full<float>({4}, 1), c = t.full<float>({6}, 1), x = t.full<float>({4, 6, 7}, 1);
    const Tile plane = r.expand(1).expand(2) + c.expand(0).expand(2);  // 4 × 6, and repeats along a third axis
    EXPECT_EQ(plane.shape(), (Shape{4, 6}));
    EXPECT_EQ((plane * x).shape(), (Shape{4, 6, 7}));
    f.y.store({0}, sum(sum(plane * x, 2), 1));
  });
}

TEST(Expand, AxesThatCannotBe) {
  const std::pair<int, const char*> cases[] = {{-1, "expand: axis -1 is not one of 0 to 1"},
                                               {2, "expand: axis 2 is not one of 0 to 1"},
                                               {300, "expand: axis 300 is not one of 0 to 1"}};
  for (const auto& [axis, message] : cases)
    expect_builder_fault(message, [axis = axis](BuilderFixture& f, Task& t) -> uint32_t {
      f.y.store({0}, t.full<float>({4}, 0).expand(axis));
      return __LINE__ - 1;
    });
  expect_builder_fault("expand: a tile has at most 5 axes", [](BuilderFixture&, Task& t) -> uint32_t {
    (void)t.full<float>({1, 1, 1, 1, 1}, 0).expand(5);
    return __LINE__ - 1;
  });
  expect_builder_fault("expand: axis 1 is not one of 0 to 0", [](BuilderFixture& f, Task&) -> uint32_t {
    (void)f.n.expand(1);
    return __LINE__ - 1;
  });
}

// Whoever needs the extent says so; nobody takes the tile as if it were not expanded.
TEST(Expand, ConsumersThatNeedTheExtent) {
  using Use = std::function<void(BuilderFixture&, Task&, const Tile&, std::source_location)>;
  const Use uses[] = {
      [](BuilderFixture& f, Task&, const Tile& e, std::source_location at) { f.x.store({0, 0}, e, {}, at); },
      [](BuilderFixture&, Task&, const Tile& e, std::source_location at) { (void)sum(Operand(e, at), 0); },
      [](BuilderFixture&, Task&, const Tile& e, std::source_location at) { (void)cumsum(Operand(e, at), 0); },
      [](BuilderFixture&, Task&, const Tile& e, std::source_location at) { (void)reshape(Operand(e, at), {2, 2}); },
      [](BuilderFixture&, Task&, const Tile& e, std::source_location at) { (void)transpose(Operand(e, at)); },
      [](BuilderFixture& f, Task&, const Tile& e, std::source_location at) { f.k.print("{}", {Operand(e, at)}, at); },
      [](BuilderFixture& f, Task&, const Tile& e, std::source_location at) { f.buf[Operand(0, at)].store(e, at); },
      [](BuilderFixture&, Task&, const Tile& e, std::source_location at) {
        (void)reduce(Operand(e, at), 0, [](Tile a, Tile) { return a; });
      },
  };
  for (const Use& use : uses)
    expect_builder_fault(
        "the tile repeats along an axis of which nothing says the extent; combine it with a tile that has it",
        [&](BuilderFixture& f, Task& t) -> uint32_t {
          const auto at = std::source_location::current();
          use(f, t, t.full<float>({4}, 0).expand(1), at);
          return at.line();
        });
  expect_builder_fault("the extent of axis 1 does not follow from the tiles, which all repeat along it",
                       [](BuilderFixture& f, Task& t) -> uint32_t {
                         f.y.store_at({t.iota({4}, 0).expand(1)}, t.full<float>({4}, 0).expand(1));
                         return __LINE__ - 1;
                       });
}

TEST(Expand, Assignments) {
  builder_text([](BuilderFixture& f, Task& t) {
    Tile e;
    e = t.full<float>({4}, 0).expand(1);
    e = e + 1;  // both wait
    f.x.store({0, 0}, t.full<float>({4, 6}, 0) + e);
  });
  const char* message = "assigns between a tile that repeats along an axis and one that does not";
  expect_builder_fault(message, [](BuilderFixture&, Task& t) -> uint32_t {
    Tile m = t.full<float>({4}, 0);
    m = m.expand(1) * 2;
    return __LINE__ - 1;
  });
  expect_builder_fault(message, [](BuilderFixture&, Task& t) -> uint32_t {
    Tile e = t.full<float>({4}, 0).expand(1);
    e = t.full<float>({4}, 0);
    return __LINE__ - 1;
  });
}

TEST(Expand, MasksOfBoxes) {
  const std::string text = builder_text([](BuilderFixture& f, Task& t) {
    const Tile rows = t.iota({4}, 0) < f.n;
    f.x.store({0, 0}, f.x.load_tile({0, 0}, {4, 6}, {.mask = rows.expand(1)}), {.mask = rows.expand(1)});
  });
  EXPECT_THAT(text, HasSubstr("[axis = 1] : tile<4x6xb1>"));
}

}  // namespace
}  // namespace tlxjit
