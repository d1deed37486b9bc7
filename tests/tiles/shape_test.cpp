// tests/tiles/shape_test.cpp — tiles rearranged: any shape, any element type.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <algorithm>
#include <numeric>

#include "tests/tiles/fixture.h"

namespace tiles_test {
namespace {

template <Elem E>
void fill(Data<E>& x, Random& random) {
  for (Host<E>& v : x.data) {
    if constexpr (E == Elem::b1)
      v = static_cast<uint8_t>(random.integer(0, 1));
    else
      v = Host<E>(static_cast<float>(random.integer(is_unsigned_int(E) ? 0 : -100, 100)));
  }
}

/// transpose takes its order as a list in braces.
Tile transposed(const Tile& x, const std::vector<int64_t>& o) {
  switch (o.size()) {
    case 1: return transpose(x, {o[0]});
    case 2: return transpose(x, {o[0], o[1]});
    case 3: return transpose(x, {o[0], o[1], o[2]});
    case 4: return transpose(x, {o[0], o[1], o[2], o[3]});
    default: return transpose(x, {o[0], o[1], o[2], o[3], o[4]});
  }
}
Tile sliced(const Tile& x, const std::vector<int64_t>& o, const Shape& shape) {
  switch (o.size()) {
    case 1: return slice(x, {o[0]}, shape);
    case 2: return slice(x, {o[0], o[1]}, shape);
    case 3: return slice(x, {o[0], o[1], o[2]}, shape);
    case 4: return slice(x, {o[0], o[1], o[2], o[3]}, shape);
    default: return slice(x, {o[0], o[1], o[2], o[3], o[4]}, shape);
  }
}

template <Elem E>
void all_ops(Random& random) {
  const Extents shape = random.extents(1, 5, 2048);
  const auto rank = shape.size();
  std::vector<int64_t> order(rank), offsets(rank);
  std::iota(order.begin(), order.end(), 0);
  for (size_t i = rank; i > 1; --i)
    std::swap(order[i - 1], order[static_cast<size_t>(random.integer(0, int64_t(i) - 1))]);
  Extents turned(rank), cut(rank);
  for (size_t i = 0; i < rank; ++i) {
    turned[i] = shape[static_cast<size_t>(order[i])];
    offsets[i] = random.integer(0, shape[i] - 1);
    cut[i] = random.integer(1, shape[i] - offsets[i]);
  }
  const auto axis = static_cast<size_t>(random.integer(0, static_cast<int64_t>(rank) - 1));
  Extents longer = shape, piece = shape;
  piece[axis] = cut[axis];
  longer[axis] = 2 * shape[axis] + cut[axis];
  SCOPED_TRACE(to_string(Type::tile(shape_of(shape), E)) + " axis " + std::to_string(axis));
  const int64_t n = reference::elements(shape), m = reference::elements(cut), l = reference::elements(longer);
  Data<E> x({n}), y({n}), t({n}), s({m}), c({l}), j({2 * n}), a({n}), b({n});
  fill(x, random);
  fill(y, random);

  Kernel k{"shapes"};
  const Tensor tx = k.tensor(E, "x", {n}), ty = k.tensor(E, "y", {n}), tt = k.tensor(E, "t", {n}),
               ts = k.tensor(E, "s", {m}), tc = k.tensor(E, "c", {l}), tj = k.tensor(E, "j", {2 * n}),
               ta = k.tensor(E, "a", {n}), tb = k.tensor(E, "b", {n});
  in_task(k, [&] {
    const Tile p = reshape(tx.load_tile({0}, {n}), shape_of(shape)),
               q = reshape(ty.load_tile({0}, {n}), shape_of(shape));
    tt.store({0}, reshape(transposed(p, order), {n}));
    ts.store({0}, reshape(sliced(p, offsets, shape_of(cut)), {m}));
    const Tile front = sliced(q, std::vector<int64_t>(rank, 0), shape_of(piece));
    tc.store({0}, reshape(concat({p, front, q}, static_cast<int>(axis)), {l}));
    // Of rank 5 there is no room for one more axis.
    const Tile u = rank < 5 ? p : reshape(p, {n}), v = rank < 5 ? q : reshape(q, {n});
    const Tile pairs = join(u, v);
    tj.store({0}, reshape(pairs, {2 * n}));
    const auto [first, second] = split(pairs);
    ta.store({0}, reshape(first, {n}));
    tb.store({0}, reshape(second, {n}));
  });
  TLXJIT_MUST(run(k, {x, y, t, s, c, j, a, b}));

  for (int64_t i = 0; i < n; ++i) {
    std::vector<int64_t> to = reference::position(turned, i), from(rank);
    for (size_t d = 0; d < rank; ++d) from[static_cast<size_t>(order[d])] = to[d];
    ASSERT_TRUE(same(t[i], x[reference::flat(shape, from)])) << "transpose " << i;
    ASSERT_TRUE(same(j[2 * i], x[i]) && same(j[2 * i + 1], y[i])) << "join " << i;
    ASSERT_TRUE(same(a[i], x[i]) && same(b[i], y[i])) << "split " << i;
  }
  for (int64_t i = 0; i < m; ++i) {
    std::vector<int64_t> at = reference::position(cut, i);
    for (size_t d = 0; d < rank; ++d) at[d] += offsets[d];
    ASSERT_TRUE(same(s[i], x[reference::flat(shape, at)])) << "slice " << i;
  }
  for (int64_t i = 0; i < l; ++i) {
    std::vector<int64_t> at = reference::position(longer, i);
    int64_t& k_axis = at[axis];
    Data<E>& from = k_axis < shape[axis] ? x : y;
    if (k_axis >= shape[axis]) k_axis -= shape[axis];
    if (&from == &y && k_axis >= piece[axis]) k_axis -= piece[axis];
    ASSERT_TRUE(same(c[i], from[reference::flat(shape, at)])) << "concat " << i;
  }
}

TEST(Shape, AnyShapeAndType) {
  draws(4, [](Random& random) {
    all_ops<Elem::b1>(random);
    each_number([&]<Elem E>() { all_ops<E>(random); });
  });
}

// A chain of elementwise ops on both sides of a rearrangement, in a loop with a variable.
TEST(Shape, BetweenElementwiseOpsAndVariables) {
  Data<Elem::f32> x({6, 10}), out({10, 6});
  for (int64_t i = 0; i < 60; ++i) x[i] = static_cast<float>(i);
  Kernel k{"chain"};
  const Tensor tx = k.tensor<float>("x", {6, 10}), to = k.tensor<float>("o", {10, 6});
  in_task(k, [&] {
    Tile a = tx.load_tile({0, 0}, {6, 10}) * 2.0f;
    k.range(3).each([&] {
      const Tile b = transpose(a + 1.0f) * 2.0f;
      a = transpose(b) - 1.0f;
    });
    to.store({0, 0}, transpose(a));
  });
  TLXJIT_MUST(run(k, {x, out}));
  for (int64_t i = 0; i < 60; ++i) {
    float v = static_cast<float>(i) * 2;
    for (int turn = 0; turn < 3; ++turn) v = (v + 1) * 2 - 1;
    ASSERT_EQ(out[i % 10 * 6 + i / 10], v) << i;
  }
}

// Tiles that repeat along axes of one another.
TEST(Shape, OuterSumsAndMasks) {
  draws(4, [](Random& random) {
    const int64_t m = random.integer(1, 12), n = random.integer(0, 1) ? m : random.integer(1, 12),
                  d = random.integer(1, 12);
    Data<Elem::i32> x({m}), y({n}), z({d}), plane({m, n}), cube({m, n, d});
    fill(x, random);
    fill(y, random);
    fill(z, random);
    Kernel k{"outer"};
    const Tensor tx = k.tensor<int32_t>("x", {m}), ty = k.tensor<int32_t>("y", {n}), tz = k.tensor<int32_t>("z", {d}),
                 tp = k.tensor<int32_t>("p", {m, n}), tc = k.tensor<int32_t>("c", {m, n, d});
    in_task(k, [&] {
      const Tile r = tx.load_tile({0}, {m}), c = ty.load_tile({0}, {n}), e = tz.load_tile({0}, {d});
      const Tile sums = r.expand(1) + c.expand(0);
      tp.store({0, 0}, select(r.expand(1) < c.expand(0), sums, r.expand(1) * 2 + 1));
      tc.store({0, 0, 0}, sums.expand(2) * 3 - e.expand(0).expand(0));
    });
    TLXJIT_MUST(run(k, {x, y, z, plane, cube}));
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = 0; j < n; ++j) {
        ASSERT_EQ(plane[i * n + j], x[i] < y[j] ? x[i] + y[j] : 2 * x[i] + 1) << i << ", " << j;
        for (int64_t l = 0; l < d; ++l) ASSERT_EQ(cube[(i * n + j) * d + l], 3 * (x[i] + y[j]) - z[l]) << l;
      }
  });
}

TEST(Shape, BL_101_IndexOfAFlattenedLoop) {
  Data<Elem::f32> b({5}), out({32, 32});
  for (int64_t i = 0; i < 5; ++i) b[i] = static_cast<float>(i);
  Kernel k{"index"};
  const Tensor tb = k.tensor<float>("b", {5}), to = k.tensor<float>("o", {32, 32});
  in_task(k, [&](Task& t) { to.store({0, 0}, tb.load_at({t.iota({32, 32}, 1) % 5})); });
  TLXJIT_MUST(run(k, {b, out}));
  for (int64_t i = 0; i < 1024; ++i) ASSERT_EQ(out[i], static_cast<float>(i % 32 % 5)) << i;
}

}  // namespace
}  // namespace tiles_test
