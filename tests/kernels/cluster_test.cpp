// tests/kernels/cluster_test.cpp — programs of a cluster that arrive at one another's barriers and fill one another's
// buffers.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tests/kernels/fixture.h"
#include "tests/reference/tolerance.h"

namespace kernels_test {
namespace {

/// y[i] = Σ x[i, :], whose columns the programs of a cluster share.
Kernel split_sum(int size) {
  constexpr int rows = 32, width = 16;
  Kernel k{"split_sum"};
  auto [m, n] = k.dims("M", "N");
  auto x = k.tensor<float>("x", {m, n});
  auto y = k.tensor<float>("y", {m});
  k.cluster(size);
  k.grid(ceil_div(m, rows) * size);
  auto parts = k.buffer<float>(size, {rows});
  auto full = k.barrier(1, 1, "full");
  k.task("main").body([&](Task& t) {
    auto rank = k.cluster_rank();
    auto row = k.program_id() / size * rows;
    auto part = t.full<float>({rows}, 0);
    k.range(rank * width, n, size * width).each([&](Index j) {
      part = part + sum(x.load_tile({row, j}, {rows, width}), 1);
    });
    parts[rank].store_remote(0, part, full[0]);  // to slot `rank` of program 0, whose `full` counts the bytes
    k.when(rank == 0, [&] {
      full[0].expect(size * parts.bytes());
      full[0].wait(0);
      auto all = parts[0].load();
      for (int r = 1; r < size; ++r) all = all + parts[r].load();
      y.store({row}, all);
    });
    k.cluster_sync();  // nobody leaves while another still reaches into its shared memory
  });
  return k;
}

/// Rings of programs: in each round every program sends what it holds to the next one. y[p] is the sum of all that
/// program p has held; p holds p at first.
Kernel pass_round(int size, int rounds, Arrive per) {
  Kernel k{"pass_round"};
  auto y = k.tensor<int32_t>("y", {k.dim("P"), 16});
  k.cluster(size);
  k.grid(2 * size);
  auto box = k.buffer<int32_t>(1, {16});
  auto full = k.barrier(1, 1, "full");
  auto free = k.barrier(1, per == Arrive::per_warp ? 4 : 1, "free");  // of the next program's box
  k.task("main").body([&](Task& t) {
    auto rank = k.cluster_rank();
    auto next = (rank + 1) % size, before = (rank + size - 1) % size;
    auto held = t.full<int32_t>({16}, k.program_id());
    auto total = held;
    auto c = k.cursor(1);
    k.range(rounds).each([&] {
      full[0].expect(box.bytes());
      free[0].wait(c.former());
      box[0].store_remote(next, held, full[0]);
      full[0].wait(c.phase);
      held = box[0].load();
      total = total + held;
      free[0].arrive_remote(before, {.per = per});
      c.next();
    });
    y.store({k.program_id(), 0}, reshape(total, {1, 16}));
    k.cluster_sync();
  });
  return k;
}

class Clusters : public KernelTest {};

TEST_P(Clusters, SumOverTheCluster) {
  for (int size : {1, 2, 4}) {
    SCOPED_TRACE("clusters of " + std::to_string(size));
    auto exe = compile(split_sum(size));
    TLXJIT_MUST(exe);
    cases(3, [&](Random& random) {
      const int64_t m = random.integer(1, 100), n = random.integer(1, 200);
      TestTensor<float> x({m, n}, random), y({m}, random);
      for (int64_t i = 0; i < m; ++i)
        for (int64_t j = 0; j < n; ++j) x(i, j) = random.real();
      TLXJIT_MUST(exe->launch({x.on(device()), y.on(device())}));
      y.download();
      for (int64_t i = 0; i < m; ++i) {
        double exact = 0, magnitude = 0;
        for (int64_t j = 0; j < n; ++j) {
          const auto v = static_cast<double>(x(i, j));
          exact += v, magnitude += std::abs(v);
        }
        const double allowed = reference::tolerance(exact, magnitude, static_cast<double>(n), reference::roundoff_f32);
        ASSERT_TRUE(reference::agrees(y.result(i), exact, allowed)) << "row " << i << ": " << exact;
      }
      EXPECT_EQ(y.strays(), 0u);
    });
  }
}

TEST_P(Clusters, BoxesThatGoRound) {
  for (int size : {2, 4})
    for (Arrive per : {Arrive::per_instance, Arrive::per_warp})
      for (int rounds : {1, 2, 7}) {
        SCOPED_TRACE(std::to_string(rounds) + " rounds in clusters of " + std::to_string(size));
        auto exe = compile(pass_round(size, rounds, per));
        TLXJIT_MUST(exe);
        cases(1, [&](Random& random) {
          TestTensor<int32_t> y({2 * size, 16}, random, true);
          TLXJIT_MUST(exe->launch({y.on(device())}));
          y.download();
          for (int p = 0; p < 2 * size; ++p) {
            int sum = 0;
            for (int r = 0; r <= rounds; ++r) sum += p / size * size + (p % size + rounds * size - r) % size;
            for (int j = 0; j < 16; ++j) ASSERT_EQ(y.result(p, j), sum) << "program " << p;
          }
        });
      }
}

TEST_P(Clusters, ARemoteStoreThatNobodySendsIsADeadlockAtItsWait) {
  Kernel k{"lonely"};
  auto out = k.tensor<int32_t>("y", {k.dim("P")});
  k.cluster(2);
  k.grid(2);
  auto box = k.buffer<int32_t>(1, {16});
  auto full = k.barrier(1, 1, "full");
  k.task("main").body([&](Task& t) {
    auto rank = k.cluster_rank();
    full[0].expect(box.bytes());
    k.when(rank == 0, [&] { box[0].store_remote(1, t.full<int32_t>({16}, 1), full[0]); });
    full[0].wait(0);
    out.store({k.program_id()}, t.full<int32_t>({1}, rank));
  });
  auto exe = compile(k);
  TLXJIT_MUST(exe);
  Random random(1);
  TestTensor<int32_t> y({2}, random);
  const auto done = exe->launch({y.on(device())});
  ASSERT_FALSE(done);
  EXPECT_NE(done.error().log.find(
                "program 0: main (replica 0) waits for phase 0 of `full`, slot 0: 0 arrivals and 64 bytes missing"),
            std::string::npos)
      << to_string(done.error()) << done.error().log;
}

TEST_P(Clusters, FaultsNameTheLine) {
  Kernel k{"wrong"};
  auto y = k.tensor<int32_t>("y", {k.dim("P")});
  k.cluster(2);
  k.grid(2);
  auto box = k.buffer<int32_t>(1, {16, 2});
  auto full = k.barrier(1, 1, "full");
  std::vector<uint32_t> lines;
  k.task("main").body([&](Task& t) {
    const Tile x = t.full<int32_t>({16, 2}, 1), less = t.full<int32_t>({16}, 1);
    lines.push_back(__LINE__ + 1);
    box[0].part(1, 8).store_remote(0, t.full<int32_t>({8, 2}, 1), full[0]);
    lines.push_back(__LINE__ + 1);
    box[0].store_remote(0, less, full[0]);
    lines.push_back(__LINE__ + 1);
    full[1].arrive_remote(0);
    full[0].arrive_remote(1);
    y.store({0}, less);
  });
  const char* const messages[] = {
      "buffer.store.remote: moves whole slots of a buffer; make smaller slots in the same storage with `alias`",
      "buffer.store.remote: writes tile<16xi32> to buffer<1, 16x2xi32>",
      "arrive.remote: the barrier's slot 1 is outside the 1 that there are"};
  const auto faults = k.verify();
  ASSERT_EQ(faults.size(), 3u);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(faults[i].message, messages[i]);
    EXPECT_EQ(faults[i].location.line, lines[i]);
  }

  Kernel far{"far"};
  far.cluster(2);
  far.grid(2);
  auto barrier = far.barrier(1, 1);
  uint32_t line = 0;
  far.task("main").body([&] {
    line = __LINE__ + 1;
    barrier[0].arrive_remote(2);
  });
  ASSERT_EQ(far.verify().size(), 1u);
  EXPECT_EQ(far.verify()[0].message, "arrive.remote: rank 2 is outside the 2 that there are");
  EXPECT_EQ(far.verify()[0].location.line, line);
}

TEST_P(Clusters, HopperRefusesThemByTheirLine) {
  const auto hopper = engine().device("sm_90a");
  TLXJIT_MUST(hopper);
  const auto exe = engine().compile(pass_round(2, 1, Arrive::per_instance), *hopper);
  ASSERT_FALSE(exe);
  EXPECT_EQ(exe.error().kind, ErrorKind::user);
  EXPECT_EQ(exe.error().message, "cluster: sm_90a has no cluster; targets that have it: cpu");
  EXPECT_NE(exe.error().location.file.find("cluster_test.cpp"), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(On, Clusters, ::testing::Values(Where{"cpu", "", "cpu"}), place_name);

}  // namespace
}  // namespace kernels_test
