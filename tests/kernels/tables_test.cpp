// tests/kernels/tables_test.cpp — a histogram with atomics, rows gathered from a table by their numbers.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tests/kernels/fixture.h"

namespace kernels_test {
namespace {

constexpr int64_t chunk = 96;

/// bins[v] counts the elements v of x; others are not counted.
Kernel histogram() {
  Kernel k{"histogram"};
  auto [n, count] = k.dims("N", "B");
  const Tensor x = k.tensor<int32_t>("x", {n}), bins = k.tensor<uint32_t>("bins", {count});
  k.grid(ceil_div(n, static_cast<int>(chunk)));
  k.task("count").body([&] {
    const Tile v = x.load_tile({k.program_id() * static_cast<int>(chunk)}, {chunk}, {.other = -1});
    (void)bins.atomic(Atomic::add, {v}, 1);
  });
  return k;
}

/// out[i, :] = table[rows[i], :]; rows that the table lacks are 0.
Kernel embedding(Elem elem, int64_t width) {
  Kernel k{"embedding"};
  auto [n, entries, d] = k.dims("N", "V", "D");
  const Tensor rows = k.tensor<int64_t>("rows", {n}), table = k.tensor(elem, "table", {entries, d}),
               out = k.tensor(elem, "out", {n, d});
  k.grid(ceil_div(n, 8));
  k.task("gather").body([&](Task& t) {
    const Index first = k.program_id() * 8;
    const Tile which = rows.load_tile({first}, {8}, {.other = -1});
    out.store({first, 0}, table.load_at({which.expand(1), t.iota({width}, 0).expand(0)}));
  });
  return k;
}

class Tables : public KernelTest {};

TEST_P(Tables, Histogram) {
  auto exe = compile(histogram());
  TLXJIT_MUST(exe);
  cases(4, [&](Random& random) {
    const int64_t n = random.integer(1, 5000), count = random.integer(1, 300);
    TestTensor<int32_t> x({n}, random, true);
    TestTensor<uint32_t> bins({count}, random, true);
    std::vector<uint32_t> wanted(static_cast<size_t>(count));
    for (int64_t i = 0; i < count; ++i) bins(i) = 0;
    for (int64_t i = 0; i < n; ++i) {
      x(i) = static_cast<int32_t>(random.integer(-2, count + 1));
      if (x(i) >= 0 && x(i) < count) ++wanted[static_cast<size_t>(x(i))];
    }
    TLXJIT_MUST(exe->launch({x.on(device()), bins.on(device())}));
    bins.download();
    for (int64_t i = 0; i < count; ++i) ASSERT_EQ(bins.result(i), wanted[static_cast<size_t>(i)]) << "bin " << i;
    EXPECT_EQ(bins.strays(), 0u);
  });
}

TEST_P(Tables, Embedding) {
  auto exe = compile(embedding(Elem::bf16, 80));
  TLXJIT_MUST(exe);
  cases(4, [&](Random& random) {
    const int64_t n = random.integer(1, 50), entries = random.integer(1, 100), d = random.integer(1, 80);
    TestTensor<int64_t> rows({n}, random, true);
    TestTensor<bf16> table({entries, d}, random), out({n, d}, random);
    for (int64_t i = 0; i < n; ++i) rows(i) = random.integer(-2, entries + 1);
    for (int64_t i = 0; i < entries; ++i)
      for (int64_t j = 0; j < d; ++j) table(i, j) = random.real();
    TLXJIT_MUST(exe->launch({rows.on(device()), table.on(device()), out.on(device())}));
    out.download();
    for (int64_t i = 0; i < n; ++i)
      for (int64_t j = 0; j < d; ++j) {
        const int64_t row = rows(i);
        const float wanted = row >= 0 && row < entries ? static_cast<float>(table(row, j)) : 0;
        ASSERT_EQ(out.result(i, j), wanted) << i << " " << j;
      }
    EXPECT_EQ(out.strays(), 0u);
  });
}

INSTANTIATE_TEST_SUITE_P(On, Tables, ::testing::Values(Where{"cpu", "", "cpu"}), place_name);

}  // namespace
}  // namespace kernels_test
