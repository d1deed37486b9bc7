// tests/kernels/rings_test.cpp — rings of tiles, several fillers and drainers, turns, stages, split tiles.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tests/kernels/fixture.h"

namespace kernels_test {

#ifndef TLXJIT_TEST_GPU

/// Kernels that map a matrix of i32, tile by tile, to another of its size: sums that wrap, so each element that goes
/// astray shows.
class Rings : public KernelTest {
 protected:
  static constexpr int64_t b = 16;  // rows and columns of a tile

  struct Matrices {
    Kernel& k;
    Index rows, columns;
    Tensor in, out;
    explicit Matrices(Kernel& kernel)
        : k(kernel),
          rows(k.dim("R")),
          columns(k.dim("C")),
          in(k.tensor<int32_t>("in", {rows, columns})),
          out(k.tensor<int32_t>("out", {rows, columns})) {}
  };

  /// Runs the kernel and asks `wanted` for each element of the result.
  void check(const Kernel& kernel, int64_t rows, int64_t columns,
             const std::function<int32_t(TestTensor<int32_t>&, int64_t, int64_t)>& wanted) {
    SCOPED_TRACE(kernel.name() + ", " + std::to_string(rows) + " x " + std::to_string(columns));
    auto exe = compile(kernel);
    TLXJIT_MUST(exe);
    Random random(seed_of_today());
    TestTensor<int32_t> x({rows, columns}, random), y({rows, columns}, random);
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < columns; ++j) x(i, j) = static_cast<int32_t>(random.integer(-1000000, 1000000));
    TLXJIT_MUST(exe->launch({x.on(device()), y.on(device())}));
    TLXJIT_MUST(device().synchronize());
    y.download();
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < columns; ++j) {
        (void)y.result(i, j);
        ASSERT_EQ(y(i, j), wanted(x, i, j)) << "row " << i << ", column " << j;
      }
    EXPECT_EQ(y.strays(), 0u);
  }

  static int32_t twice_plus_three(TestTensor<int32_t>& x, int64_t i, int64_t j) { return 2 * x(i, j) + 3; }
};

/// A chain: a loader, a task that passes tiles on over a second ring, a task that stores them. The second task has
/// 1, 2, 4 or 8 warps.
TEST_P(Rings, BL_146_TasksOfAnyWidthPassTilesOn) {
  for (int warps : {1, 2, 4, 8}) {
    Kernel k{"chain"};
    Matrices m(k);
    auto first = k.ring(3).slot<int32_t>("x", {b, b});
    auto second = k.ring(2).slot<int32_t>("y", {b, b});
    auto tiles = k.persistent(ceil_div(m.rows, b), ceil_div(m.columns, b));
    k.task("load").warps(1).body(
        [&] { tiles.each([&](Index i, Index j) { first.acquire().load("x", m.in, {i * b, j * b}); }); });
    k.task("compute").warps(warps).body([&] {
      tiles.each([&](Index, Index) {
        auto from = first.wait();
        auto to = second.acquire();
        to.store("y", from["x"].load() * 2 + 3);
      });
    });
    k.task("store").warps(4).body(
        [&] { tiles.each([&](Index i, Index j) { m.out.store({i * b, j * b}, second.wait()["y"].load()); }); });
    check(k, 100, 72, twice_plus_three);
  }
}

/// Two replicas store their rows of each slot; a task fills the other field of the same slots.
TEST_P(Rings, SeveralFillersOfASlot) {
  Kernel k{"fillers"};
  Matrices m(k);
  auto halves = k.ring(2).slot<int32_t>("x", {b, b}).slot<int32_t>("y", {b, b});
  auto tiles = k.persistent(ceil_div(m.rows, b), ceil_div(m.columns, b));
  auto in = k.ring(2).slot<int32_t>("x", {b, b});
  k.task("load").warps(1).body([&] {
    tiles.each([&](Index i, Index j) {
      in.acquire().load("x", m.in, {i * b, j * b});
      halves.acquire().load("y", m.in, {i * b, j * b});
    });
  });
  k.task("compute").warps(4).replicas(2).body([&](Task& t) {
    tiles.each([&](Index, Index) {
      auto from = in.wait();
      auto to = halves.acquire();
      to.store("x", from["x"].part(t).load() + t.replica() * 1000, t);
    });
  });
  k.task("store").warps(4).body([&] {
    tiles.each([&](Index i, Index j) {
      auto slot = halves.wait();
      m.out.store({i * b, j * b}, slot["x"].load() + slot["y"].load());
    });
  });
  check(k, 70, 50,
        [](TestTensor<int32_t>& x, int64_t i, int64_t j) { return 2 * x(i, j) + (i % b >= b / 2 ? 1000 : 0); });
}

/// Replicas take whole tiles in turn: each drains its slots and skips those of the others. A turn keeps one from
/// running ahead of what it skips.
TEST_P(Rings, ReplicasTakeEveryNthTile) {
  for (const bool dynamic : {false, true})
    for (int replicas : {2, 3}) {
      Kernel k{dynamic ? "split_dynamic" : "split_static"};
      Matrices m(k);
      auto ring = k.ring(4).slot<int32_t>("x", {b, b}).drainers(1);
      const Index rows = ceil_div(m.rows, b), columns = ceil_div(m.columns, b);
      const auto map = [&](Index t) -> TileAt { return {t >= 0, {t / columns, t % columns}}; };
      auto tiles = dynamic ? k.dynamic(rows * columns, map) : k.persistent(rows, columns);
      k.task("load").warps(1).body([&] {
        tiles.each([&](Index i, Index j) { k.range(2).each([&] { ring.acquire().load("x", m.in, {i * b, j * b}); }); });
      });
      k.task("store").warps(4).replicas(replicas).body([&](Task& t) {
        auto turn = t.turn();
        ring.skip(t.replica() * 2);
        tiles.split(t).each([&](Index i, Index j) {
          Tile all = t.full<int32_t>({b, b}, 3);
          turn.take();
          k.range(2).each([&] { all = all + ring.wait()["x"].load(); });
          turn.pass();
          m.out.store({i * b, j * b}, all);
          ring.skip(2 * (replicas - 1));
        });
      });
      check(k, 170, 90, twice_plus_three);
      check(k, 8, 8, twice_plus_three);
    }
}

/// Two replicas fill whole slots alternately.
TEST_P(Rings, FillersThatAlternate) {
  Kernel k{"alternate"};
  Matrices m(k);
  auto ring = k.ring(3).slot<int32_t>("x", {b, b}).fillers(1);
  auto tiles = k.persistent(ceil_div(m.rows, b), ceil_div(m.columns, b));
  k.task("load").warps(1).replicas(2).body([&](Task& t) {
    ring.skip_fill(t.replica());
    tiles.split(t).each([&](Index i, Index j) {
      ring.acquire().load("x", m.in, {i * b, j * b});
      ring.skip_fill(1);
    });
  });
  k.task("store").warps(4).body(
      [&] { tiles.each([&](Index i, Index j) { m.out.store({i * b, j * b}, ring.wait()["x"].load() * 2 + 3); }); });
  check(k, 170, 90, twice_plus_three);
}

/// One task fills a ring up to its stages ahead and drains it.
TEST_P(Rings, BL_139_OneTaskFillsAndDrains) {
  Kernel k{"own_ring"};
  Matrices m(k);
  auto ring = k.ring(3).slot<int32_t>("x", {b, b});
  const Index steps = ceil_div(m.columns, b);
  k.grid(ceil_div(m.rows, b));
  k.task("all").warps(4).body([&] {
    const Index i = k.program_id();
    const auto load = [&](Index s) { ring.acquire().load("x", m.in, {i * b, s * b}); };
    k.range(min(steps, 2)).each([&](Index s) { load(s); });
    k.range(steps).each([&](Index s) {
      k.when(s + 2 < steps, [&] { load(s + 2); });
      m.out.store({i * b, s * b}, ring.wait()["x"].load() * 2 + 3);
    });
  });
  for (int64_t columns : {16, 32, 48, 64, 100}) check(k, 40, columns, twice_plus_three);
}

TEST_P(Rings, AFullRingThatNobodyDrainsIsADeadlock) {
  Kernel k{"too_far_ahead"};
  Matrices m(k);
  auto ring = k.ring(2).slot<int32_t>("x", {b, b});
  k.grid(1);
  int line = 0;
  k.task("all").warps(4).body([&] {
    k.range(3).each([&] {
      line = __LINE__ + 1;
      ring.acquire().load("x", m.in, {0, 0});
    });
    m.out.store({0, 0}, ring.wait()["x"].load());
  });
  auto exe = compile(k);
  TLXJIT_MUST(exe);
  Random random(1);
  TestTensor<int32_t> x({b, b}, random), y({b, b}, random);
  const auto result = exe->launch({x.on(device()), y.on(device())});
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code, ErrorCode::deadlock);
  EXPECT_EQ(result.error().location.line, static_cast<uint32_t>(line));
}

TEST_P(Rings, AProgramPerTile) {
  Kernel k{"grid_of_tiles"};
  Matrices m(k);
  auto ring = k.ring(1).slot<int32_t>("x", {b, b});
  auto tiles = k.tiles(ceil_div(m.rows, b), ceil_div(m.columns, b));
  k.task("load").warps(1).body(
      [&] { tiles.each([&](Index i, Index j) { ring.acquire().load("x", m.in, {i * b, j * b}); }); });
  k.task("store").warps(4).body(
      [&] { tiles.each([&](Index i, Index j) { m.out.store({i * b, j * b}, ring.wait()["x"].load() * 2 + 3); }); });
  for (int64_t rows : {0, 1, 16, 50}) check(k, rows, 40, twice_plus_three);
}

/// Replicas take turns as often as each likes; who has the turn counts in shared memory, protected by nothing else.
TEST_P(Rings, TurnsGoRoundAndDrain) {
  for (int replicas : {1, 2, 3}) {
    Kernel k{"turns"};
    Matrices m(k);
    auto count = k.buffer<int32_t>(1, {1});
    auto met = k.named_barrier(replicas, "met");
    k.grid(1);
    k.task("main").warps(4).replicas(replicas).body([&](Task& t) {
      const Index r = t.replica();
      k.when(r == 0, [&] { count.put(0, 0, 0); });
      met.wait();
      auto turn = t.turn();
      k.range(4 - r).each([&] {  // replica r takes 4 − r turns
        turn.take();
        const Index now = count.get(0, 0);
        count.put(0, 0, now + 1);
        turn.pass();
        m.out.store({now, 0}, t.full<int32_t>({1, 1}, r));
      });
    });
    std::vector<int32_t> wanted;
    for (int round = 0; round < 4; ++round)
      for (int r = 0; r < replicas; ++r)
        if (round < 4 - r) wanted.push_back(r);
    check(k, static_cast<int64_t>(wanted.size()), 1,
          [&](TestTensor<int32_t>&, int64_t i, int64_t) { return wanted[static_cast<size_t>(i)]; });
  }
}

/// Replicas one stage apart: who ends step q meets the one before it at the end of step q + 1.
TEST_P(Rings, StaggeredStages) {
  constexpr int replicas = 3, trips = 5;
  Kernel k{"stages"};
  Matrices m(k);
  auto step = k.buffer<int32_t>(replicas, {4});
  k.grid(1);
  k.task("main").warps(4).replicas(replicas).staggered().body([&](Task& t) {
    const Index r = t.replica(), ahead = max(r - 1, 0);
    Index q = r * 0, right = r * 0;
    k.range(trips).each([&] {
      for (const char* name : {"load", "compute"}) {
        step.put(r, q % 4, q);
        t.stage(name, *name == 'c');
        k.when(q + 1 < 2 * trips, [&] {
          const Tile one_ahead = step.get(ahead, (q + 1) % 4) == q + 1;
          right = right + one_ahead.to<int32_t>();
        });
        q = q + 1;
      }
    });
    m.out.store({r, 0}, t.full<int32_t>({1, 1}, select(r == 0, 2 * trips - 1, right)));
  });
  check(k, replicas, 1, [](TestTensor<int32_t>&, int64_t, int64_t) { return 2 * trips - 1; });
}

INSTANTIATE_TEST_SUITE_P(On, Rings, f32_places, place_name);
#endif

}  // namespace kernels_test
