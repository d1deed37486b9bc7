// tests/unit/builder/whole_kernel_test.cpp — what shows when a kernel is complete is said by verify(), at its line.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <gtest/gtest.h>

#include <cmath>

#include "tlxjit/builder/kernel.h"

namespace tlxjit {
namespace {

/// Builds a kernel; verify() must say this of it alone, at the line that is returned.
void expect_fault(const std::string& message, const std::function<uint32_t(Kernel&)>& build) {
  Kernel k{"k"};
  const uint32_t line = build(k);
  ASSERT_TRUE(k.faults().empty()) << to_string(k.faults()[0]);
  const auto faults = k.verify();
  ASSERT_EQ(faults.size(), 1u) << message << (faults.empty() ? "" : "\n" + to_string(faults[0]));
  EXPECT_EQ(faults[0].message, message);
  EXPECT_EQ(faults[0].location, Location(__FILE__, line));
  EXPECT_EQ(faults[0].kind, ErrorKind::user);
  const auto module = k.module();
  ASSERT_FALSE(module);
  EXPECT_EQ(module.error().message, message);
}

TEST(WholeKernel, DimsThatNoTensorBinds) {
  expect_fault("dim: `N` is the extent of no tensor, so a call cannot bind it; make it a scalar parameter",
               [](Kernel& k) -> uint32_t {
                 const Index m = k.dim("M"), n = k.dim("N");
                 (void)k.tensor<float>("x", {m, n * 2});
                 k.grid(n);
                 k.task("t").body([] {});
                 return __LINE__ - 4;
               });
}

TEST(WholeKernel, MoreParametersThanACallHas) {
  const char* message = "a kernel has at most 32 tensors, 64 dims and 32 scalars";
  const auto build = [](Kernel& k, int tensors, int dims, int scalars) -> uint32_t {
    uint32_t line = 0;
    const auto name = [](const char* kind, int i) { return kind + std::to_string(i); };
    for (int i = 0; i < dims; ++i) line = __LINE__, (void)k.tensor<float>(name("n", i), {k.dim(name("d", i))});
    for (int i = 0; i < tensors; ++i) (void)k.tensor<float>(name("t", i), {8}), line = __LINE__;
    for (int i = 0; i < scalars; ++i) (void)k.scalar<float>(name("s", i)), line = __LINE__;
    k.grid(1);
    k.task("t").body([] {});
    return line;
  };
  expect_fault(std::string("tensor: ") + message, [&](Kernel& k) { return build(k, 33, 0, 0); });
  expect_fault(std::string("scalar: ") + message, [&](Kernel& k) { return build(k, 0, 0, 33); });
  expect_fault(std::string("dim: ") + message, [](Kernel& k) -> uint32_t {
    std::vector<Index> dims;
    for (int i = 0; i < 65; ++i) dims.push_back(k.dim("d" + std::to_string(i)));
    const uint32_t line = __LINE__ - 1;
    for (size_t i = 0; i < 65; i += 5)
      (void)k.tensor<float>("t" + std::to_string(i), {dims[i], dims[i + 1], dims[i + 2], dims[i + 3], dims[i + 4]});
    k.grid(1);
    k.task("t").body([] {});
    return line;
  });
  Kernel most{"k"};
  (void)build(most, 0, 32, 32);
  EXPECT_TRUE(most.verify().empty());
}

TEST(WholeKernel, ExtentsAndGridsThatTheHostCannotCompute) {
  const char* rule = ": has no value on the host, which needs it for an extent or the grid";
  const auto grid = [](const std::function<Index(Kernel&, Index)>& programs) {
    return [=](Kernel& k) -> uint32_t {
      const Index n = k.dim("N");
      (void)k.tensor<float>("x", {n});
      k.grid(programs(k, n));
      k.task("t").body([] {});
      return __LINE__ - 2;
    };
  };
  // The op's own line, which is the one above it.
  const auto at_op = [&](const std::function<std::pair<Index, uint32_t>(Kernel&, Index)>& programs) {
    return [=](Kernel& k) -> uint32_t {
      const Index n = k.dim("N");
      (void)k.tensor<float>("x", {n});
      const auto [count, line] = programs(k, n);
      k.grid(count);
      k.task("t").body([] {});
      return line;
    };
  };
  expect_fault(std::string("exp2") + rule, at_op([](Kernel&, const Index& n) {
                 return std::pair<Index, uint32_t>(exp2(n.to<float>()).to<int32_t>(), __LINE__);
               }));
  expect_fault(std::string("popcount") + rule,
               at_op([](Kernel&, const Index& n) { return std::pair<Index, uint32_t>(popcount(n), __LINE__); }));
  expect_fault("scalar: is no integer, and cannot be part of an extent or the grid", at_op([](Kernel& k, const Index&) {
                 return std::pair<Index, uint32_t>(k.scalar<float>("s").to<int32_t>(), __LINE__);
               }));
  expect_fault("cast: saturates or rounds in its own way, and cannot be part of an extent or the grid",
               at_op([](Kernel&, const Index& n) {
                 return std::pair<Index, uint32_t>(cast<int32_t>(n.to<int64_t>(), {.saturate = true}), __LINE__);
               }));
  expect_fault("grid: the expressions for extents and grid have more than 256 ops", grid([](Kernel&, Index n) {
                 for (int i = 0; i < 200; ++i) n = n + i;
                 return n;
               }));
}

TEST(WholeKernel, TilesOfACounter) {
  const auto counter = [](Kernel& k) { return k.dynamic(10, [](Index t) -> TileAt { return {t >= 0, {t}}; }); };
  expect_fault(
      "task: takes the tiles from the counter, as the first task that fills a ring or, without one, the first of all, "
      "so it has 1 replica, not 2",
      [&](Kernel& k) -> uint32_t {
        const Tiles tiles = counter(k);
        k.task("t").replicas(2).body([&] { tiles.each([](Index) {}); });
        return __LINE__ - 1;
      });
  expect_fault("each: tiles of a counter are iterated once in a task", [&](Kernel& k) -> uint32_t {
    const Tiles tiles = counter(k);
    k.task("t").body([&] {
      tiles.each([](Index) {});
      tiles.each([](Index) {});
    });
    return __LINE__ - 2;
  });
  expect_fault("each: tiles of a counter are iterated directly in the task, not in a loop or branch",
               [&](Kernel& k) -> uint32_t {
                 const Tiles tiles = counter(k);
                 k.task("t").body([&] { k.range(3).each([&] { tiles.each([](Index) {}); }); });
                 return __LINE__ - 1;
               });
  Kernel fixed{"k"};  // without a counter all of that works
  const Tiles tiles = fixed.persistent(10, [](Index t) -> TileAt { return {t >= 0, {t}}; });
  fixed.task("t").replicas(2).body([&] {
    tiles.each([](Index) {});
    fixed.range(3).each([&] { tiles.each([](Index) {}); });
  });
  EXPECT_TRUE(fixed.verify().empty());
}

TEST(WholeKernel, WindowsOfTensors) {
  using Use = std::function<void(Kernel&, Task&, const Tensor&)>;
  const Use boxes[] = {
      [](Kernel&, Task& t, const Tensor& x) { x.store({0, 0, 0}, t.full<float>({4, 4, 4}, 1)); },
      [](Kernel&, Task& t, const Tensor& x) { x.at(0, 1).store({0, 0}, t.full<float>({4, 4}, 1)); },
      [](Kernel&, Task& t, const Tensor& x) { x.store({0, 0, 0}, t.full<float>({4, 4, 4}, 1), {.mask = true}); },
      [](Kernel& k, Task&, const Tensor& x) { k.print("{}", {x.load_tile({0, 0, 0}, {4, 4, 4})}); },
      [](Kernel& k, Task&, const Tensor& x) { k.print("{}", {x.load({0, 0, 0})}); },
      [](Kernel&, Task&, const Tensor& x) { x.prefetch({0, 0, 0}, {4, 4, 4}); },
  };
  for (const Use& use : boxes)
    for (int axis : {0, 1})
      expect_fault("window: a tensor is narrowed along one axis only; mask the tile along the other",
                   [&](Kernel& k) -> uint32_t {
                     const Tensor x = k.tensor<float>("x", {64, 64, 64});
                     k.grid(1);
                     uint32_t line = 0;
                     k.task("t").body([&](Task& t) {
                       const Tensor narrow = x.window(axis, 0, 8);
                       line = __LINE__ - 1;
                       use(k, t, narrow.window(1, 0, 8));
                       use(k, t, narrow.window(1, 0, 4));  // the same window: said once
                     });
                     return line;
                   });
  Kernel each{"k"};  // a place for each element may lie in any number of windows
  const Tensor x = each.tensor<float>("x", {64, 64, 64});
  each.grid(1);
  each.task("t").body([&](Task& t) {
    const Tile i = t.iota({4}, 0);
    x.window(0, 0, 8).window(0, 0, 4).store_at({i, 0, 0}, x.window(1, 0, 8).window(2, 0, 4).load_at({i, i, i}));
  });
  EXPECT_TRUE(each.verify().empty());
  expect_fault("window: a tile begins before the window; offsets in a window are at least 0",
               [](Kernel& k) -> uint32_t {
                 const Tensor y = k.tensor<float>("y", {64, 64});
                 k.grid(1);
                 k.task("t").body([&](Task& t) { y.window(0, 16, 8).store({-4, 0}, t.full<float>({8, 8}, 1)); });
                 return __LINE__ - 1;
               });
  expect_fault("load_field: a window along the last axis cannot fill a slot; load its tile, and store that in the slot",
               [](Kernel& k) -> uint32_t {
                 const Tensor y = k.tensor<float>("y", {64, 64});
                 const Ring ring = k.ring(2).slot<float>("a", {8, 8});
                 k.grid(1);
                 k.task("p").body([&] { ring.acquire().load("a", y.window(1, 0, 8), {0, 0}); });
                 k.task("c").body([&] { (void)ring.wait(); });
                 return __LINE__ - 2;
               });
  expect_fault("copy.lanes: a window along the last axis cannot be copied as a whole", [](Kernel& k) -> uint32_t {
    const Tensor y = k.tensor<float>("y", {64, 64});
    const SharedBuffer buffer = k.buffer<float>(1, {8, 8});
    k.grid(1);
    k.task("t").body([&] { buffer[0].copy_lanes(y.window(1, 0, 8), {0, 0}); });
    return __LINE__ - 1;
  });
}

TEST(WholeKernel, TasksThatDrainOneRingAlike) {
  expect_fault("ring: drainers() wants tasks that drain alike: all by dots, or tiles by equal warps",
               [](Kernel& k) -> uint32_t {
                 const Tensor x = k.tensor<bf16>("x", {64, 64});
                 Ring ring = k.ring(2);
                 const uint32_t line = __LINE__ - 1;
                 ring.slot<bf16>("a", {64, 64}).drainers(1);
                 k.grid(1);
                 k.task("p").warps(1).body([&] { ring.acquire().load("a", x, {0, 0}); });
                 k.task("dots").body([&](Task& t) {
                   const Slot slot = ring.wait();
                   t.accumulator<float>({64, 64}).dot(slot["a"], slot["a"].t());
                 });
                 k.task("tiles").body([&] { x.store({0, 0}, ring.wait()["a"].load()); });
                 return line;
               });
}

TEST(WholeKernel, NumbersThatNothingCanHave) {
  // Those of one op are refused where they stand.
  const auto said = [](const std::string& message, const std::function<uint32_t(Kernel&, Ring&, Task&)>& build) {
    Kernel k{"k"};
    Ring ring = k.ring(2).slot<float>("a", {8});
    uint32_t line = 0;
    k.task("t").body([&](Task& t) { line = build(k, ring, t); });
    ASSERT_EQ(k.faults().size(), 1u) << message;
    EXPECT_EQ(k.faults()[0].message, message);
    EXPECT_EQ(k.faults()[0].location, Location(__FILE__, line));
  };
  said("skip: the number of slots is 0 or more, not -1",
       [](Kernel&, Ring& r, Task&) -> uint32_t { return r.skip(-1), __LINE__; });
  said("skip: the number of slots is 0 or more, not -7",
       [](Kernel&, Ring& r, Task&) -> uint32_t { return r.skip_fill(-7), __LINE__; });
  said("grid: the number of programs is 0 or more, not -3",
       [](Kernel& k, Ring&, Task&) -> uint32_t { return k.grid(-3), __LINE__; });
  said("tensor: an extent is 0 or more, not -4",
       [](Kernel& k, Ring&, Task&) -> uint32_t { return (void)k.tensor<float>("x", {8, -4}), __LINE__; });
  said("schedule: the number of tiles is 0 or more, not -5", [](Kernel& k, Ring&, Task&) -> uint32_t {
    return (void)k.persistent(-5, [](Index t) -> TileAt { return {t >= 0, {t}}; }), __LINE__;
  });
  said("window: the offset is 0 or more, not -1",
       [](Kernel& k, Ring&, Task&) -> uint32_t { return (void)k.tensor<float>("x", {8}).window(0, -1, 4), __LINE__; });
  said("window: the extent is 0 or more, not -2",
       [](Kernel& k, Ring&, Task&) -> uint32_t { return (void)k.tensor<float>("x", {8}).window(0, 0, -2), __LINE__; });
  said("select_axis: the index is 0 or more, not -1",
       [](Kernel& k, Ring&, Task&) -> uint32_t { return (void)k.tensor<float>("x", {8, 8}).at(0, -1), __LINE__; });
  constexpr int64_t large = int64_t{1} << 40;
  for (int64_t least : {int64_t{-1}, large})
    said("dim: its least value is 0 to 2^31 − 1",
         [=](Kernel& k, Ring&, Task&) -> uint32_t { return (void)k.dim("N", least), __LINE__; });
  for (int64_t most : {int64_t{7}, int64_t{-1}, large})
    said("dim: its greatest value is the least, or more, up to 2^31 − 1",
         [=](Kernel& k, Ring&, Task&) -> uint32_t { return (void)k.dim("N", 8, most), __LINE__; });
  said("scalar: above is a real number, for a scalar of f32 or f64",
       [=](Kernel& k, Ring&, Task&) -> uint32_t { return (void)k.scalar<float>("s", NAN), __LINE__; });
  said("scalar: no finite number is above infinity",
       [=](Kernel& k, Ring&, Task&) -> uint32_t { return (void)k.scalar<double>("s", INFINITY), __LINE__; });
}

}  // namespace
}  // namespace tlxjit
