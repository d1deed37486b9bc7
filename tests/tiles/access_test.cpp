// tests/tiles/access_test.cpp — tiles loaded, stored, gathered and scattered; nothing outside is touched.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <sys/mman.h>

#include "tests/tiles/fixture.h"

namespace tiles_test {
namespace {

/// A matrix with gaps between rows, of which it is known what may be touched.
struct Matrix {
  int64_t rows, columns, stride;
  std::vector<float> data;
  static constexpr int64_t guard = 300;

  Matrix(int64_t r, int64_t c, int64_t s)
      : rows(r), columns(c), stride(s), data(static_cast<size_t>(r * s + 2 * guard), NAN) {}
  float& at(int64_t i, int64_t j) { return data[static_cast<size_t>(guard + i * stride + j)]; }
  bool has(int64_t i, int64_t j) const { return i >= 0 && i < rows && j >= 0 && j < columns; }
  void fill(float from) {
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < columns; ++j) at(i, j) = from++;
  }
  Argument argument() {
    TensorArg t = tensor<float>(data.data() + guard, {rows, columns});
    t.strides[0] = stride;
    return t;
  }
};

TEST(Access, BoxesOverEveryEdgeWithMasksAndFills) {
  draws(6, [](Random& random) {
    const int64_t rows = random.integer(1, 20), columns = random.integer(1, 20);
    const int64_t h = random.integer(1, 17), w = random.integer(1, 17);
    const auto row = static_cast<int32_t>(random.integer(-9, 22)),
               column = static_cast<int32_t>(random.integer(-9, 22));
    Matrix x(rows, columns, columns + random.integer(0, 5)), y(rows, columns, columns + random.integer(0, 5));
    x.fill(1);
    y.fill(-1000);
    Matrix before = y;
    Data<Elem::f32> plain({h, w}), filled({h, w}), masked({h, w}), both({h, w});
    Kernel k{"boxes"};
    const Index m = k.dim("M"), n = k.dim("N");
    const Tensor tx = k.tensor<float>("x", {m, n}), ty = k.tensor<float>("y", {m, n});
    const Tensor outs[] = {k.tensor<float>("a", {h, w}), k.tensor<float>("b", {h, w}), k.tensor<float>("c", {h, w}),
                           k.tensor<float>("d", {h, w})};
    const Index r = k.scalar<int32_t>("r"), c = k.scalar<int32_t>("c0");
    in_task(k, [&](Task& t) {
      const Tile even = (t.iota({h, w}, 0) + t.iota({h, w}, 1)) % 2 == 0;
      outs[0].store({0, 0}, tx.load_tile({r, c}, {h, w}));
      outs[1].store({0, 0}, tx.load_tile({r, c}, {h, w}, {.other = -1.0f}));
      outs[2].store({0, 0}, tx.load_tile({r, c}, {h, w}, {.mask = even}));
      outs[3].store({0, 0}, tx.load_tile({r, c}, {h, w}, {.mask = even, .other = -2.0f}));
      ty.store({r, c}, t.full<float>({h, w}, 7), {.mask = even});
    });
    TLXJIT_MUST(run(k, {x.argument(), y.argument(), plain, filled, masked, both, Argument(row), Argument(column)}));
    for (int64_t i = 0; i < h; ++i)
      for (int64_t j = 0; j < w; ++j) {
        const int64_t gi = row + i, gj = column + j, at = i * w + j;
        const bool there = x.has(gi, gj), even = (i + j) % 2 == 0;
        ASSERT_EQ(plain[at], there ? x.at(gi, gj) : 0) << i << " " << j;
        ASSERT_EQ(filled[at], there ? x.at(gi, gj) : -1);
        ASSERT_EQ(masked[at], there && even ? x.at(gi, gj) : 0);
        ASSERT_EQ(both[at], there && even ? x.at(gi, gj) : -2);
        if (y.has(gi, gj) && even) before.at(gi, gj) = 7;
      }
    ASSERT_EQ(std::memcmp(before.data.data(), y.data.data(), y.data.size() * sizeof(float)), 0) << "stores outside";
  });
}

TEST(Access, GathersAndScattersByWildIndices) {
  draws(6, [](Random& random) {
    const int64_t rows = random.integer(1, 20), columns = random.integer(1, 20), n = random.integer(1, 70);
    Matrix x(rows, columns, columns + random.integer(0, 5)), y(rows, columns, columns + random.integer(0, 5));
    x.fill(1);
    Matrix before = y;
    Data<Elem::i32> is({n});
    Data<Elem::i64> js({n});
    Data<Elem::f32> plain({n}), filled({n});
    for (int32_t& v : is.data)
      v = static_cast<int32_t>(random.among<int64_t>({random.integer(-3, rows + 2), INT32_MIN, INT32_MAX}));
    for (int64_t& v : js.data)
      v = random.among<int64_t>(
          {random.integer(-3, columns + 2), random.integer(0, columns - 1), INT64_MIN, int64_t{1} << 32});
    Kernel k{"gather"};
    const Index m = k.dim("M"), w = k.dim("N");
    const Tensor tx = k.tensor<float>("x", {m, w}), ty = k.tensor<float>("y", {m, w}), ti = k.tensor<int32_t>("i", {n}),
                 tj = k.tensor<int64_t>("j", {n}), tp = k.tensor<float>("p", {n}), tf = k.tensor<float>("f", {n});
    in_task(k, [&](Task& t) {
      const Tile i = ti.load_tile({0}, {n}), j = tj.load_tile({0}, {n}), low = t.iota({n}, 0) < int(n / 2);
      const Tile found = tx.load_at({i, j});
      tp.store({0}, found);
      tf.store({0}, tx.load_at({i, j}, {.mask = low, .other = 5.0f}));
      ty.store_at({i, j}, i.to<float>(), {.mask = low});
    });
    TLXJIT_MUST(run(k, {x.argument(), y.argument(), is, js, plain, filled}));
    for (int64_t e = 0; e < n; ++e) {
      const bool there = x.has(is[e], js[e]);
      ASSERT_EQ(plain[e], there ? x.at(is[e], js[e]) : 0) << e;
      ASSERT_EQ(filled[e], there && e < n / 2 ? x.at(is[e], js[e]) : 5) << e;
      if (there && e < n / 2) before.at(is[e], js[e]) = static_cast<float>(is[e]);
    }
    ASSERT_EQ(std::memcmp(before.data.data(), y.data.data(), y.data.size() * sizeof(float)), 0) << "stores outside";
  });
}

// What lies behind a window and what an axis was fixed to, for all kinds of access.
TEST(Access, ViewsOfTensors) {
  draws(4, [](Random& random) {
    const int64_t batch = random.integer(1, 4), rows = random.integer(4, 20), columns = random.integer(2, 12);
    const auto which = static_cast<int32_t>(random.integer(0, batch - 1));
    const auto from = static_cast<int32_t>(random.integer(0, rows - 1));
    const auto count = static_cast<int32_t>(random.integer(0, rows + 2));
    const int64_t h = 8, w = 9;
    Data<Elem::f32> x({batch, rows, columns}), box({h, w}), at({h, w}), y({batch, rows, columns}), one({1});
    for (int64_t i = 0; i < batch * rows * columns; ++i) x[i] = static_cast<float>(i + 1), y[i] = 0;
    Data<Elem::f32> stores = y;
    Kernel k{"views"};
    const Tensor tx = k.tensor<float>("x", {batch, rows, columns}), tb = k.tensor<float>("b", {h, w}),
                 ta = k.tensor<float>("a", {h, w}), ty = k.tensor<float>("y", {batch, rows, columns}),
                 to = k.tensor<float>("o", {1});
    const Index b = k.scalar<int32_t>("batch"), first = k.scalar<int32_t>("first"),
                extent = k.scalar<int32_t>("extent");
    in_task(k, [&](Task& t) {
      const Tensor view = tx.at(0, b).window(0, first, extent), out = ty.at(0, b).window(0, first, extent);
      const Tile everywhere = t.full<bool>({h, w}, true);
      const Tile i = t.iota({h}, 0) - 2, j = t.iota({w}, 0);
      tb.store({0, 0}, view.load_tile({0, 0}, {h, w}));
      ta.store({0, 0}, view.load_at({i.expand(1), j.expand(0)}));
      out.store({0, 0}, t.full<float>({h, w}, 3), {.mask = everywhere});
      out.store_at({i.expand(1), j.expand(0)}, t.full<float>({h, w}, 4));
      (void)out.atomic(Atomic::add, {i.expand(1), j.expand(0)}, 1.0f);
      to.store({0}, t.full<float>({1}, tx.at(0, b).load({0, 1})));
    });
    TLXJIT_MUST(run(k, {x, box, at, y, one, Argument(which), Argument(from), Argument(count)}));
    EXPECT_EQ(one[0], x[which * rows * columns + 1]);
    const auto place = [&](int64_t i, int64_t j) -> int64_t {
      if (i < 0 || i >= count || from + i >= rows || j < 0 || j >= columns) return -1;
      return (which * rows + from + i) * columns + j;
    };
    for (int64_t i = 0; i < h; ++i)
      for (int64_t j = 0; j < w; ++j) {
        const int64_t p = place(i, j), q = place(i - 2, j);
        ASSERT_EQ(box[i * w + j], p < 0 ? 0 : x[p]) << i << " " << j;
        ASSERT_EQ(at[i * w + j], q < 0 ? 0 : x[q]) << i << " " << j;
        if (p >= 0 && stores[p] == 0) stores[p] = 3;
        if (q >= 0) stores[q] = 5;
      }
    ASSERT_EQ(stores.data, y.data);
  });
}

TEST(Access, BL_109_AddressesOf64Bits) {
  // 2.5 GB of address space, of which a page is used.
  const int64_t rows = 320, stride = 7864320, bytes = rows * stride;
  void* memory = mmap(nullptr, static_cast<size_t>(bytes), PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  static_cast<int8_t*>(memory)[319 * stride + 1] = 77;
  TensorArg x = tensor<int8_t>(memory, {rows, stride});
  Data<Elem::i8> out({3});
  Kernel k{"far"};
  const Index n = k.dim("N");
  const Tensor tx = k.tensor<int8_t>("x", {rows, n}), to = k.tensor<int8_t>("o", {3});
  in_task(k, [&](Task& t) {
    to.store({0}, tx.load_at({t.full<int32_t>({1}, 319), 1}));
    to.store({1}, reshape(tx.load_tile({319, 1}, {1, 1}), {1}));
    to.store({2}, t.full<int8_t>({1}, tx.load({319, 1})));
  });
  const auto done = run(k, {x, out});
  munmap(memory, static_cast<size_t>(bytes));
  TLXJIT_MUST(done);
  EXPECT_EQ(out.data, (std::vector<int8_t>{77, 77, 77}));
}

TEST(Access, BL_129_RowsThatBeginAnywhere) {
  Matrix x(64, 4, 1185);
  Matrix before = x;
  for (int64_t i = 0; i < 64; ++i)
    for (int64_t j = 0; j < 4; ++j) before.at(i, j) = static_cast<float>(j);
  Kernel k{"rows"};
  const Index m = k.dim("M");
  const Tensor tx = k.tensor<float>("x", {m, 4});
  in_task(k, [&](Task& t) { tx.store({0, 0}, t.iota({64, 4}, 1).to<float>()); });
  TLXJIT_MUST(run(k, {x.argument()}));
  EXPECT_EQ(std::memcmp(before.data.data(), x.data.data(), x.data.size() * sizeof(float)), 0);
}

TEST(Access, BL_251_MaskedOffIsZero) {
  Data<Elem::f32> x({100}), out({2});
  for (int64_t i = 0; i < 100; ++i) x[i] = -1;
  for (int64_t i = 50; i < 100; ++i) x[i] = NAN;
  Kernel k{"masked"};
  const Tensor tx = k.tensor<float>("x", {100}), to = k.tensor<float>("o", {2});
  in_task(k, [&](Task& t) {
    const Tile a = tx.load_tile({0}, {128}, {.mask = t.iota({128}, 0) < 50});
    to.store({0}, t.full<float>({1}, sum(a, 0)));
    to.store({1}, t.full<float>({1}, maximum(a, 0)));
  });
  TLXJIT_MUST(run(k, {x, out}));
  EXPECT_EQ(out.data, (std::vector<float>{-50, 0}));
}

/// Rows and columns that the masks leave out hold NaN, and are 0 in the product: as a tile that is an operand, and as
/// one stored to shared memory for the other.
TEST(Access, BL_251_MaskedOffIsZeroInADot) {
  Data<Elem::f32> a({16, 32}), b({32, 16}), out({16, 16});
  for (int64_t i = 0; i < 16; ++i)
    for (int64_t l = 0; l < 32; ++l) {
      a[32 * i + l] = l < 20 && i < 9 ? static_cast<float>(i + l) : NAN;
      b[16 * l + i] = l < 20 && i < 5 ? static_cast<float>(i - l) : NAN;
    }
  Kernel k{"masked"};
  const Tensor ta = k.tensor<float>("a", {16, 32}), tb = k.tensor<float>("b", {32, 16}),
               to = k.tensor<float>("o", {16, 16});
  const SharedBuffer shared = k.buffer<float>(1, {32, 16});
  in_task(k, [&](Task& t) {
    const Tile i = t.iota({16, 32}, 0), l = t.iota({16, 32}, 1);
    const Tile x = ta.load_tile({0, 0}, {16, 32}, {.mask = (i < 9) & (l < 20)});
    const Tile row = t.iota({32, 16}, 0), column = t.iota({32, 16}, 1);
    shared[0].store(tb.load_at({row, column}, {.mask = (row < 20) & (column < 5)}));
    t.sync();
    const Accumulator sums = t.accumulator<float>({16, 16});
    sums.dot(x, shared[0]);
    to.store({0, 0}, sums.read());
  });
  TLXJIT_MUST(run(k, {a, b, out}));
  for (int64_t i = 0; i < 16; ++i)
    for (int64_t j = 0; j < 16; ++j) {
      float exact = 0;  // whole numbers
      for (int64_t l = 0; l < 20 && i < 9 && j < 5; ++l) exact += static_cast<float>((i + l) * (j - l));
      ASSERT_EQ(out[16 * i + j], exact) << i << ", " << j;
    }
}

}  // namespace
}  // namespace tiles_test
