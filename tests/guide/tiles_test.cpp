// tests/guide/tiles_test.cpp — the code of docs/guide/tiles.md, against plain C++.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "tests/reference/tolerance.h"
#include "tests/support/seeds.h"
#include "tlxjit/tlxjit.h"

using namespace tlxjit;

namespace {

/// y[i] = ln Σ e^x[i, j] over the first lengths[i] columns.
Kernel log_sum_exp() {
  constexpr int rows = 16, columns = 128;
  Kernel k{"log_sum_exp"};
  auto [m, n] = k.dims("M", "N");
  auto x = k.tensor<bf16>("x", {m, n});
  auto lengths = k.tensor<int32_t>("lengths", {m});
  auto y = k.tensor<float>("y", {m});
  k.grid(ceil_div(m, rows));
  k.task("main").warps(4).body([&](Task& t) {
    const Index row = k.program_id() * rows;
    const Tile length = lengths.load_tile({row}, {rows});
    Tile most = t.full<float>({rows}, -INFINITY);
    Tile total = t.full<float>({rows}, 0);
    k.range(ceil_div(n, columns)).each([&](Index j) {
      const Tile column = j * columns + t.iota({columns}, 0);
      const Tile seen = column.expand(0) < length.expand(1);  // 16 × 128
      const Tile a = x.load_tile({row, j * columns}, {rows, columns}, {.mask = seen, .other = -INFINITY}).to<float>();
      const Tile now = max(most, maximum(a, 1));
      const Tile base = select(now == -INFINITY, 0, now);  // of rows that have seen nothing yet
      total = total * exp(most - base) + sum(exp(a - base.expand(1)), 1, {.partial = true});
      most = now;
    });
    y.store({row}, most + log(finish(total)));
  });
  return k;
}

/// How many steps of v → v / 2, 3 v + 1 each number takes to 1; −1 where `limit` rounds were too few.
Kernel collatz() {
  constexpr int piece = 64;
  Kernel k{"collatz"};
  auto n = k.dim("N");
  auto programs = k.dim("P");
  auto x = k.tensor<int32_t>("x", {n});
  auto y = k.tensor<int32_t>("y", {n});
  auto all_done = k.tensor<int32_t>("all_done", {programs});
  auto limit = k.scalar<int32_t>("limit");
  k.grid(ceil_div(n, piece));
  k.task("main").warps(4).body([&](Task& t) {
    const Index at = k.program_id() * piece;
    Tile v = x.load_tile({at}, {piece}, {.other = 1});
    Tile steps = t.full<int32_t>({piece}, 0);
    Index rounds = k.variable(0);
    k.loop([&] { return any(v > 1, 0) & (rounds < limit); },
           [&] {
             const Tile going = v > 1;
             v = select(going, select(v % 2 == 0, v / 2, 3 * v + 1), v);
             steps = steps + going.to<int32_t>();
             rounds = rounds + 1;
           });
    k.when(
        any(v > 1, 0),
        [&] {
          steps = select(v > 1, -1, steps);
          all_done.store({k.program_id()}, t.full<int32_t>({1}, 0));
        },
        [&] { all_done.store({k.program_id()}, t.full<int32_t>({1}, 1)); });
    y.store({at}, steps);
  });
  return k;
}

/// The lower triangle of a square: blocks above the diagonal are no tiles.
Kernel lower_triangle() {
  constexpr int b = 32;
  Kernel k{"lower_triangle"};
  auto n = k.dim("N");
  auto x = k.tensor<float>("x", {n, n});
  auto y = k.tensor<float>("y", {n, n});
  auto blocks = ceil_div(n, b);
  auto tiles = k.dynamic(blocks * blocks, [&](Index number) -> TileAt {
    const Index i = number / blocks, j = number % blocks;
    return {j <= i, {i, j}};
  });
  k.task("main").warps(4).body([&](Task& t) {
    tiles.each([&](Index i, Index j) {
      const Tile row = i * b + t.iota({b, b}, 0), column = j * b + t.iota({b, b}, 1);
      y.store({i * b, j * b}, x.load_tile({i * b, j * b}, {b, b}), {.mask = column <= row});
    });
  });
  return k;
}

class GuideTiles : public testing::Test {
 protected:
  Executable compile(const Kernel& kernel) {
    auto device = engine_.device("cpu");
    EXPECT_TRUE(device);
    auto exe = engine_.compile(kernel, *device);
    EXPECT_TRUE(exe) << to_string(exe.error());
    return *exe;
  }

 private:
  static EngineOptions with_plugin() {
    EngineOptions options;
    options.cpu_plugin = TLXJIT_TEST_PLUGIN;
    return options;
  }
  Engine engine_{with_plugin()};
};

TEST_F(GuideTiles, LogSumExp) {
  const Executable exe = compile(log_sum_exp());
  for_seeds(2, [&](uint64_t seed) {
    std::mt19937_64 random(seed);
    for (const auto& [m, n] : {std::pair<int64_t, int64_t>{1, 1}, {16, 128}, {37, 300}, {5, 0}}) {
      std::vector<bf16> x(static_cast<size_t>(m * n));
      std::vector<int32_t> lengths(static_cast<size_t>(m));
      std::vector<float> y(static_cast<size_t>(m), NAN);
      for (bf16& e : x) e = bf16(std::normal_distribution<float>(0, 4)(random));
      for (int32_t& l : lengths) l = std::uniform_int_distribution<int32_t>(0, static_cast<int32_t>(n))(random);
      auto done = exe.launch(
          {tensor<bf16>(x.data(), {m, n}), tensor<int32_t>(lengths.data(), {m}), tensor<float>(y.data(), {m})});
      ASSERT_TRUE(done) << to_string(done.error());
      for (int64_t i = 0; i < m; ++i) {
        double sum = 0, most = 0;
        for (int64_t j = 0; j < lengths[static_cast<size_t>(i)]; ++j) {
          const double e = float(x[static_cast<size_t>(i * n + j)]);
          sum += std::exp(e);
          most = std::max(most, std::abs(e));
        }
        const double exact = std::log(sum);
        // Sum, exponentials and logarithm, and differences that are as large as the numbers.
        const double allowed = reference::tolerance(exact, 1 + most, double(n + 8), reference::roundoff_f32);
        EXPECT_TRUE(reference::agrees(y[static_cast<size_t>(i)], exact, allowed))
            << "row " << i << " of " << m << " × " << n << ": " << y[static_cast<size_t>(i)] << ", not " << exact;
      }
    }
  });
}

TEST_F(GuideTiles, Collatz) {
  const Executable exe = compile(collatz());
  for_seeds(2, [&](uint64_t seed) {
    std::mt19937_64 random(seed);
    for (const int64_t n : {1, 64, 200}) {
      const int64_t programs = (n + 63) / 64;
      const int32_t limit = 100;
      std::vector<int32_t> x(static_cast<size_t>(n)), y(x.size(), -7), all_done(static_cast<size_t>(programs), -7);
      for (int32_t& e : x) e = std::uniform_int_distribution<int32_t>(1, 120)(random);
      auto done = exe.launch({tensor<int32_t>(x.data(), {n}), tensor<int32_t>(y.data(), {n}),
                              tensor<int32_t>(all_done.data(), {programs}), limit});
      ASSERT_TRUE(done) << to_string(done.error());
      std::vector<int32_t> all(all_done.size(), 1);
      for (size_t i = 0; i < x.size(); ++i) {
        int32_t steps = 0;
        for (int32_t v = x[i]; v > 1 && steps >= 0; v = v % 2 ? 3 * v + 1 : v / 2)
          steps = steps < limit ? steps + 1 : -1;
        all[i / 64] &= steps >= 0;
        EXPECT_EQ(y[i], steps) << "of " << x[i];
      }
      EXPECT_EQ(all_done, all);
    }
  });
}

TEST_F(GuideTiles, LowerTriangle) {
  const Executable exe = compile(lower_triangle());
  for_seeds(2, [&](uint64_t seed) {
    std::mt19937_64 random(seed);
    for (const int64_t n : {1, 32, 77}) {
      std::vector<float> x(static_cast<size_t>(n * n)), y(x.size(), -7);
      for (float& e : x) e = std::normal_distribution<float>()(random);
      auto done = exe.launch({tensor<float>(x.data(), {n, n}), tensor<float>(y.data(), {n, n})});
      ASSERT_TRUE(done) << to_string(done.error());
      for (size_t i = 0; i < x.size(); ++i)
        EXPECT_EQ(y[i], i % size_t(n) <= i / size_t(n) ? x[i] : -7) << "element " << i << " of " << n;
    }
  });
}

}  // namespace
