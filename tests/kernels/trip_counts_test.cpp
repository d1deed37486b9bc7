// tests/kernels/trip_counts_test.cpp — tasks that go through a ring unequally often are told when the program ends.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <gmock/gmock.h>

#include <algorithm>
#include <functional>
#include <source_location>

#include "tests/kernels/fixture.h"

namespace kernels_test {

#ifndef TLXJIT_TEST_GPU

using ::testing::HasSubstr;

constexpr const char* way_out =
    " ended; one value decides every task's trip count; the log lists who fills and drains the ring";

/// The CPU watches, whichever target's lowering it runs.
class TripCounts : public KernelTest {
 protected:
  static constexpr int64_t b = 64;  // rows and columns of a tile

  struct Matrices {
    Index rows, columns;
    Tensor x, y;
    explicit Matrices(Kernel& k)
        : rows(k.dim("R")),
          columns(k.dim("C")),
          x(k.tensor<bf16>("x", {rows, columns})),
          y(k.tensor<float>("y", {rows, columns})) {}
  };

  /// Drains a slot: the product of two of its fields goes to y from the offsets on.
  static void drain(const Matrices& m, Task& t, const Ring& ring, std::initializer_list<Operand> offsets,
                    const char* other = "a", std::source_location at = std::source_location::current()) {
    auto acc = t.accumulator<float>({b, b});
    auto slot = ring.wait(at);
    acc.dot(slot["a"], slot[other].t());
    m.y.store(offsets, acc.read());
  }

  /// What comes of a launch on 3 x 1.5 tiles.
  Result<void> launch(const Kernel& kernel) {
    auto exe = compile(kernel);
    if (!exe) return exe.error();
    Random random(1);
    TestTensor<bf16> x({3 * b, 3 * b / 2}, random);
    TestTensor<float> y({3 * b, 3 * b / 2}, random);
    Result<void> first = exe->launch({x.on(device()), y.on(device())});
    const Result<void> second = exe->launch({x.on(device()), y.on(device())});
    EXPECT_EQ(first.ok(), second.ok()) << "the kernel is as good as before";
    return first;
  }

  static std::string here(int line) { return "trip_counts_test.cpp:" + std::to_string(line); }
};

// Rounded up by the one and down by the other: the consumer takes the tail of one row of tiles for the start of the
// next, and all tasks end.
TEST_P(TripCounts, BL_024_AProducerThatFillsMoreIsTold) {
  Kernel k{"leftover"};
  Matrices m(k);
  const int ring_line = __LINE__ + 1;
  auto ring = k.ring(4).slot<bf16>("a", {b, b});
  k.grid(1);
  int fill_line = 0, drain_line = 0;
  k.task("filler").warps(1).body([&] {
    k.range(ceil_div(m.rows, b)).each([&](Index i) {
      k.range(ceil_div(m.columns, b)).each([&](Index s) {
        fill_line = __LINE__ + 1;
        ring.acquire().load("a", m.x, {i * b, s * b});
      });
    });
  });
  k.task("drainer").warps(4).body([&](Task& t) {
    k.range(ceil_div(m.rows, b)).each([&](Index i) {
      k.range(m.columns / b).each([&](Index s) {
        drain_line = __LINE__ + 1;
        drain(m, t, ring, {i * b, s * b});
      });
    });
  });
  const auto result = launch(k);
  ASSERT_FALSE(result.ok());
  const Error& error = result.error();
  EXPECT_EQ(error.kind, ErrorKind::user);
  EXPECT_EQ(error.code, ErrorCode::invalid_kernel);
  EXPECT_EQ(error.message, std::string("`ring0` of `leftover`: 3 fills were not drained when program 0") + way_out);
  EXPECT_EQ(error.location.line, static_cast<uint32_t>(ring_line));
  EXPECT_THAT(error.log, HasSubstr("filler fills it: "));
  EXPECT_THAT(error.log, HasSubstr(here(fill_line) + "\ndrainer drains it: "));
  EXPECT_TRUE(error.log.ends_with(here(drain_line))) << error.log;
}

/// The last of several programs fills one slot more; plain, in a cluster, resident, with tiles of a counter.
TEST_P(TripCounts, BL_024_ASurplusFillAtTheEndOfAProgram) {
  for (const char* kind : {"plain", "cluster", "resident", "dynamic"})
    for (const int surplus : {0, 1}) {
      SCOPED_TRACE(std::string(kind) + ", surplus " + std::to_string(surplus));
      const bool together = std::string(kind) == "cluster" || std::string(kind) == "resident";
      if (together && GetParam().target() != "cpu") continue;  // it has no code for them yet
      Kernel k{"surplus"};
      Matrices m(k);
      auto ring = k.ring(2).slot<bf16>("a", {b, b});
      std::optional<Tiles> tiles;
      if (std::string(kind) == "dynamic")
        tiles = k.dynamic(3, [](Index t) -> TileAt { return {t >= 0, {t}}; });
      else
        k.grid(4);
      if (std::string(kind) == "cluster") k.cluster(2);
      if (std::string(kind) == "resident") k.resident();
      const auto each = [&](const std::function<void(Index)>& one) {
        if (tiles)
          tiles->each([&](Index i) { one(i); });
        else
          one(k.program_id());
      };
      k.task("filler").warps(1).body([&] {
        each([&](Index i) { ring.acquire().load("a", m.x, {i * b, 0}); });
        if (surplus) k.when(k.program_id() == (tiles ? 0 : 3), [&] { ring.acquire().load("a", m.x, {0, 0}); });
      });
      k.task("drainer").warps(4).body([&](Task& t) { each([&](Index i) { drain(m, t, ring, {i * b, 0}); }); });
      const auto result = launch(k);
      if (surplus == 0) {
        TLXJIT_MUST(result);
        continue;
      }
      ASSERT_FALSE(result.ok());
      EXPECT_EQ(result.error().message, std::string("`ring0` of `surplus`: 1 fill was not drained when program ") +
                                            (tiles ? "0" : "3") + way_out);
    }
}

/// Of two that fill or drain each slot, one goes on longer.
TEST_P(TripCounts, BL_024_OneOfSeveralFillersOrDrainersGoesOn) {
  for (const bool fills : {false, true}) {
    Kernel k{"several"};
    Matrices m(k);
    auto ring = k.ring(4).slot<bf16>("a", {b, b}).slot<bf16>("b", {b, b});
    k.grid(1);
    const auto fill = [&](const char* field, int trips) {
      k.range(trips).each([&](Index i) { ring.acquire().load(field, m.x, {i * b, 0}); });
    };
    k.task("first").warps(1).body([&] { fill("a", 3); });
    k.task("second").warps(1).body([&] { fill("b", fills ? 2 : 3); });
    k.task("drainer").warps(4).replicas(2).body([&](Task& t) {
      const Index trips = 3 - t.replica() * (fills ? 0 : 1) - (fills ? 1 : 0);
      k.range(trips).each([&](Index i) { drain(m, t, ring, {i * b, t.replica() * b}, "b"); });
    });
    const auto result = launch(k);
    ASSERT_FALSE(result.ok());
    EXPECT_EQ(result.error().message,
              std::string("`ring0` of `several`: ") +
                  (fills ? "1 slot was not filled or drained by all that should" : "1 fill was not drained") +
                  " when program 0" + way_out);
    const std::string& log = result.error().log;
    EXPECT_EQ(std::ranges::count(log, '\n'), 2) << log;
    for (const char* who : {"first fills it: ", "second fills it: ", "drainer drains it: "})
      EXPECT_THAT(log, HasSubstr(who));
  }
}

/// Barriers by hand mean what their author says, whatever they are called.
TEST_P(TripCounts, BarriersByHandAreNotCompared) {
  Kernel k{"by_hand"};
  Matrices m(k);
  auto full = k.barrier(1, 1, "ring0.full");
  auto empty = k.barrier(1, 1, "ring0.empty");
  auto ring = k.ring(1).slot<bf16>("a", {b, b});
  k.grid(1);
  k.task("filler").warps(1).body([&] {
    full[0].arrive();
    ring.acquire().load("a", m.x, {0, 0});
  });
  k.task("drainer").warps(4).body([&](Task& t) {
    full[0].wait(0);
    drain(m, t, ring, {0, 0});
  });
  (void)empty;
  TLXJIT_MUST(launch(k));
}

INSTANTIATE_TEST_SUITE_P(On, TripCounts, places, place_name);
#endif

}  // namespace kernels_test
