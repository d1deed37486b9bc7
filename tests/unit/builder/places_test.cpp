// tests/unit/builder/places_test.cpp — faults name the user's line, however an operand came; operands own what they
// hold.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <gmock/gmock.h>

#include "tests/unit/builder/faults.h"

namespace tlxjit {
namespace {

using Body = std::function<uint32_t(BuilderFixture&, Task&)>;

TEST(Places, MasksAndFills) {
  const Body uses[] = {
      [](BuilderFixture& f, Task&) -> uint32_t { return (void)f.y.load_tile({0}, {4}, {.mask = Tile()}), __LINE__; },
      [](BuilderFixture& f, Task&) -> uint32_t { return (void)f.y.load_tile({0}, {4}, {.other = Tile()}), __LINE__; },
      [](BuilderFixture& f, Task& t) -> uint32_t {
        const Tile i = t.iota({4}, 0);
        return (void)f.y.load_at({i}, {.mask = Tile()}), __LINE__;
      },
      [](BuilderFixture& f, Task& t) -> uint32_t {
        const Tile i = t.iota({4}, 0);
        return f.y.store_at({i}, t.full<float>({4}, 0), {.mask = Tile()}), __LINE__;
      },
      [](BuilderFixture& f, Task& t) -> uint32_t {
        const Tile i = t.iota({4}, 0);
        return (void)f.y.atomic(Atomic::add, {i}, 1, {.mask = Tile()}), __LINE__;
      },
  };
  for (const Body& use : uses)
    expect_builder_fault("a tile that has no value is used here: never given one, or moved away", use);

  Kernel k{"k"};
  const Tensor x = k.tensor<int32_t>("x", {8});
  k.grid(1);
  uint32_t line = 0;
  k.task("t").body([&] {
    (void)x.load_tile({0}, {4}, {.other = 0.5});
    line = __LINE__ - 1;
  });
  ASSERT_EQ(k.faults().size(), 1u);
  EXPECT_EQ(k.faults()[0].message, "a real number meets i32; cast the other side first with .to<T>()");
  EXPECT_EQ(k.faults()[0].location, Location(__FILE__, line));
}

TEST(Places, Literals) {
  const Body uses[] = {
      [](BuilderFixture& f, Task&) -> uint32_t { return f.k.range(0.5, 3).each([] {}), __LINE__; },
      [](BuilderFixture& f, Task&) -> uint32_t { return f.k.range(0, 3, 0.5).each([] {}), __LINE__; },
      [](BuilderFixture& f, Task&) -> uint32_t { return (void)f.y.load({0.5}), __LINE__; },
      [](BuilderFixture& f, Task&) -> uint32_t { return (void)f.k.cursor(2).slot.valid(), (void)f.buf[0.5], __LINE__; },
  };
  for (const Body& use : uses)
    expect_builder_fault("a real number meets i32; cast the other side first with .to<T>()", use);
}

TEST(Places, NamesOfDims) {
  Kernel k{"k"};
  const uint32_t line = __LINE__ + 1;
  auto [m, same, six] = k.dims("M", std::string("M"), std::string_view("six"));
  k.grid(m + same + six);
  k.task("t").body([] {});
  const auto faults = k.verify();
  ASSERT_EQ(faults.size(), 1u);
  EXPECT_EQ(faults[0].message, "dim: the name 'M' is taken");
  EXPECT_EQ(faults[0].location, Location(__FILE__, line));
}

TEST(Places, CallsWithoutOperands) {
  expect_builder_fault("load: needs one index per axis of tensor<1xf32>, not 0",
                       [](BuilderFixture& f, Task&) -> uint32_t { return (void)f.y.load({}), __LINE__; });
}

TEST(Places, OptionsOwnTheirOperands) {
  const std::string text = builder_text([](BuilderFixture& f, Task& t) {
    LoadOptions masked;
    AtomicOptions options;
    {
      const Tile rows = t.iota({4}, 0) < 3;
      masked = {.mask = rows, .other = t.iota({1}, 0).to<float>().valid() ? 2.0 : 0.0};
      options.mask = rows;
    }
    const Tile other = t.full<float>({4}, 7);  // where the mask was
    f.y.store({0}, f.y.load_tile({0}, {4}, masked) + other);
    (void)f.y.atomic(Atomic::add, {t.iota({4}, 0)}, 1.0f, options);
  });
  const size_t cmp = text.find("cmp");
  ASSERT_NE(cmp, std::string::npos) << text;
  const size_t begin = text.rfind('%', cmp);
  const std::string mask = text.substr(begin, text.find(' ', begin) - begin);
  EXPECT_THAT(text, testing::ContainsRegex("load.tile %[0-9]+, %[0-9]+, " + mask + ", ")) << text;
  EXPECT_THAT(text, testing::ContainsRegex("atomic.tile [^\n]*, " + mask + " ")) << text;
}

TEST(Places, VariablesOfFixedValues) {
  const std::string text = builder_text([](BuilderFixture& f, Task& t) {
    f.k.range(f.n).each([&](Index i) {
      Index j = f.k.variable(i), count = f.k.variable(0);
      f.k.range(4).each([&] { j = j + 1, count = count + j; });
      f.y.store({i}, t.full<float>({4}, count.to<float>()));
    });
  });
  EXPECT_THAT(text, testing::ContainsRegex("var %[0-9]+ : var<i32>")) << text;
}

}  // namespace
}  // namespace tlxjit
