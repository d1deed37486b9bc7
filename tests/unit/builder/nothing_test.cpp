// tests/unit/builder/nothing_test.cpp — handles that were never given a value, tasks and kernels that are gone,
// functions that are empty: a fault at the line that uses them.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tests/unit/builder/faults.h"

namespace tlxjit {
namespace {

constexpr const char* no_tile = "a tile that has no value is used here: never given one, or moved away";
constexpr const char* no_handle = "a handle that has no value is used here: never given one, or moved away";

using Body = std::function<uint32_t(BuilderFixture&, Task&)>;

TEST(Nothing, TilesThatWereNeverGivenAValue) {
  const Body uses[] = {
      [](BuilderFixture& f, Task&) -> uint32_t { return f.y.store({0}, Tile()), __LINE__; },
      [](BuilderFixture& f, Task&) -> uint32_t { return f.y.store({Tile()}, f.y.load_tile({0}, {4})), __LINE__; },
      [](BuilderFixture& f, Task&) -> uint32_t { return (void)(f.n + Tile()), __LINE__; },
      [](BuilderFixture& f, Task&) -> uint32_t { return (void)(Tile() + f.n), __LINE__; },
      [](BuilderFixture& f, Task&) -> uint32_t { return f.y.store({0}, exp2(Tile() * 2) + 1), __LINE__; },
      [](BuilderFixture& f, Task&) -> uint32_t {
        return f.y.store({0}, sum(Tile().expand(1), 0).to<float>()), __LINE__;
      },
      [](BuilderFixture& f, Task&) -> uint32_t { return f.y.store({0}, reshape(Tile(), {4})), __LINE__; },
      [](BuilderFixture& f, Task&) -> uint32_t {
        return f.y.store({0}, f.y.load_tile({0}, {4}), {.mask = Tile()}), __LINE__;
      },
      [](BuilderFixture& f, Task&) -> uint32_t { return f.buf[0].store(Tile()), __LINE__; },
      [](BuilderFixture& f, Task&) -> uint32_t { return f.k.when(Tile(), [] {}), __LINE__; },
      [](BuilderFixture& f, Task&) -> uint32_t { return f.k.loop([] { return Tile(); }, [] {}), __LINE__; },
      [](BuilderFixture& f, Task&) -> uint32_t { return f.k.print("{}", {Tile()}), __LINE__; },
      [](BuilderFixture& f, Task&) -> uint32_t {
        const Tile t = f.y.load_tile({0}, {4});
        return (void)reduce(t, 0, [](Tile, Tile) { return Tile(); }), __LINE__;
      },
      [](BuilderFixture& f, Task& t) -> uint32_t {
        Tile a = t.full<float>({4}, 0), b = std::move(a);
        f.y.store({0}, b);
        return f.y.store({0}, a), __LINE__;  // NOLINT(bugprone-use-after-move)
      },
      [](BuilderFixture&, Task& t) -> uint32_t {
        Tile a = t.full<float>({4}, 0);
        const uint32_t line = __LINE__ - 1;
        const Tile b;
        a = b;
        return line;  // of the variable: an assignment has no line of its own
      },
  };
  for (const Body& use : uses) expect_builder_fault(no_tile, use);
}

TEST(Nothing, NumbersAlone) {
  const char* message =
      "all values are numbers, whose element type is not known; compute with them in C++, or make a tile or scalar of "
      "one";
  expect_builder_fault(message, [](BuilderFixture& f, Task&) -> uint32_t {
    const Tile half = exp2(0.5);
    const uint32_t line = __LINE__ - 1;
    f.y.store({0}, half);
    f.y.store({0}, half * 2);  // says it once
    return line;
  });
  expect_builder_fault(message, [](BuilderFixture& f, Task&) -> uint32_t {
    return f.y.store({0}, f.y.load_tile({0}, {4}) + max(1, 2)), __LINE__;
  });
  expect_builder_fault("works on tiles, not on numbers", [](BuilderFixture& f, Task&) -> uint32_t {
    return f.y.store({0}, sum(1.0, 0) + f.y.load_tile({0}, {4})), __LINE__;
  });
}

TEST(Nothing, OtherHandles) {
  const Body uses[] = {
      [](BuilderFixture& f, Task&) -> uint32_t { return Tensor().store({0}, f.y.load_tile({0}, {4})), __LINE__; },
      [](BuilderFixture& f, Task&) -> uint32_t { return (void)Tensor().load({f.n}), __LINE__; },
      [](BuilderFixture& f, Task&) -> uint32_t { return f.y.store({0}, Tensor().load_tile({0}, {4})), __LINE__; },
      [](BuilderFixture& f, Task&) -> uint32_t { return f.buf[0].copy_to(Tensor(), {0, 0}), __LINE__; },
      [](BuilderFixture& f, Task& t) -> uint32_t {
        return t.accumulator<float>({4, 4}).dot(f.buf[0], View()), __LINE__;
      },
      [](BuilderFixture& f, Task&) -> uint32_t { return Accumulator().dot(f.buf[0], f.buf[0]), __LINE__; },
      [](BuilderFixture& f, Task&) -> uint32_t { return (void)Barrier()[f.n], __LINE__; },
      [](BuilderFixture& f, Task&) -> uint32_t { return (void)SharedBuffer()[f.n], __LINE__; },
      [](BuilderFixture& f, Task&) -> uint32_t { return Flag().set(f.n), __LINE__; },
      [](BuilderFixture&, Task& t) -> uint32_t { return (void)View().part(t), __LINE__; },
      [](BuilderFixture&, Task& t) -> uint32_t { return (void)Tiles().split(t), __LINE__; },
      [](BuilderFixture& f, Task&) -> uint32_t {
        Tensor moved = std::move(f.y);
        return f.y.store({0}, moved.load_tile({0}, {4})), __LINE__;  // NOLINT(bugprone-use-after-move)
      },
  };
  for (const Body& use : uses) expect_builder_fault(no_handle, use);
  Range().each([](Index) {});
}

TEST(Nothing, TasksOutsideOfTheirBodies) {
  const auto uses = [](BuilderFixture& f, Task& t) {
    (void)t.replica();
    (void)t.offset(12);
    (void)t.accumulator<float>({4, 4});
    (void)t.full<float>({4}, 0);
    (void)t.iota({4}, 0);
    t.sync();
    t.stage("s");
    (void)t.turn();
    (void)f.buf[0].part(t);
  };
  BuilderFixture f;
  std::optional<Task> kept;
  f.k.task("t").replicas(2).body([&](Task& t) { kept = t; });
  f.k.task("u").replicas(3).body([&](Task&) { uses(f, *kept); });
  EXPECT_EQ(f.k.faults().size(), 9u);
  for (const Error& fault : f.k.faults()) EXPECT_EQ(fault.message, "a Task is used outside of its body");
  EXPECT_EQ(kept->replicas(), 2);
  (void)kept->offset(12);
  EXPECT_EQ(f.k.faults().size(), 10u);
  Task moved = std::move(*kept);
  f.y.store({0}, kept->full<float>({4}, 0));  // NOLINT(bugprone-use-after-move)
  EXPECT_EQ(f.k.faults().back().message, no_handle);
}

TEST(Nothing, KernelsThatWereMovedAway) {
  Kernel a{"k"};
  const Index n = a.dim("N");
  Kernel b = std::move(a);
  const uint32_t line = __LINE__ + 1;
  Tensor x = a.tensor<float>("x", {n});  // NOLINT(bugprone-use-after-move)
  ASSERT_EQ(b.faults().size(), 1u);
  EXPECT_EQ(b.faults()[0].message, "a kernel that was moved away is used here");
  EXPECT_EQ(b.faults()[0].location, Location(__FILE__, line));
  a.grid(n);
  a.task("t").body([&](Task& t) { x.store({0}, t.full<float>({4}, 0)); });
  (void)a.persistent(n, n);
  EXPECT_EQ(b.faults().size(), 4u) << "one a call";
  EXPECT_FALSE(a.module().ok());
  EXPECT_EQ(a.verify().size(), 1u);
  EXPECT_EQ(a.name(), "k");
}

TEST(Nothing, SettingsThatWereIgnored) {
  struct Case {
    const char* message;
    std::function<void(Kernel&)> of;
  };
  const Case cases[] = {
      {"task: 'x' has no body", [](Kernel& k) { k.task("x").warps(4); }},
      {"task: needs a name", [](Kernel& k) { k.task("").body([] {}); }},
      {"task: registers are 24 to 256 in steps of 8, not -8", [](Kernel& k) { k.task("r").registers(-8).body([] {}); }},
      {"dim: its least value is 0 to 2^31 − 1", [](Kernel& k) { (void)k.dim("M", -5); }},
      {"persistent: group is 0 or more, not -1", [](Kernel& k) { (void)k.persistent(4, 4, {.group = -1}); }},
      {"buffer: swizzle is 0, 32, 64 or 128 bytes",
       [](Kernel& k) { (void)k.buffer<float>(1, {8, 32}, {.swizzle = -5}); }},
      {"buffer: an offset is one into the storage of `alias`, which is not given",
       [](Kernel& k) { (void)k.buffer<float>(1, {8, 32}, {.offset = 64}); }},
  };
  for (const Case& c : cases) {
    Kernel k{"k"};
    c.of(k);
    const auto faults = k.verify();
    ASSERT_EQ(faults.size(), 1u) << c.message;
    EXPECT_EQ(faults[0].message, c.message);
    EXPECT_EQ(faults[0].location.file, __FILE__);
  }
}

TEST(Nothing, KernelsWithoutTaskOrGridHaveALine) {
  const uint32_t line = __LINE__ + 1;
  const Kernel k{"empty"};
  const auto faults = k.verify();
  ASSERT_EQ(faults.size(), 2u);
  for (const Error& fault : faults) EXPECT_EQ(fault.location, Location(__FILE__, line)) << fault.message;
}

TEST(Nothing, EmptyFunctions) {
  const std::function<void()> none;
  const std::function<void(Index)> none_of_one;
  const std::pair<const char*, Body> uses[] = {
      {"loop: the function is empty",
       [&](BuilderFixture& f, Task&) -> uint32_t { return f.k.loop({}, none), __LINE__; }},
      {"when: the function is empty",
       [&](BuilderFixture& f, Task&) -> uint32_t { return f.k.when(f.n > 0, none), __LINE__; }},
      {"each: the function is empty",
       [&](BuilderFixture& f, Task&) -> uint32_t { return f.k.range(f.n).each(none), __LINE__; }},
      {"each: the function is empty",
       [&](BuilderFixture& f, Task&) -> uint32_t { return f.k.range(f.n).each(none_of_one), __LINE__; }},
      {"reduce.custom: the function is empty",
       [&](BuilderFixture& f, Task&) -> uint32_t {
         return (void)reduce(f.y.load_tile({0}, {4}), 0, Join()), __LINE__;
       }},
      {"scan.custom: the function is empty",
       [&](BuilderFixture& f, Task&) -> uint32_t {
         return (void)scan({f.y.load_tile({0}, {4})}, 0, JoinMany()), __LINE__;
       }},
      {"slabs: the function is empty",
       [&](BuilderFixture&, Task& t) -> uint32_t { return t.accumulator<float>({4, 4}).slabs(4, {}), __LINE__; }},
      {"update: the function is empty",
       [&](BuilderFixture&, Task& t) -> uint32_t { return t.accumulator<float>({4, 4}).update({}), __LINE__; }},
  };
  for (const auto& [message, use] : uses) expect_builder_fault(message, use);

  Kernel k{"k"};
  const Tiles tiles = k.dynamic(8, {});
  k.task("t").body(std::function<void(Task&)>());
  const Tiles real = k.tiles(4, 4);
  k.task("u").body([&] { real.each(std::function<void(Index, Index)>()); });
  tiles.each([](Index) {});
  ASSERT_EQ(k.faults().size(), 3u);
  EXPECT_EQ(k.faults()[0].message, "schedule: the function is empty");
  EXPECT_EQ(k.faults()[1].message, "task: the function is empty");
  EXPECT_EQ(k.faults()[2].message, "each: the function is empty");
}

TEST(Nothing, SchedulesWithoutAnIndex) {
  Kernel k{"k"};
  const uint32_t line = __LINE__ + 1;
  const Tiles tiles = k.persistent(8, [](Index) { return TileAt{Tile(), {}}; });
  k.task("t").body([&] { tiles.each([](Index) {}); });
  ASSERT_EQ(k.faults().size(), 1u);
  EXPECT_EQ(k.faults()[0].message, no_tile);
  EXPECT_EQ(k.faults()[0].location, Location(__FILE__, line));
}

// A call that failed gives as many tiles as one that did not.
TEST(Nothing, PoisonHasTheNumberOfTiles) {
  builder_text(
      [](BuilderFixture& f, Task& t) {
        const auto keep = [](const std::vector<Tile>& a, const std::vector<Tile>&) { return a; };
        const auto both = reduce({t.full<float>({4}, 0), t.full<float>({8}, 0)}, 0, keep);
        ASSERT_EQ(both.size(), 2u);
        f.y.store({0}, both[1]);
      },
      1);
}

}  // namespace
}  // namespace tlxjit
