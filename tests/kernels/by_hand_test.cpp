// tests/kernels/by_hand_test.cpp — kernels whose buffers, barriers, phases and copies are written by hand.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tests/kernels/fixture.h"
#include "tests/reference/gemm.h"
#include "tests/reference/tolerance.h"

namespace kernels_test {

namespace {

/// D[M,N] = A[M,K] · B[N,K]ᵀ with the barriers that a ring would have. `overlap`: the slot before the present one is
/// given back while the present dot runs.
Kernel gemm_by_hand(int replicas, int stages, bool overlap) {
  constexpr int bm = 64, bn = 64, bk = 64;
  Kernel k{"gemm_by_hand"};
  auto [m, n, kk] = k.dims("M", "N", "K");
  auto a = k.tensor<bf16>("a", {m, kk});
  auto b = k.tensor<bf16>("b", {n, kk});
  auto d = k.tensor<bf16>("d", {m, n});
  auto as = k.buffer<bf16>(stages, {bm * replicas, bk});
  auto bs = k.buffer<bf16>(stages, {bn, bk});
  auto full = k.barrier(stages, 1, "full");
  auto free = k.barrier(stages, replicas, "free");
  auto tiles = k.persistent(ceil_div(m, bm * replicas), ceil_div(n, bn));
  auto steps = ceil_div(kk, bk);

  k.task(Producer).warps(1).body([&] {
    auto c = k.cursor(stages);
    tiles.each([&](Index i, Index j) {
      k.range(steps).each([&](Index s) {
        free[c.slot].wait(c.former());
        full[c.slot].expect(as.bytes() + bs.bytes());
        full[c.slot].load(as[c.slot], a, {i * (bm * replicas), s * bk});
        full[c.slot].load(bs[c.slot], b, {j * bn, s * bk});
        c.next();
      });
    });
  });
  k.task(Consumer).warps(4).replicas(replicas).body([&](Task& t) {
    auto acc = t.accumulator<float>({bm, bn});
    auto c = k.cursor(stages);
    tiles.each([&](Index i, Index j) {
      acc.clear();
      Index former = c.slot;
      k.range(steps).each([&](Index s) {
        full[c.slot].wait(c.phase);
        acc.dot(as[c.slot].part(t), bs[c.slot].t());
        if (overlap) {
          k.when(s > 0, [&] { free[former].arrive({.dots = 1}); });
          former = c.slot;
        } else {
          free[c.slot].arrive();
        }
        c.next();
      });
      if (overlap) k.when(steps > 0, [&] { free[former].arrive(); });
      acc.slabs(bn, [&](Index col, Tile x) {
        d.store({i * (bm * replicas) + t.replica() * bm, j * bn + col}, x.to<bf16>());
      });
    });
  });
  return k;
}

}  // namespace

class ByHand : public KernelTest {
 protected:
  void check_gemm(const Kernel& kernel, std::initializer_list<std::array<int64_t, 3>> sizes) {
    auto exe = compile(kernel);
    TLXJIT_MUST(exe);
    Random random(seed_of_today());
    for (const auto& [m, n, k] : sizes) {
      SCOPED_TRACE("M " + std::to_string(m) + ", N " + std::to_string(n) + ", K " + std::to_string(k));
      TestTensor<bf16> a({m, k}, random), b({n, k}, random), d({m, n}, random);
      for (int64_t x = 0; x < k; ++x) {
        for (int64_t i = 0; i < m; ++i) a(i, x) = bf16(random.real());
        for (int64_t j = 0; j < n; ++j) b(j, x) = bf16(random.real());
      }
      TLXJIT_MUST(exe->launch({a.on(device()), b.on(device()), d.on(device())}));
      TLXJIT_MUST(device().synchronize());
      d.download();
      for (int64_t i = 0; i < m; ++i)
        for (int64_t j = 0; j < n; ++j) {
          const auto sum =
              reference::dot(k, [&](int64_t x) { return float(a(i, x)); }, [&](int64_t x) { return float(b(j, x)); });
          ASSERT_LE(std::abs(d.result(i, j) - sum.value),
                    reference::tolerance(sum.value, sum.magnitude, static_cast<double>(k), reference::roundoff_bf16))
              << "row " << i << ", column " << j;
        }
      EXPECT_EQ(d.strays(), 0u);
    }
  }
};

TEST_P(ByHand, AGemm) {
  check_gemm(gemm_by_hand(1, 3, false), {{64, 64, 64}, {100, 72, 320}, {5, 8, 0}});
  check_gemm(gemm_by_hand(2, 4, false), {{300, 200, 264}});
}

TEST_P(ByHand, AGemmWhoseSlotsAreGivenBackADotLater) {
  check_gemm(gemm_by_hand(1, 4, true), {{64, 64, 64}, {100, 72, 320}, {5, 8, 0}});
  check_gemm(gemm_by_hand(2, 2, true), {{300, 200, 264}});
}

/// One task with two buffers, no ring: the next slices are loaded while the present ones are multiplied.
TEST_P(ByHand, APipelineInOneTask) {
  constexpr int64_t b = 64;
  Kernel k{"one_task"};
  auto [m, n, kk] = k.dims("M", "N", "K");
  auto x = k.tensor<bf16>("a", {m, kk});
  auto y = k.tensor<bf16>("b", {n, kk});
  auto d = k.tensor<bf16>("d", {m, n});
  auto xs = k.buffer<bf16>(2, {b, b}), ys = k.buffer<bf16>(2, {b, b});
  auto full = k.barrier(2, 1);
  auto tiles = k.tiles(ceil_div(m, b), ceil_div(n, b));
  k.task("all").warps(4).body([&](Task& t) {
    auto acc = t.accumulator<float>({b, b});
    auto ahead = k.cursor(2), now = k.cursor(2);
    tiles.each([&](Index i, Index j) {
      const Index steps = ceil_div(kk, b);
      const auto load = [&](Index s) {
        full[ahead.slot].expect(xs.bytes() + ys.bytes());
        full[ahead.slot].load(xs[ahead.slot], x, {i * b, s * b});
        full[ahead.slot].load(ys[ahead.slot], y, {j * b, s * b});
        ahead.next();
      };
      k.when(steps > 0, [&] { load(steps * 0); });
      k.range(steps).each([&](Index s) {
        k.when(s + 1 < steps, [&] { load(s + 1); });
        full[now.slot].wait(now.phase);
        acc.dot(xs[now.slot], ys[now.slot].t());
        now.next();
      });
      d.store({i * b, j * b}, acc.read().to<bf16>());
    });
  });
  check_gemm(k, {{64, 64, 64}, {100, 136, 320}, {5, 8, 0}});
}

INSTANTIATE_TEST_SUITE_P(On, ByHand, places, place_name);

#ifndef TLXJIT_TEST_GPU
/// What a kernel of one tensor of i32 to another makes of random numbers.
struct Filled {
  std::vector<int32_t> in, out;
};

class Views : public KernelTest {
 protected:
  /// `body` gets the slot that holds the input [32, 48] and a function that stores a tile as the output.
  Filled run(const std::function<void(Kernel&, Task&, View, const std::function<void(Tile)>&)>& body, int64_t rows,
             int64_t columns) {
    Kernel k{"views"};
    auto [r, c, p, q] = k.dims("R", "C", "P", "Q");
    auto in = k.tensor<int32_t>("in", {r, c});
    auto out = k.tensor<int32_t>("out", {p, q});
    auto buf = k.buffer<int32_t>(2, {32, 48});
    auto full = k.barrier(1, 1);
    k.grid(1);
    k.task("main").warps(4).body([&](Task& t) {
      full[0].expect(buf.bytes());
      full[0].load(buf[1], in, {0, 0});
      full[0].wait(0);
      body(k, t, buf[1], [&](Tile x) { out.store({0, 0}, x); });
    });
    Random random(seed_of_today());
    TestTensor<int32_t> x({32, 48}, random), y({rows, columns}, random);
    Filled result;
    for (int64_t i = 0; i < 32; ++i)
      for (int64_t j = 0; j < 48; ++j) {
        x(i, j) = static_cast<int32_t>(random.integer(INT32_MIN, INT32_MAX));
        result.in.push_back(x(i, j));
      }
    auto exe = compile(k);
    if (!exe) {
      ADD_FAILURE() << to_string(exe.error());
      return result;
    }
    if (auto done = exe->launch({x.on(device()), y.on(device())}); !done) ADD_FAILURE() << to_string(done.error());
    y.download();
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < columns; ++j) {
        (void)y.result(i, j);
        result.out.push_back(y(i, j));
      }
    EXPECT_EQ(y.strays(), 0u);
    return result;
  }
};

TEST_P(Views, WholeTransposedPartsAndSlices) {
  using Put = std::function<void(Tile)>;
  const auto whole = run([](Kernel&, Task&, View v, const Put& put) { put(v.load()); }, 32, 48);
  EXPECT_EQ(whole.out, whole.in);
  const auto turned = run([](Kernel&, Task&, View v, const Put& put) { put(v.t().load()); }, 48, 32);
  for (size_t i = 0; i < 48; ++i)
    for (size_t j = 0; j < 32; ++j) ASSERT_EQ(turned.out[i * 32 + j], turned.in[j * 48 + i]);
  const auto part =
      run([](Kernel&, Task& t, View v, const Put& put) { put(v.part(t.replica() + 3, 8).load()); }, 8, 48);
  for (size_t i = 0; i < part.out.size(); ++i) ASSERT_EQ(part.out[i], part.in[24 * 48 + i]);
  const auto slice = run([](Kernel&, Task&, View v, const Put& put) { put(v.slice({5, 7}, {20, 24}).load()); }, 20, 24);
  for (size_t i = 0; i < 20; ++i)
    for (size_t j = 0; j < 24; ++j) ASSERT_EQ(slice.out[i * 24 + j], slice.in[(i + 5) * 48 + j + 7]);
  const auto both =
      run([](Kernel&, Task&, View v, const Put& put) { put(v.slice({5, 7}, {20, 24}).t().load()); }, 24, 20);
  for (size_t i = 0; i < 24; ++i)
    for (size_t j = 0; j < 20; ++j) ASSERT_EQ(both.out[i * 20 + j], both.in[(j + 5) * 48 + i + 7]);
}

TEST_P(Views, OtherShapesAndTypes) {
  using Put = std::function<void(Tile)>;
  const auto shape = run([](Kernel&, Task&, View v, const Put& put) { put(v.reshape({64, 24}).load()); }, 64, 24);
  EXPECT_EQ(shape.out, shape.in);
  const auto deep = run(
      [](Kernel&, Task&, View v, const Put& put) {
        put(v.reshape({2, 16, 3, 16}).slice({1, 0, 0, 0}, {1, 16, 3, 16}).reshape({16, 48}).load());
      },
      16, 48);
  for (size_t i = 0; i < deep.out.size(); ++i) ASSERT_EQ(deep.out[i], deep.in[16 * 48 + i]);
  const auto halves =
      run([](Kernel&, Task&, View v, const Put& put) { put(v.reinterpret<int16_t>().load().to<int32_t>()); }, 32, 96);
  for (size_t i = 0; i < halves.out.size(); ++i)
    ASSERT_EQ(halves.out[i], static_cast<int16_t>(static_cast<uint32_t>(halves.in[i / 2]) >> 16 * (i % 2)));
}

TEST_P(Views, StoresThroughViewsInProgramOrder) {
  using Put = std::function<void(Tile)>;
  // Exchanges two quarters, and reads what a transposed view wrote.
  const auto swapped = run(
      [](Kernel&, Task&, View v, const Put& put) {
        const Tile a = v.slice({0, 0}, {16, 24}).load(), b = v.slice({16, 24}, {16, 24}).load();
        v.slice({0, 0}, {16, 24}).store(b);
        v.slice({16, 24}, {16, 24}).store(a);
        put(v.load());
      },
      32, 48);
  for (size_t i = 0; i < 32; ++i)
    for (size_t j = 0; j < 48; ++j) {
      size_t x = i, y = j;
      if (i < 16 && j < 24) x += 16, y += 24;
      if (i >= 16 && j >= 24) x -= 16, y -= 24;
      ASSERT_EQ(swapped.out[i * 48 + j], swapped.in[x * 48 + y]);
    }
  const auto turned = run(
      [](Kernel&, Task&, View v, const Put& put) {
        const View square = v.slice({0, 8}, {32, 32});
        square.t().store(square.load());
        put(square.load());
      },
      32, 32);
  for (size_t i = 0; i < 32; ++i)
    for (size_t j = 0; j < 32; ++j) ASSERT_EQ(turned.out[i * 32 + j], turned.in[j * 48 + i + 8]);
}

TEST_P(Views, GatherAndScatter) {
  using Put = std::function<void(Tile)>;
  const auto rows = run(
      [](Kernel&, Task& t, View v, const Put& put) {
        const Tile i = t.iota({40, 48}, 0), j = t.iota({40, 48}, 1);
        put(v.gather((i * 7 + j) % 32, 0));
      },
      40, 48);
  for (size_t i = 0; i < 40; ++i)
    for (size_t j = 0; j < 48; ++j) ASSERT_EQ(rows.out[i * 48 + j], rows.in[(i * 7 + j) % 32 * 48 + j]);
  const auto columns = run(
      [](Kernel&, Task& t, View v, const Put& put) {
        const Tile i = t.iota({32, 16}, 0), j = t.iota({32, 16}, 1);
        put(v.gather((i + j * 5) % 48, 1));
      },
      32, 16);
  for (size_t i = 0; i < 32; ++i)
    for (size_t j = 0; j < 16; ++j) ASSERT_EQ(columns.out[i * 16 + j], columns.in[i * 48 + (i + j * 5) % 48]);
  // 5 and 48 have no common factor: a permutation of each row.
  const auto scattered = run(
      [](Kernel&, Task& t, View v, const Put& put) {
        const Tile x = v.load();
        v.scatter(t.iota({32, 48}, 1) * 5 % 48, 1, x);
        put(v.load());
      },
      32, 48);
  for (size_t i = 0; i < 32; ++i)
    for (size_t j = 0; j < 48; ++j) ASSERT_EQ(scattered.out[i * 48 + j * 5 % 48], scattered.in[i * 48 + j]);
}

TEST_P(Views, AnIndexOutsideEndsTheLaunch) {
  Kernel k{"outside"};
  const Index n = k.dim("N");
  auto out = k.tensor<int32_t>("out", {n});
  auto buf = k.buffer<int32_t>(1, {32});
  k.grid(1);
  const int line = __LINE__ + 1;
  k.task("main").body([&](Task& t) { out.store({0}, buf[0].gather(t.iota({64}, 0), 0)); });
  auto exe = compile(k);
  TLXJIT_MUST(exe);
  Random random(1);
  TestTensor<int32_t> y({64}, random);
  const auto result = exe->launch({y.on(device())});
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().message, "CPU: `outside`: view.gather: index 47 is outside the 32 that there are");
  EXPECT_EQ(result.error().location.line, static_cast<uint32_t>(line));
}

INSTANTIATE_TEST_SUITE_P(On, Views, f32_places, place_name);
#endif

}  // namespace kernels_test
