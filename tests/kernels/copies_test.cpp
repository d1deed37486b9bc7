// tests/kernels/copies_test.cpp — copies by hand between tensors and buffers: reducing, by lanes, of one axis.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tests/kernels/fixture.h"

namespace kernels_test {

#ifndef TLXJIT_TEST_GPU

class Copies : public KernelTest {
 protected:
  /// Every program reduces its row block of `in` into the one block of `out`. Numbers are small integers, so that
  /// every type holds every result exactly.
  template <class T>
  void reduce(Reduce how, const std::function<int64_t(int64_t, int64_t)>& combine, int64_t low, int64_t high) {
    SCOPED_TRACE(std::string(to_string(elem_of<T>)) + ", reduction " + std::to_string(static_cast<int>(how)));
    constexpr int64_t rows = 8, columns = 40, programs = 12;
    Kernel k{"reduce"};
    auto [r, c, p] = k.dims("R", "C", "P");
    auto in = k.tensor<T>("in", {r, c});
    auto out = k.tensor<T>("out", {p, c});
    auto buf = k.buffer<T>(1, {rows, columns + 8});  // wider than the tensors
    auto full = k.barrier(1, 1);
    k.grid(programs);
    k.task("main").warps(1).body([&] {
      full[0].expect(buf.bytes());
      full[0].load(buf[0], in, {k.program_id() * rows, 0});
      full[0].wait(0);
      k.fence();
      buf[0].copy_to(out, {0, 0}, how);
      k.copies_drain();
    });
    auto exe = compile(k);
    TLXJIT_MUST(exe);
    Random random(seed_of_today());
    TestTensor<T> x({rows * programs, columns}, random), y({rows, columns}, random);
    std::vector<int64_t> wanted;
    for (int64_t i = 0; i < rows * programs; ++i)
      for (int64_t j = 0; j < columns; ++j) x(i, j) = static_cast<T>(static_cast<float>(random.integer(low, high)));
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < columns; ++j) {
        int64_t all = random.integer(low, high);
        y(i, j) = static_cast<T>(static_cast<float>(all));
        for (int64_t q = 0; q < programs; ++q)
          all = combine(all, static_cast<int64_t>(static_cast<float>(x(q * rows + i, j))));
        wanted.push_back(all);
      }
    TLXJIT_MUST(exe->launch({x.on(device()), y.on(device())}));
    y.download();
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < columns; ++j)
        ASSERT_EQ(y.result(i, j), static_cast<double>(wanted[static_cast<size_t>(i * columns + j)]));
    EXPECT_EQ(y.strays(), 0u);
  }

  template <class T>
  void sums_and_extremes(bool is_signed) {
    const int64_t low = is_signed ? -9 : 0;
    reduce<T>(Reduce::add, [](int64_t a, int64_t b) { return a + b; }, low, 9);
    if constexpr (!std::is_same_v<T, float>) {
      reduce<T>(Reduce::min, [](int64_t a, int64_t b) { return std::min(a, b); }, low, 99);
      reduce<T>(Reduce::max, [](int64_t a, int64_t b) { return std::max(a, b); }, low, 99);
    }
  }
  template <class T>
  void bits() {
    reduce<T>(Reduce::bit_and, [](int64_t a, int64_t b) { return a & b; }, 0, 255);
    reduce<T>(Reduce::bit_or, [](int64_t a, int64_t b) { return a | b; }, 0, 255);
    reduce<T>(Reduce::bit_xor, [](int64_t a, int64_t b) { return a ^ b; }, 0, 255);
  }
};

TEST_P(Copies, StoresThatReduce) {
  sums_and_extremes<int32_t>(true);
  sums_and_extremes<uint32_t>(false);
  sums_and_extremes<int64_t>(true);
  sums_and_extremes<uint64_t>(false);
  sums_and_extremes<f16>(true);
  sums_and_extremes<bf16>(true);
  sums_and_extremes<float>(true);
  bits<int32_t>();
  bits<uint32_t>();
  bits<int64_t>();
  bits<uint64_t>();
}

/// Per-lane copies in two groups, a prefetch, copies of one axis: [T] cut into pieces, piece p copied to
/// row p of [P, 64].
TEST_P(Copies, ByLanesAndOfOneAxis) {
  Kernel k{"lanes"};
  auto [t, p, c] = k.dims("T", "P", "C");
  auto in = k.tensor<int32_t>("in", {t});
  auto out = k.tensor<int32_t>("out", {p, c});
  auto first = k.scalar<int32_t>("first");
  auto buf = k.buffer<int32_t>(2, {64});
  k.grid(ceil_div(p, 2));
  k.task("main").warps(2).body([&] {
    const Index row = k.program_id() * 2;
    in.prefetch({first + row * 64}, {64});
    for (int s : {0, 1}) {
      buf[s].copy_lanes(in, {first + (row + s) * 64});
      k.lanes_commit();
    }
    for (int s : {0, 1}) {
      k.lanes_wait(1 - s);
      k.fence();
      buf[s].copy_to(out, {row + s, 0});
    }
    k.copies_drain(0, true);
  });
  auto exe = compile(k);
  TLXJIT_MUST(exe);
  Random random(seed_of_today());
  const int64_t total = 300, at = 11, rows = 5;
  TestTensor<int32_t> x({total}, random), y({rows, 60}, random);
  for (int64_t i = 0; i < total; ++i) x(i) = static_cast<int32_t>(random.integer(1, 1000000));
  TLXJIT_MUST(exe->launch({x.on(device()), y.on(device()), int32_t{at}}));
  y.download();
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < 60; ++j) {
      const int64_t from = at + i * 64 + j;
      (void)y.result(i, j);
      ASSERT_EQ(y(i, j), from < total ? x(from) : 0) << "row " << i << ", column " << j;
    }
  EXPECT_EQ(y.strays(), 0u);
}

/// A window ends a copy on both sides; an outer axis is chosen by its offset, or by at().
TEST_P(Copies, ThroughWindowsAndOuterAxes) {
  Kernel k{"windows"};
  auto [t, h, c] = k.dims("T", "H", "C");
  auto in = k.tensor<int32_t>("in", {h, t, c});
  auto out = k.tensor<int32_t>("out", {t, h, c});
  auto first = k.scalar<int32_t>("first"), rows = k.scalar<int32_t>("rows");
  auto buf = k.buffer<int32_t>(1, {16, 8});
  auto full = k.barrier(1, 1);
  k.grid(h);
  k.task("main").warps(1).body([&] {
    const Index head = k.program_id();
    full[0].expect(buf.bytes());
    full[0].load(buf[0], in.window(1, first, rows), {head, 0, 0});
    full[0].wait(0);
    k.fence();
    buf[0].copy_to(out.at(1, head).window(0, first, rows), {0, 0});
    k.copies_drain();
  });
  auto exe = compile(k);
  TLXJIT_MUST(exe);
  Random random(seed_of_today());
  for (const auto& [from, count] : {std::pair{3, 9}, {0, 16}, {20, 16}, {5, 0}}) {
    TestTensor<int32_t> x({3, 30, 8}, random), y({30, 3, 8}, random);
    for (int64_t i = 0; i < 3; ++i)
      for (int64_t j = 0; j < 30; ++j)
        for (int64_t l = 0; l < 8; ++l) x(i, j, l) = static_cast<int32_t>(random.integer(1, 1000000));
    TLXJIT_MUST(exe->launch({x.on(device()), y.on(device()), int32_t{from}, int32_t{count}}));
    y.download();
    for (int64_t j = from; j < std::min(30, from + std::min(count, 16)); ++j)
      for (int64_t i = 0; i < 3; ++i)
        for (int64_t l = 0; l < 8; ++l) {
          (void)y.result(j, i, l);
          ASSERT_EQ(y(j, i, l), x(i, j, l));
        }
    EXPECT_EQ(y.strays(), 0u);
  }
}

/// Numbers of a window may come from data: "to the end" is any large extent, and a negative one is none.
TEST_P(Copies, WindowsOfAnyNumbersEndWithTheTensor) {
  Kernel k{"windows"};
  auto [t, c] = k.dims("T", "C");
  auto in = k.tensor<float>("in", {t, c}), out = k.tensor<float>("out", {t, c});
  auto first = k.scalar<int32_t>("first"), rows = k.scalar<int32_t>("rows");
  auto ring = k.ring(1).slot<float>("x", {64, 32});
  k.grid(1);
  k.task(Producer).warps(1).body([&] { ring.acquire().load("x", in.window(0, first, rows), {0, 0}); });
  k.task(Consumer).warps(4).body([&](Task&) {
    const Tile x = ring.wait()["x"].load();
    out.window(0, first, rows).store({0, 0}, x + 1);
  });
  auto exe = compile(k);
  TLXJIT_MUST(exe);
  Random random(seed_of_today());
  constexpr int32_t most = INT32_MAX, least = INT32_MIN;
  for (const auto& [from, count] : {std::pair{5, most},
                                    {0, most},
                                    {most, most},
                                    {most, 1},
                                    {5, -6},
                                    {5, least},
                                    {0, -1},
                                    {most, least},
                                    {29, 64},
                                    {30, 5},
                                    {7, 20}}) {
    TestTensor<float> x({30, 32}, random), y({30, 32}, random);
    for (int64_t i = 0; i < 30; ++i)
      for (int64_t j = 0; j < 32; ++j) x(i, j) = random.real();
    TLXJIT_MUST(exe->launch({x.on(device()), y.on(device()), int32_t{from}, int32_t{count}}));
    y.download();
    const int64_t end = count < 0 ? 0 : std::min<int64_t>(30, int64_t{from} + count);
    for (int64_t i = from; i < end; ++i)
      for (int64_t j = 0; j < 32; ++j) {
        (void)y.result(i, j);
        ASSERT_EQ(y(i, j), x(i, j) + 1) << "row " << i << " of " << count << " rows from " << from;
      }
    EXPECT_EQ(y.strays(), 0u) << count << " rows from " << from;
  }
}

/// Two buffers over one storage: what one writes the other reads.
TEST_P(Copies, BuffersThatShareStorage) {
  Kernel k{"alias"};
  auto [n] = k.dims("N");
  auto out = k.tensor<int32_t>("out", {n});
  auto whole = k.buffer<int32_t>(2, {64});
  auto second = k.buffer<int32_t>(4, {16}, {.alias = whole, .offset = 256});
  auto halves = k.buffer<int16_t>(1, {32}, {.alias = second, .offset = 64});
  k.grid(1);
  k.task("main").warps(1).body([&](Task& t) {
    whole[1].store(t.iota({64}, 0) * 65537);
    out.store({0}, second[2].load());
    out.store({16}, halves[0].load().to<int32_t>());
  });
  auto exe = compile(k);
  TLXJIT_MUST(exe);
  Random random(1);
  TestTensor<int32_t> y({48}, random);
  TLXJIT_MUST(exe->launch({y.on(device())}));
  y.download();
  for (int i = 0; i < 16; ++i) EXPECT_EQ(y.result(i), (32 + i) * 65537);
  for (int i = 0; i < 32; ++i) EXPECT_EQ(y.result(16 + i), 16 + i / 2);
  EXPECT_EQ(y.strays(), 0u);
}

INSTANTIATE_TEST_SUITE_P(On, Copies, f32_places, place_name);
#endif

}  // namespace kernels_test
