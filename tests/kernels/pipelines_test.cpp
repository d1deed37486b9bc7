// tests/kernels/pipelines_test.cpp — pipelines of public reports: short, empty, conditional, in loops; shares of tasks.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tests/kernels/fixture.h"
#include "tests/reference/gemm.h"
#include "tests/reference/tolerance.h"

namespace kernels_test {

namespace {

/// The GEMM of the design, word for word.
// D[M,N] = A[M,K] · B[N,K]ᵀ
Kernel design_gemm(const GemmConfig& c) {
  Kernel k{"gemm"};
  auto [m, n, kk] = k.dims("M", "N", "K");
  auto a = k.tensor<bf16>("a", {m, kk});
  auto b = k.tensor<bf16>("b", {n, kk});
  auto d = k.tensor<bf16>("d", {m, n});

  auto ring = k.ring(c.stages).slot<bf16>("a", {c.bm, c.bk}).slot<bf16>("b", {c.bn, c.bk});
  auto tiles = k.persistent(ceil_div(m, c.bm), ceil_div(n, c.bn), {.group = 8});
  auto steps = ceil_div(kk, c.bk);

  k.task(Producer).warps(1).registers(c.load_registers).body([&] {
    tiles.each([&](Index i, Index j) {
      k.range(steps).each([&](Index s) {
        auto slot = ring.acquire();               // waits until free
        slot.load("a", a, {i * c.bm, s * c.bk});  // completes on the slot's own barrier
        slot.load("b", b, {j * c.bn, s * c.bk});
      });
    });
  });
  k.task(Consumer).warps(4).replicas(c.replicas).registers(c.mma_registers).body([&](Task& t) {
    auto acc =
        t.accumulator<float>({c.bm / c.replicas, c.bn});  // registers on Hopper and CDNA, tensor memory on Blackwell
    tiles.each([&](Index i, Index j) {
      acc.clear();
      k.range(steps).each([&](Index) {
        auto slot = ring.wait();
        acc.dot(slot["a"].part(t), slot["b"].t());  // released once the dots that read it are done
      });
      acc.slabs(c.slab, [&](Index col, Tile x) { d.store({i * c.bm + t.offset(c.bm), j * c.bn + col}, x.to<bf16>()); });
    });
  });
  return k;
}

}  // namespace

class Pipelines : public KernelTest {
 protected:
  static constexpr int64_t b = 64;

  /// a, b [M or N, K] and d [M, N] of random numbers; `skipped(step of 64)` says which slices of K are left out.
  template <class Launched>
  void check(const Launched& exe, int64_t m, int64_t n, int64_t k, std::vector<Argument> rest = {},
             const std::function<bool(int64_t)>& skipped = {}) {
    SCOPED_TRACE("M " + std::to_string(m) + ", N " + std::to_string(n) + ", K " + std::to_string(k));
    Random random(seed_of_today());
    TestTensor<bf16> x({m, k}, random), y({n, k}, random), d({m, n}, random);
    for (int64_t l = 0; l < k; ++l) {
      for (int64_t i = 0; i < m; ++i) x(i, l) = bf16(random.real());
      for (int64_t j = 0; j < n; ++j) y(j, l) = bf16(random.real());
    }
    std::vector<Argument> arguments = {x.on(device()), y.on(device()), d.on(device())};
    arguments.insert(arguments.end(), rest.begin(), rest.end());
    TLXJIT_MUST(exe.launch(Stream(), arguments));
    TLXJIT_MUST(device().synchronize());
    d.download();
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = 0; j < n; ++j) {
        const auto factor = [&](int64_t l) { return skipped && skipped(l / b) ? 0.0f : float(x(i, l)); };
        const auto sum = reference::dot(k, factor, [&](int64_t l) { return float(y(j, l)); });
        ASSERT_LE(std::abs(d.result(i, j) - sum.value),
                  reference::tolerance(sum.value, sum.magnitude, static_cast<double>(k), reference::roundoff_bf16))
            << "row " << i << ", column " << j;
      }
    EXPECT_EQ(d.strays(), 0u);
  }

  struct Parts {
    Kernel& k;
    Index m, n, kk;
    Tensor x, y, d;
    explicit Parts(Kernel& kernel)
        : k(kernel),
          m(k.dim("M")),
          n(k.dim("N")),
          kk(k.dim("K")),
          x(k.tensor<bf16>("a", {m, kk})),
          y(k.tensor<bf16>("b", {n, kk})),
          d(k.tensor<bf16>("d", {m, n})) {}
    Ring ring(int stages) { return k.ring(stages).slot<bf16>("a", {b, b}).slot<bf16>("b", {b, b}); }
    /// The slices that begin at these rows and this depth.
    void load(const Ring& ring, Operand row, Operand column, Operand depth) {
      auto slot = ring.acquire();
      slot.load("a", x, {row, depth});
      slot.load("b", y, {column, depth});
    }
  };
};

TEST_P(Pipelines, TheDesignsGemmCompilesAsWritten) {
  auto exe = compile(design_gemm(gemm_config(GetParam().target())));
  TLXJIT_MUST(exe);
  check(*exe, 300, 264, 200);
}

/// Fewer trips than stages; a scalar that the loop carries is read afterwards, into 64 elements for a tile.
TEST_P(Pipelines, BL_102_TripsFromNoneToTheStages) {
  Kernel k{"short"};
  Parts p(k);
  const Tensor counted = k.tensor<float>("counted", {k.dim("C"), k.dim("R")});
  Ring ring = p.ring(4);
  auto tiles = k.persistent(ceil_div(p.m, b), ceil_div(p.n, b));
  const Index steps = ceil_div(p.kk, b);
  k.task(Producer).warps(1).body([&] {
    tiles.each([&](Index i, Index j) { k.range(steps).each([&](Index s) { p.load(ring, i * b, j * b, s * b); }); });
  });
  k.task(Consumer).warps(4).body([&](Task& t) {
    auto acc = t.accumulator<float>({b, b});
    tiles.each([&](Index i, Index j) {
      acc.clear();
      Index trips = i * 0;
      k.range(steps).each([&] {
        auto slot = ring.wait();
        acc.dot(slot["a"], slot["b"].t());
        trips = trips + 1;
      });
      p.d.store({i * b, j * b}, acc.read().to<bf16>());
      counted.at(0, j).store({i * b}, maximum(t.full<float>({b, 8}, trips.to<float>()), 1));
    });
  });
  auto exe = compile(k);
  TLXJIT_MUST(exe);
  for (int64_t trips : {0, 1, 2, 3, 4, 5}) {
    Random random(seed_of_today());
    TestTensor<float> counts({2, 3 * b}, random);  // of 3 × 2 tiles
    check(*exe, 130, 72, trips * b, {counts.on(device())});
    counts.download();
    for (int64_t j = 0; j < 2; ++j)
      for (int64_t i = 0; i < 3 * b; ++i) ASSERT_EQ(counts.result(j, i), static_cast<double>(trips)) << i << " " << j;
    EXPECT_EQ(counts.strays(), 0u);
  }
}

TEST_P(Pipelines, BL_139_OneTripAndTwo) {
  auto exe = compile(gemm(gemm_config(GetParam().target())));
  TLXJIT_MUST(exe);
  const int64_t bk = gemm_config(GetParam().target()).bk;
  for (int64_t trips : {1, 2}) check(*exe, 200, 264, trips * bk);
}

/// Every third tile has no slices of K, so that a task has no work there.
TEST_P(Pipelines, BL_141_EveryThirdTileIsEmpty) {
  Kernel k{"empty_tiles"};
  Parts p(k);
  Ring ring = p.ring(2);
  auto tiles = k.persistent(ceil_div(p.m, b), ceil_div(p.n, b));
  const auto steps = [&](const Index& i) { return select(i % 3 == 2, 0, ceil_div(p.kk, b)); };
  k.task(Producer).warps(1).body([&] {
    tiles.each([&](Index i, Index j) { k.range(steps(i)).each([&](Index s) { p.load(ring, i * b, j * b, s * b); }); });
  });
  k.task(Consumer).warps(4).body([&](Task& t) {
    auto acc = t.accumulator<float>({b, b});
    tiles.each([&](Index i, Index j) {
      acc.clear();
      k.range(steps(i)).each([&] {
        auto slot = ring.wait();
        acc.dot(slot["a"], slot["b"].t());
      });
      // What the empty tiles lack is written by name: 0.
      p.d.store({i * b, j * b}, acc.read().to<bf16>());
    });
  });
  auto exe = compile(k);
  TLXJIT_MUST(exe);
  // The third of the rows that is empty is compared with a product of nothing.
  Random random(seed_of_today());
  const int64_t m = 6 * b, n = 72, kk = 3 * b;
  TestTensor<bf16> x({m, kk}, random), y({n, kk}, random), d({m, n}, random);
  for (int64_t l = 0; l < kk; ++l) {
    for (int64_t i = 0; i < m; ++i) x(i, l) = bf16(random.real());
    for (int64_t j = 0; j < n; ++j) y(j, l) = bf16(random.real());
  }
  TLXJIT_MUST(exe->launch({x.on(device()), y.on(device()), d.on(device())}));
  TLXJIT_MUST(device().synchronize());
  d.download();
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) {
      const int64_t depth = i / b % 3 == 2 ? 0 : kk;
      const auto sum =
          reference::dot(depth, [&](int64_t l) { return float(x(i, l)); }, [&](int64_t l) { return float(y(j, l)); });
      ASSERT_LE(std::abs(d.result(i, j) - sum.value),
                reference::tolerance(sum.value, sum.magnitude, static_cast<double>(depth), reference::roundoff_bf16));
    }
  EXPECT_EQ(d.strays(), 0u);
}

/// One slot, two consumers that read it: each trip waits for both. 100 runs: the first compared with the reference,
/// those after it, bit for bit, with the first.
TEST_P(Pipelines, BL_153_OneBufferTwoConsumers) {
  GemmConfig c = gemm_config(GetParam().target());
  c.bm = 128, c.bn = 128, c.bk = 64, c.stages = 1, c.replicas = 2, c.slab = 64;
  auto exe = compile(gemm(c));
  TLXJIT_MUST(exe);
  check(*exe, 128, 128, 8 * 64);
  Random random(seed_of_today());
  TestTensor<bf16> x({128, 8 * 64}, random), y({128, 8 * 64}, random), first({128, 128}, random), later = first;
  for (int64_t i = 0; i < 128; ++i)
    for (int64_t l = 0; l < 8 * 64; ++l) x(i, l) = bf16(random.real()), y(i, l) = bf16(random.real());
  const TensorArg a = x.on(device()), b = y.on(device());
  const auto run_into = [&](TestTensor<bf16>& d) {
    TLXJIT_MUST(exe->launch({a, b, d.on(device())}));
    TLXJIT_MUST(device().synchronize());
    d.download();
  };
  run_into(first);
  for (int run = 1; run < 100; ++run) {
    for (int64_t i = 0; i < 128; ++i)
      for (int64_t j = 0; j < 128; ++j) later(i, j) = bf16(NAN);
    run_into(later);
    for (int64_t i = 0; i < 128; ++i)
      for (int64_t j = 0; j < 128; ++j) ASSERT_EQ(later.result(i, j), first.result(i, j)) << "run " << run;
  }
}

/// Branches that take slots and stand in no loop, in a special version that knows them taken: each gives its slots back
/// at its end, as in the generic version, though the branch is no more.
TEST_P(Pipelines, BranchesThatAreAlwaysTakenGiveTheirSlotsBack) {
  for (int stages : {1, 2}) {
    const auto build = [&] {
      Kernel k{"branches"};
      Parts p(k);
      const Scalar n = k.scalar<int32_t>("n");
      const Ring ring = p.ring(stages);
      k.grid(1);
      const auto branches = [&](const std::function<void(int)>& fn) {
        for (int s = 0; s < stages; ++s) k.when(n > 64, [&] { k.when(n > 65, [&] { fn(s); }); });
        fn(stages);
      };
      k.task(Producer).warps(1).body([&] { branches([&](int s) { p.load(ring, 0, 0, s * b); }); });
      k.task(Consumer).warps(4).body([&](Task& t) {
        auto acc = t.accumulator<float>({b, b});
        branches([&](int) {
          auto slot = ring.wait();
          acc.dot(slot["a"], slot["b"].t());
        });
        p.d.store({0, 0}, acc.read().to<bf16>());
      });
      return k;
    };
    auto generic = compile(build());
    TLXJIT_MUST(generic);
    JitOptions options;
    options.tier = Tier::wait;
    options.compile.as = GetParam().as;
    options.numbers = {{"n", Policy::exact()}};
    const JitFunction special(
        engine(), device(), "branches", [&](const Signature&, const Config&) { return build(); }, options);
    const int64_t depth = (stages + 1) * b;
    check(*generic, b, b, depth, {Argument(100)});
    check(special, b, b, depth, {Argument(100)});
    EXPECT_EQ(special.counters().failures, 0u);
  }
}

/// The one tile of a program is in no loop either.
TEST_P(Pipelines, TwoPassesOverOneTileShareAStage) {
  Kernel k{"passes"};
  Parts p(k);
  const Ring ring = p.ring(1);
  auto tiles = k.tiles(ceil_div(p.m, b), ceil_div(p.n, b));
  const auto passes = [&](const std::function<void(Index, Index, int)>& fn) {
    for (int s : {0, 1}) tiles.each([&](Index i, Index j) { fn(i, j, s); });
  };
  k.task(Producer).warps(1).body([&] { passes([&](Index i, Index j, int s) { p.load(ring, i * b, j * b, s * b); }); });
  k.task(Consumer).warps(4).body([&](Task& t) {
    auto acc = t.accumulator<float>({b, b});
    passes([&](Index i, Index j, int s) {
      auto slot = ring.wait();
      acc.dot(slot["a"], slot["b"].t());
      if (s == 1) p.d.store({i * b, j * b}, acc.read().to<bf16>());
    });
  });
  auto exe = compile(k);
  TLXJIT_MUST(exe);
  check(*exe, 100, 72, 2 * b);
}

/// Slices that a bit mask leaves out, in nested branches inside the pipelined loops.
TEST_P(Pipelines, BL_155_BranchesInsideThePipeline) {
  Kernel k{"sparse"};
  Parts p(k);
  const Scalar mask = k.scalar<int32_t>("mask");
  Ring ring = p.ring(3);
  auto tiles = k.persistent(ceil_div(p.m, b), ceil_div(p.n, b));
  const Index steps = ceil_div(p.kk, b);
  const auto taken = [&](const Index& s, const std::function<void()>& fn) {
    k.when(s < 8, [&] { k.when((mask >> s & 1) == 1, fn); }, [&] { k.when((mask >> (s - 8) & 1) == 1, fn); });
  };
  k.task(Producer).warps(1).body([&] {
    tiles.each([&](Index i, Index j) {
      k.range(steps).each([&](Index s) { taken(s, [&] { p.load(ring, i * b, j * b, s * b); }); });
    });
  });
  k.task(Consumer).warps(4).body([&](Task& t) {
    auto acc = t.accumulator<float>({b, b});
    tiles.each([&](Index i, Index j) {
      acc.clear();
      k.range(steps).each([&](Index s) {
        taken(s, [&] {
          auto slot = ring.wait();
          acc.dot(slot["a"], slot["b"].t());
        });
      });
      p.d.store({i * b, j * b}, acc.read().to<bf16>());
    });
  });
  auto exe = compile(k);
  TLXJIT_MUST(exe);
  for (int32_t bits : {0, 0xff, 0x5a, 0x01, 0x80})
    check(*exe, 100, 72, 10 * b, {Argument(bits)}, [&](int64_t s) { return (bits >> (s % 8) & 1) == 0; });
}

/// A while loop around the pipelined one.
TEST_P(Pipelines, BL_156_APipelineInsideAWhile) {
  Kernel k{"while"};
  Parts p(k);
  Ring ring = p.ring(3);
  k.grid(1);
  const Index rows = ceil_div(p.m, b), steps = ceil_div(p.kk, b);
  const auto each_row = [&](const std::function<void(Index&)>& fn) {
    Index i = k.program_id() * 0;
    k.loop([&] { return i < rows; },
           [&] {
             k.when(p.n > 0, [&] { k.when(p.m > 0, [&] { fn(i); }); });
             i = i + 1;
           });
  };
  k.task(Producer).warps(1).body(
      [&] { each_row([&](Index& i) { k.range(steps).each([&](Index s) { p.load(ring, i * b, 0, s * b); }); }); });
  k.task(Consumer).warps(4).body([&](Task& t) {
    auto acc = t.accumulator<float>({b, b});
    each_row([&](Index& i) {
      acc.clear();
      k.range(steps).each([&] {
        auto slot = ring.wait();
        acc.dot(slot["a"], slot["b"].t());
      });
      p.d.store({i * b, 0}, acc.read().to<bf16>());
    });
  });
  auto exe = compile(k);
  TLXJIT_MUST(exe);
  check(*exe, 200, 64, 5 * b);
  check(*exe, 0, 64, b);
}

/// Two replicas with a variable each and a ring each, drained by replica number: nothing is shared.
TEST_P(Pipelines, BL_147_ReplicasHaveVariablesOfTheirOwn) {
  Kernel k{"own_state"};
  Parts p(k);
  Ring left = p.ring(2).drainers(1), right = p.ring(2).drainers(1);  // each is drained by one of the replicas
  k.grid(1);
  const Index steps = ceil_div(p.kk, b);
  k.task(Producer).warps(1).body([&] {
    k.range(steps).each([&](Index s) {
      p.load(left, 0, 0, s * b);
      p.load(right, b, 0, s * b);
    });
  });
  k.task(Consumer).warps(4).replicas(2).body([&](Task& t) {
    auto acc = t.accumulator<float>({b, b});
    Index count = t.replica() * 0;
    const auto sum = [&](const Ring& ring) {
      k.range(steps).each([&] {
        auto slot = ring.wait();
        acc.dot(slot["a"], slot["b"].t());
        count = count + t.replica() + 1;
      });
    };
    k.when(t.replica() == 0, [&] { sum(left); }, [&] { sum(right); });
    const Tile right_count = (count == steps * (t.replica() + 1)).to<float>();
    p.d.store({t.replica() * b, 0}, (acc.read() * t.full<float>({b, b}, right_count)).to<bf16>());
  });
  auto exe = compile(k);
  TLXJIT_MUST(exe);
  check(*exe, 2 * b, 40, 3 * b);
}

INSTANTIATE_TEST_SUITE_P(On, Pipelines, places, place_name);

}  // namespace kernels_test
