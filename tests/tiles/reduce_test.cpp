// tests/tiles/reduce_test.cpp — reductions and scans of any shape, axis and type, to the bit where sums are exact.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <functional>
#include <limits>
#include <type_traits>

#include "tests/reference/tolerance.h"
#include "tests/tiles/fixture.h"

namespace tiles_test {
namespace {

/// What the reference computes in; sums of integers are taken modulo 2^64.
template <Elem E>
using Wide = std::conditional_t<is_real<E>, double, std::conditional_t<is_signed<E>, int64_t, uint64_t>>;

template <class W>
W joined(Reduction kind, W a, W b) {
  if constexpr (std::is_same_v<W, double>) {
    if (kind == Reduction::sum) return a + b;
    if (kind == Reduction::prod) return a * b;
    return kind == Reduction::max ? std::fmax(a, b) : std::fmin(a, b);
  } else {
    const auto x = static_cast<uint64_t>(a), y = static_cast<uint64_t>(b);
    switch (kind) {
      case Reduction::sum: return static_cast<W>(x + y);
      case Reduction::prod: return static_cast<W>(x * y);
      case Reduction::max: return std::max(a, b);
      case Reduction::min: return std::min(a, b);
      case Reduction::bit_and: return static_cast<W>(x & y);
      case Reduction::bit_or: return static_cast<W>(x | y);
      case Reduction::bit_xor: return static_cast<W>(x ^ y);
    }
    return a;
  }
}

template <Elem E>
Host<E> narrow(Wide<E> x) {
  if constexpr (E == Elem::f16 || E == Elem::bf16)
    return Host<E>(static_cast<float>(x));
  else
    return static_cast<Host<E>>(x);
}

template <Elem E>
Wide<E> nothing(Reduction kind) {
  switch (kind) {
    case Reduction::prod: return 1;
    case Reduction::max:
      if constexpr (is_real<E>) return -INFINITY;
      return static_cast<Wide<E>>(std::numeric_limits<Host<E>>::min());
    case Reduction::min:
      if constexpr (is_real<E>) return INFINITY;
      return static_cast<Wide<E>>(std::numeric_limits<Host<E>>::max());
    case Reduction::bit_and: return static_cast<Wide<E>>(E == Elem::b1 ? 1 : ~uint64_t{0});
    default: return 0;
  }
}

/// Multiples of 1/8 whose sums f32 holds exactly; for products, powers of two; integers of all sizes; some NaN.
template <Elem E>
void fill(Data<E>& x, Random& random, bool powers) {
  for (Host<E>& v : x.data) {
    if constexpr (E == Elem::b1)
      v = static_cast<uint8_t>(random.integer(0, 1));
    else if constexpr (is_real<E>)
      v = Host<E>(static_cast<float>(powers ? random.among({0.5, 1.0, 2.0, -1.0, -2.0})
                                            : static_cast<double>(random.integer(-40, 40)) / 8));
    else
      v = static_cast<Host<E>>(random.integer(INT64_MIN, INT64_MAX) >> random.integer(0, 63));
  }
}

constexpr Reduction number_kinds[] = {Reduction::sum, Reduction::prod, Reduction::max, Reduction::min};
constexpr Reduction bit_kinds[] = {Reduction::bit_and, Reduction::bit_or, Reduction::bit_xor};

Tile stored(Task& t, const Tile& x, int64_t elements) {
  return x.type().is_scalar() ? t.full({1}, x.elem(), x) : reshape(x, {elements});
}

template <Elem E>
void kinds_test(Random& random, std::span<const Reduction> kinds) {
  const Extents shape = random.extents();
  const int axis = static_cast<int>(random.integer(0, static_cast<int64_t>(shape.size()) - 1));
  const ScanOptions options{random.integer(0, 1) == 1, random.integer(0, 1) == 1};
  const int64_t n = reference::elements(shape), lines = n / shape[static_cast<size_t>(axis)];
  SCOPED_TRACE(std::string(to_string(E)) + " " + to_string(Type::tile(shape_of(shape), E)) + " axis " +
               std::to_string(axis) + (options.exclusive ? " exclusive" : "") + (options.reverse ? " reverse" : ""));
  Data<E> x({n}), powers({n});
  fill(x, random, false);
  fill(powers, random, true);
  std::vector<Data<E>> reduced(kinds.size(), Data<E>({lines})), scanned(kinds.size(), Data<E>({n}));

  Kernel k{"kinds"};
  const Tensor tx = k.tensor(E, "x", {n}), tp = k.tensor(E, "p", {n});
  std::vector<Tensor> outs;
  for (size_t i = 0; i < 2 * kinds.size(); ++i)
    outs.push_back(k.tensor(E, "out" + std::to_string(i), {i % 2 ? n : lines}));
  in_task(k, [&](Task& t) {
    const Tile a = reshape(tx.load_tile({0}, {n}), shape_of(shape));
    const Tile b = reshape(tp.load_tile({0}, {n}), shape_of(shape));
    for (size_t i = 0; i < kinds.size(); ++i) {
      const Tile& from = kinds[i] == Reduction::prod ? b : a;
      outs[2 * i].store({0}, stored(t, reduce(from, axis, kinds[i]), lines));
      outs[2 * i + 1].store({0}, reshape(scan(from, axis, kinds[i], options), {n}));
    }
  });
  std::vector<Argument> arguments = {x, powers};
  for (size_t i = 0; i < kinds.size(); ++i) arguments.insert(arguments.end(), {reduced[i], scanned[i]});
  TLXJIT_MUST(run(k, arguments));

  for (size_t i = 0; i < kinds.size(); ++i) {
    const Reduction kind = kinds[i];
    Data<E>& from = kind == Reduction::prod ? powers : x;
    reference::lines(shape, axis, [&](int64_t line, std::vector<int64_t> places) {
      Wide<E> all = nothing<E>(kind);
      for (int64_t at : places) all = joined<Wide<E>>(kind, all, static_cast<Wide<E>>(from[at]));
      ASSERT_TRUE(same(reduced[i][line], narrow<E>(all))) << "kind " << i << " line " << line;
      if (options.reverse) std::reverse(places.begin(), places.end());
      all = nothing<E>(kind);
      for (int64_t at : places) {
        const Wide<E> after = joined<Wide<E>>(kind, all, static_cast<Wide<E>>(from[at]));
        ASSERT_TRUE(same(scanned[i][at], narrow<E>(options.exclusive ? all : after))) << "kind " << i << " at " << at;
        all = after;
      }
    });
  }
}

TEST(Reduce, NumbersOfAnyShape) {
  draws(3, [](Random& random) { each_number([&]<Elem E>() { kinds_test<E>(random, number_kinds); }); });
}

TEST(Reduce, BitsOfAnyShape) {
  draws(3, [](Random& random) {
    kinds_test<Elem::b1>(random, bit_kinds);
    kinds_test<Elem::i8>(random, bit_kinds);
    kinds_test<Elem::u16>(random, bit_kinds);
    kinds_test<Elem::i32>(random, bit_kinds);
    kinds_test<Elem::u64>(random, bit_kinds);
  });
}

TEST(Reduce, RealSums) {
  draws(6, [](Random& random) {
    const int64_t rows = random.integer(1, 40), columns = random.integer(1, 900);
    SCOPED_TRACE(std::to_string(rows) + " x " + std::to_string(columns));
    Data<Elem::f32> x({rows, columns}), across({rows}), down({columns}), running({rows, columns});
    for (float& v : x.data) v = static_cast<float>(random.real());
    Kernel k{"sums"};
    const Tensor tx = k.tensor<float>("x", {rows, columns}), ta = k.tensor<float>("a", {rows}),
                 td = k.tensor<float>("d", {columns}), tr = k.tensor<float>("r", {rows, columns});
    in_task(k, [&] {
      const Tile a = tx.load_tile({0, 0}, {rows, columns});
      ta.store({0}, sum(a, 1));
      td.store({0}, sum(a, 0));
      tr.store({0, 0}, cumsum(a, 1));
    });
    TLXJIT_MUST(run(k, {x, across, down, running}));
    const auto near = [](float got, double exact, double magnitude, int64_t terms) {
      ASSERT_NEAR(got, exact,
                  reference::tolerance(exact, magnitude, static_cast<double>(terms), reference::roundoff_f32));
    };
    for (int axis : {0, 1})
      reference::lines({rows, columns}, axis, [&](int64_t line, const std::vector<int64_t>& places) {
        double exact = 0, magnitude = 0;
        for (size_t i = 0; i < places.size(); ++i) {
          exact += x[places[i]];
          magnitude += std::abs(x[places[i]]);
          if (axis == 1) near(running[places[i]], exact, magnitude, static_cast<int64_t>(i) + 1);
        }
        near(axis == 1 ? across[line] : down[line], exact, magnitude, static_cast<int64_t>(places.size()));
      });
  });
}

template <Elem E>
void arg_test(Random& random) {
  const Extents shape = random.extents();
  const int axis = static_cast<int>(random.integer(0, static_cast<int64_t>(shape.size()) - 1));
  const int64_t n = reference::elements(shape), lines = n / shape[static_cast<size_t>(axis)];
  SCOPED_TRACE(to_string(Type::tile(shape_of(shape), E)) + " axis " + std::to_string(axis));
  Data<E> x({n});
  const double nans = random.among({0.0, 0.3, 1.0});
  for (Host<E>& v : x.data) {  // few values, so that there are ties
    v = Host<E>(static_cast<float>(random.integer(is_unsigned_int(E) ? 0 : -3, 3)));
    if constexpr (is_real<E>)
      if (random.real(0, 1) < nans) v = Host<E>(NAN);
  }
  Data<Elem::i32> most({lines}), least({lines}), by_pairs({lines});
  Data<E> best({lines});
  Kernel k{"arg"};
  const Tensor tx = k.tensor(E, "x", {n}), tm = k.tensor<int32_t>("m", {lines}), tl = k.tensor<int32_t>("l", {lines}),
               tp = k.tensor<int32_t>("p", {lines}), tb = k.tensor(E, "b", {lines});
  in_task(k, [&](Task& t) {
    const Tile a = reshape(tx.load_tile({0}, {n}), shape_of(shape));
    tm.store({0}, stored(t, argmax(a, axis), lines));
    tl.store({0}, stored(t, argmin(a, axis), lines));
    // The same by hand, on pairs of a value and its index.
    const auto pairs = reduce({a, t.iota(shape_of(shape), axis)}, axis,
                              [](const std::vector<Tile>& x, const std::vector<Tile>& y) -> std::vector<Tile> {
                                Tile better = y[0] > x[0];
                                better = better | ((x[0] != x[0]) & (y[0] == y[0]));
                                return {select(better, y[0], x[0]), select(better, y[1], x[1])};
                              });
    ASSERT_EQ(pairs.size(), 2u);
    tb.store({0}, stored(t, pairs[0], lines));
    tp.store({0}, stored(t, pairs[1], lines));
  });
  TLXJIT_MUST(run(k, {x, most, least, by_pairs, best}));
  reference::lines(shape, axis, [&](int64_t line, const std::vector<int64_t>& places) {
    size_t high = 0, low = 0;
    for (size_t i = 1; i < places.size(); ++i) {
      const auto v = static_cast<double>(x[places[i]]);
      const auto h = static_cast<double>(x[places[high]]), l = static_cast<double>(x[places[low]]);
      if (v > h || (std::isnan(h) && !std::isnan(v))) high = i;
      if (v < l || (std::isnan(l) && !std::isnan(v))) low = i;
    }
    ASSERT_EQ(most[line], static_cast<int32_t>(high)) << "line " << line;
    ASSERT_EQ(least[line], static_cast<int32_t>(low)) << "line " << line;
    ASSERT_EQ(by_pairs[line], static_cast<int32_t>(high)) << "line " << line;
    ASSERT_TRUE(same(best[line], x[places[high]])) << "line " << line;
  });
}

TEST(Reduce, WhereTheGreatestStands) {
  draws(3, [](Random& random) { each_number([&]<Elem E>() { arg_test<E>(random); }); });
}

TEST(Reduce, BL_099_ArgmaxWithNaN) {
  const float nan = NAN, inf = INFINITY;
  const struct {
    std::vector<float> x;
    int32_t most, least;
  } cases[] = {{{nan, 6, 8}, 2, 1}, {{inf, nan}, 0, 0}, {{nan, inf}, 1, 1}, {{nan, nan, nan}, 0, 0}};
  for (const auto& c : cases) {
    const auto n = static_cast<int64_t>(c.x.size());
    Data<Elem::f32> x({n}), top({1});
    x.data = c.x;
    Data<Elem::i32> out({2});
    Kernel k{"arg"};
    const Tensor tx = k.tensor<float>("x", {n}), to = k.tensor<int32_t>("o", {2}), tt = k.tensor<float>("t", {1});
    in_task(k, [&](Task& t) {
      const Tile a = tx.load_tile({0}, {n});
      to.store({0}, t.full<int32_t>({1}, argmax(a, 0)));
      to.store({1}, t.full<int32_t>({1}, argmin(a, 0)));
      tt.store({0}, t.full<float>({1}, maximum(a, 0)));
    });
    TLXJIT_MUST(run(k, {x, out, top}));
    EXPECT_EQ(out[0], c.most);
    EXPECT_EQ(out[1], c.least);
    EXPECT_TRUE(same(top[0], c.x[static_cast<size_t>(c.most)]));
  }
}

TEST(Reduce, BL_098_AnyAndAllOfBools) {
  for (int64_t where : {-1, 0, 511, 1023}) {
    Data<Elem::b1> x({1024}), y({1024}), out({4}), turned({1024});
    for (int64_t i = 0; i < 1024; ++i) x[i] = i == where, y[i] = i != where;
    Kernel k{"bools"};
    const Tensor tx = k.tensor<bool>("x", {1024}), ty = k.tensor<bool>("y", {1024}), to = k.tensor<bool>("o", {4}),
                 tt = k.tensor<bool>("t", {1024});
    k.grid(1);
    k.task("main").warps(4).body([&](Task& t) {
      const Tile a = tx.load_tile({0}, {1024}), b = ty.load_tile({0}, {1024});
      const Scalar results[] = {any(a, 0), all(a, 0), any(b, 0), all(b, 0)};
      for (int i = 0; i < 4; ++i) to.store({i}, t.full<bool>({1}, results[i]));
      tt.store({0}, reshape(transpose(reshape(a, {8, 128})), {1024}));
    });
    TLXJIT_MUST(run(k, {x, y, out, turned}));
    EXPECT_EQ(out.data, (std::vector<uint8_t>{where >= 0, 0, 1, where < 0}));
    for (int64_t i = 0; i < 1024; ++i) ASSERT_EQ(turned[i], i % 8 * 128 + i / 8 == where) << i;
  }
}

TEST(Reduce, BL_098_BoolsThroughSharedMemory) {
  for (int64_t where : {-1, 0, 511, 1023}) {
    Data<Elem::b1> x({8, 128}), out({8}), turned({128, 8}), passed({8, 128});
    for (int64_t i = 0; i < 1024; ++i) x[i] = i == where;
    Kernel k{"bools"};
    const Tensor tx = k.tensor<bool>("x", {8, 128}), to = k.tensor<bool>("o", {8}), tt = k.tensor<bool>("t", {128, 8}),
                 tp = k.tensor<bool>("p", {8, 128});
    const SharedBuffer kept = k.buffer<bool>(2, {8, 128});
    Ring ring = k.ring(2).slot<bool>("x", {8, 128}).slot<bool>("not", {8, 128});
    k.grid(1);
    k.task("producer").warps(4).body([&] {
      const Slot slot = ring.acquire();
      slot.load("x", tx, {0, 0});
      slot.store("not", !tx.load_tile({0, 0}, {8, 128}));
    });
    k.task("main").warps(4).body([&](Task& t) {
      const Slot slot = ring.wait();
      const Tile a = slot["x"].load(), b = slot["not"].load();
      kept[0].store(a);
      kept[1].store(b);
      t.sync();
      const Tile again = kept[0].load(), inverse = kept[1].load();
      int64_t at = 0;
      for (const Tile& tile : {a, b, again, inverse}) {
        const Tile flat = reshape(tile, {1024});
        to.store({at++}, t.full<bool>({1}, any(flat, 0)));
        to.store({at++}, t.full<bool>({1}, all(flat, 0)));
      }
      tt.store({0, 0}, transpose(again));
      tp.store({0, 0}, !inverse);
    });
    TLXJIT_MUST(run(k, {x, out, turned, passed}));
    const std::vector<uint8_t> of_x = {where >= 0, 0}, of_not = {1, where < 0};
    for (int64_t i = 0; i < 8; ++i) ASSERT_EQ(out[i], (i / 2 % 2 ? of_not : of_x)[size_t(i % 2)]) << where << ' ' << i;
    for (int64_t i = 0; i < 8; ++i)
      for (int64_t j = 0; j < 128; ++j) {
        ASSERT_EQ(turned[8 * j + i], 128 * i + j == where);
        ASSERT_EQ(passed[128 * i + j], 128 * i + j == where);
      }
  }
}

TEST(Reduce, BL_097_SumsOfBoolsAsABool) {
  for (int64_t n : {128, 256, 512}) {
    Data<Elem::b1> x({n}), out({3});
    std::fill(x.data.begin(), x.data.end(), uint8_t{1});
    Kernel k{"bools"};
    const Tensor tx = k.tensor<bool>("x", {n}), to = k.tensor<bool>("o", {3});
    in_task(k, [&](Task& t) {
      to.store({0}, t.full<bool>({1}, sum(tx.load_tile({0}, {n}).to<int32_t>(), 0).to<bool>()));
      to.store({1}, t.full<int32_t>({1}, 0x100).to<bool>());
      to.store({2}, t.full<int32_t>({1}, -256).to<bool>());
    });
    TLXJIT_MUST(run(k, {x, out}));
    EXPECT_EQ(out.data, (std::vector<uint8_t>{1, 1, 1})) << n;
  }
}

TEST(Reduce, BL_169_ThreeAxesToTwoToOne) {
  Data<Elem::f32> x({2, 2, 32}), out({2});
  for (int64_t i = 0; i < 128; ++i) x[i] = static_cast<float>(i * i % 97);
  Kernel k{"axes"};
  const Tensor tx = k.tensor<float>("x", {2, 2, 32}), to = k.tensor<float>("o", {2});
  in_task(k, [&] { to.store({0}, sum(sum(tx.load_tile({0, 0, 0}, {2, 2, 32}), 2), 1)); });
  TLXJIT_MUST(run(k, {x, out}));
  for (int64_t i = 0; i < 2; ++i) {
    float exact = 0;
    for (int64_t j = 0; j < 64; ++j) exact += x[64 * i + j];
    EXPECT_EQ(out[i], exact);
  }
}

// A linear recurrence y = a·y' + b as pairs (a, b): associative, and its arguments must not change places.
TEST(Reduce, ScanOfPairsKeepsTheOrder) {
  draws(3, [](Random& random) {
    const int64_t rows = random.integer(1, 9), n = random.integer(1, 40);
    const bool reverse = random.integer(0, 1) == 1;
    Data<Elem::i32> a({rows, n}), b({rows, n}), y({rows, n}), last({rows});
    for (int32_t& v : a.data) v = static_cast<int32_t>(random.integer(-3, 3));
    for (int32_t& v : b.data) v = static_cast<int32_t>(random.integer(-9, 9));
    Kernel k{"recurrence"};
    const Tensor ta = k.tensor<int32_t>("a", {rows, n}), tb = k.tensor<int32_t>("b", {rows, n}),
                 ty = k.tensor<int32_t>("y", {rows, n}), tl = k.tensor<int32_t>("l", {rows});
    in_task(k, [&] {
      const Tile x = ta.load_tile({0, 0}, {rows, n}), z = tb.load_tile({0, 0}, {rows, n});
      const JoinMany after = [](const std::vector<Tile>& p, const std::vector<Tile>& q) -> std::vector<Tile> {
        return {p[0] * q[0], q[0] * p[1] + q[1]};
      };
      ty.store({0, 0}, scan({x, z}, 1, after, {.reverse = reverse})[1]);
      tl.store({0}, reduce({x, z}, 1, after)[1]);
    });
    TLXJIT_MUST(run(k, {a, b, y, last}));
    for (int64_t i = 0; i < rows; ++i) {
      for (bool back : {false, true}) {
        uint32_t value = 0;
        for (int64_t j = 0; j < n; ++j) {
          const int64_t at = i * n + (back ? n - 1 - j : j);
          value = static_cast<uint32_t>(a[at]) * value + static_cast<uint32_t>(b[at]);
          // The first b stands alone: what was before it is 0.
          if (back == reverse) {
            ASSERT_EQ(y[at], static_cast<int32_t>(value)) << i << " " << j;
          }
        }
        if (!back) {
          ASSERT_EQ(last[i], static_cast<int32_t>(value));
        }
      }
    }
  });
}

TEST(Reduce, ARegionSeesScalarsFromOutside) {
  Data<Elem::f32> x({4, 5}), out({4});
  for (int64_t i = 0; i < 20; ++i) x[i] = static_cast<float>(i);
  Kernel k{"outside"};
  const Tensor tx = k.tensor<float>("x", {4, 5}), to = k.tensor<float>("o", {4});
  const Scalar cap = k.scalar<float>("cap");
  in_task(k, [&] {
    Scalar limit = cap + 1.0f;  // a variable
    k.range(3).each([&] { limit = limit + 1.0f; });
    to.store({0}, reduce(tx.load_tile({0, 0}, {4, 5}), 1, [&](Tile a, Tile b) {
               Tile most = max(a, b);
               most = min(most, limit);
               return most;
             }));
  });
  TLXJIT_MUST(run(k, {x, out, Argument(5.0f)}));
  EXPECT_EQ(out.data, (std::vector<float>{4, 9, 9, 9}));
}

}  // namespace
}  // namespace tiles_test
