// tests/unit/cpu/dot_test.cpp — dots of all element types and of odd extents against float64 and integers.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <array>
#include <cstring>
#include <limits>
#include <random>

#include "tests/reference/gemm.h"
#include "tests/reference/tolerance.h"
#include "tests/support/seeds.h"
#include "tests/unit/runtime/engine_fixture.h"

namespace tlxjit::runtime_test {
namespace {

struct Extents {
  int m, n, k;
  int steps;                // dots of depth k that are added up
  bool b_rows_are_columns;  // b lies as [n, k]
};

template <class A, class B, class Sum>
Kernel product(const Extents& e, DotPrecision precision = DotPrecision::automatic) {
  Kernel k{"product"};
  const int64_t depth = int64_t{e.k} * e.steps;
  const Index rows = k.dim("M");
  const Tensor a = k.tensor<A>("a", {rows, depth});
  const Tensor b = e.b_rows_are_columns ? k.tensor<B>("b", {e.n, depth}) : k.tensor<B>("b", {depth, e.n});
  const Tensor d = k.tensor<Sum>("d", {rows, e.n});
  k.grid(1);
  const Shape b_tile = e.b_rows_are_columns ? Shape{e.n, e.k} : Shape{e.k, e.n};
  Ring ring = k.ring(2).slot<A>("a", {e.m, e.k}).template slot<B>("b", b_tile);
  k.task(Producer).body([&] {
    k.range(e.steps).each([&](Index s) {
      auto slot = ring.acquire();
      slot.load("a", a, {0, s * e.k});
      if (e.b_rows_are_columns)
        slot.load("b", b, {0, s * e.k});
      else
        slot.load("b", b, {s * e.k, 0});
    });
  });
  k.task(Consumer).body([&](Task& t) {
    Accumulator sums = t.accumulator<Sum>({e.m, e.n});
    k.range(e.steps).each([&] {
      const Slot slot = ring.wait();
      sums.dot(slot["a"], e.b_rows_are_columns ? slot["b"].t() : slot["b"], precision);
    });
    d.store({0, 0}, sums.read());
  });
  return k;
}

template <class T>
constexpr bool is_f8 = std::is_same_v<T, f8e4m3> || std::is_same_v<T, f8e5m2>;

/// To nearest even with 11 bits, of a number that is not subnormal.
double tf32(float x) {
  int exponent = 0;
  const double fraction = std::frexp(static_cast<double>(x), &exponent);
  return std::ldexp(std::nearbyint(std::ldexp(fraction, 11)), exponent - 11);
}

struct Dot : EngineTest {
  std::mt19937 random;

  int integer(int low, int high) { return low + static_cast<int>(random() % static_cast<unsigned>(high - low + 1)); }

  /// `extreme`: the numbers whose products are the largest.
  template <class T>
  std::vector<T> numbers(size_t count, bool extreme) {
    std::vector<T> out(count);
    for (T& x : out)
      if constexpr (std::is_integral_v<T>)
        x = extreme ? (std::is_signed_v<T> ? std::numeric_limits<T>::min() : std::numeric_limits<T>::max())
                    : static_cast<T>(random());
      else
        x = static_cast<float>(integer(-1000, 1000)) / 300.f;
    if constexpr (is_f8<T>)
      for (size_t i = 0; i < count; i += 2) out[i] = any_finite<T>();
    return out;
  }

  /// Out of all codes, subnormal numbers too.
  template <class T>
  T any_finite() {
    T x;
    do x.bits = static_cast<uint8_t>(random());
    while (!std::isfinite(static_cast<float>(x)));
    return x;
  }

  template <class A, class B, class Sum>
  void check(const Extents& e, bool extreme = false, DotPrecision precision = DotPrecision::automatic) {
    SCOPED_TRACE(::testing::Message() << to_string(elem_of<A>) << ' ' << to_string(elem_of<B>) << ' ' << e.m << "×"
                                      << e.n << "×" << e.k << ", " << e.steps << " steps, b "
                                      << (e.b_rows_are_columns ? "[n, k]" : "[k, n]"));
    const auto m = static_cast<size_t>(e.m), n = static_cast<size_t>(e.n), depth = static_cast<size_t>(e.k * e.steps);
    auto a = numbers<A>(m * depth, extreme);
    auto b = numbers<B>(n * depth, extreme);
    std::vector<Sum> d(m * n);
    std::memset(static_cast<void*>(d.data()), 0xff, d.size() * sizeof(Sum));
    const auto exe = engine.compile(product<A, B, Sum>(e, precision), device);
    TLXJIT_MUST(exe);
    const int64_t am = e.m, bn = e.n, kk = static_cast<int64_t>(depth);
    const TensorArg right = e.b_rows_are_columns ? tensor<B>(b.data(), {bn, kk}) : tensor<B>(b.data(), {kk, bn});
    const auto done = exe->launch({tensor<A>(a.data(), {am, kk}), right, tensor<Sum>(d.data(), {am, bn})});
    TLXJIT_MUST(done);
    for (size_t i = 0; i < m; ++i)
      for (size_t j = 0; j < n; ++j) {
        const auto x = [&](int64_t k) { return a[i * depth + static_cast<size_t>(k)]; };
        const auto y = [&](int64_t k) {
          return e.b_rows_are_columns ? b[j * depth + static_cast<size_t>(k)] : b[static_cast<size_t>(k) * n + j];
        };
        if constexpr (std::is_integral_v<A>) {
          int64_t sum = 0;
          for (int64_t k = 0; k < kk; ++k) sum += int64_t{x(k)} * int64_t{y(k)};
          ASSERT_EQ(d[i * n + j], sum) << "at " << i << ", " << j;
        } else {
          const auto as = [&](float v) { return precision == DotPrecision::tf32 ? tf32(v) : static_cast<double>(v); };
          const reference::Sum sum = reference::dot(
              kk, [&](int64_t k) { return as(float(x(k))); }, [&](int64_t k) { return as(float(y(k))); });
          // Of tf32x3 three products stand for one; their factors are rounded twice, and the least product is left out.
          const bool thrice = precision == DotPrecision::tf32x3;
          const double factors = thrice ? 3 * reference::roundoff_tf32 * reference::roundoff_tf32 : 0;
          const double allowed = reference::tolerance(
              sum.value, sum.magnitude, static_cast<double>(thrice ? 3 * kk : kk), reference::roundoff_f32, factors);
          ASSERT_LE(std::abs(static_cast<double>(d[i * n + j]) - sum.value), allowed) << "at " << i << ", " << j;
        }
      }
  }

  template <class A, class B, class Sum>
  void sweep(DotPrecision precision = DotPrecision::automatic) {
    // Depths and widths of no whole vector, single rows and columns, head sizes.
    for (bool rows_are_columns : {true, false}) {
      for (const auto& [m, n, k] :
           {std::array{1, 72, 80}, {8, 80, 72}, {7, 1, 5}, {33, 40, 96}, {19, 97, 31}, {64, 192, 64}})
        check<A, B, Sum>({m, n, k, 2, rows_are_columns}, false, precision);
      for (const uint64_t seed : seeds(2)) {
        SCOPED_TRACE(::testing::Message() << "seed " << seed);
        random.seed(seed);
        check<A, B, Sum>({integer(1, 70), integer(1, 100), integer(1, 150), integer(1, 3), rows_are_columns}, false,
                         precision);
      }
    }
  }
};

TEST_F(Dot, F32) { sweep<float, float, float>(); }
TEST_F(Dot, Bf16) { sweep<bf16, bf16, float>(); }
TEST_F(Dot, F16) { sweep<f16, f16, float>(); }

TEST_F(Dot, I8) {
  sweep<int8_t, int8_t, int32_t>();
  // Products are added in f32 as long as that is exact: here one more would not be.
  for (int k : {1024, 1025, 2050}) check<int8_t, int8_t, int32_t>({3, 20, k, 1, true}, true);
}

TEST_F(Dot, U8) {
  sweep<uint8_t, uint8_t, int32_t>();
  for (int k : {258, 259, 600}) check<uint8_t, uint8_t, int32_t>({3, 20, k, 1, false}, true);
}

TEST_F(Dot, Tf32RoundsTheOperands) {
  sweep<float, float, float>(DotPrecision::tf32);
  sweep<float, float, float>(DotPrecision::tf32x3);
  sweep<float, float, float>(DotPrecision::ieee);
  // One product each: the bits that are rounded away, or not.
  for (const auto precision : {DotPrecision::ieee, DotPrecision::tf32, DotPrecision::tf32x3})
    check<float, float, float>({40, 40, 1, 1, true}, false, precision);
}

TEST_F(Dot, F8) {
  sweep<f8e4m3, f8e4m3, float>();
  sweep<f8e5m2, f8e5m2, float>(DotPrecision::full);
  sweep<f8e4m3, f8e5m2, float>();
  sweep<f8e5m2, f8e4m3, float>(DotPrecision::fast);
}

// Sums of f32: 14 bits, which some hardware keeps, would lose the ones.
TEST_F(Dot, F8SumsAreNotRoundedToFewerBits) {
  const int64_t depth = 1024;
  std::vector<f8e4m3> a(depth), b(depth);
  for (size_t i = 0; i < a.size(); ++i) a[i] = i == 0 ? 256.f : 1.f, b[i] = i == 0 ? 256.f : 1.f;
  const auto exe = engine.compile(product<f8e4m3, f8e4m3, float>({1, 1, depth, 1, true}), device);
  TLXJIT_MUST(exe);
  std::vector<float> d(1, NAN);
  TLXJIT_MUST(exe->launch(
      {tensor<f8e4m3>(a.data(), {1, depth}), tensor<f8e4m3>(b.data(), {1, depth}), tensor<float>(d.data(), {1, 1})}));
  EXPECT_EQ(d[0], 65536.f + 1023);
}

TEST_F(Dot, F8InfinitiesAndNaN) {
  const float inf = INFINITY;
  const std::vector<f8e5m2> b(64, 1.f);
  std::vector<f8e5m2> a(3 * 64, 1.f);
  a[5].bits = 0x7c;         // inf
  a[64 + 9].bits = 0xfc;    // -inf
  a[128 + 63].bits = 0x7e;  // NaN
  const auto exe = engine.compile(product<f8e5m2, f8e5m2, float>({3, 1, 64, 1, true}), device);
  TLXJIT_MUST(exe);
  std::vector<float> d(3, 0.f);
  TLXJIT_MUST(exe->launch(
      {tensor<f8e5m2>(a.data(), {3, 64}), tensor<f8e5m2>(b.data(), {1, 64}), tensor<float>(d.data(), {3, 1})}));
  EXPECT_EQ(d[0], inf);
  EXPECT_EQ(d[1], -inf);
  EXPECT_TRUE(std::isnan(d[2]));
}

// What a kernel casts itself: operand a a tile, operand b in a buffer made by hand.
TEST_F(Dot, F8OfTiles) {
  constexpr int64_t m = 24, n = 40, depth = 48;
  Kernel k{"quantised"};
  const Tensor a = k.tensor<float>("a", {m, depth}), b = k.tensor<float>("b", {n, depth});
  const Tensor d = k.tensor<float>("d", {m, n});
  SharedBuffer slot = k.buffer<f8e5m2>(1, {n, depth});
  k.grid(1);
  k.task("main").body([&](Task& t) {
    Accumulator sums = t.accumulator<float>({m, n});
    slot[0].store(b.load_tile({0, 0}, {n, depth}).to<f8e5m2>());
    k.fence();
    sums.dot(a.load_tile({0, 0}, {m, depth}).to<f8e4m3>(), slot[0].t());
    d.store({0, 0}, sums.read());
  });
  random.seed(7);
  auto x = numbers<float>(m * depth, false), y = numbers<float>(n * depth, false);
  std::vector<float> out(m * n, NAN);
  const auto exe = engine.compile(k, device);
  TLXJIT_MUST(exe);
  TLXJIT_MUST(exe->launch(
      {tensor<float>(x.data(), {m, depth}), tensor<float>(y.data(), {n, depth}), tensor<float>(out.data(), {m, n})}));
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) {
      const auto row = [&](int64_t at) { return float(f8e4m3(x[static_cast<size_t>(i * depth + at)])); };
      const auto column = [&](int64_t at) { return float(f8e5m2(y[static_cast<size_t>(j * depth + at)])); };
      const reference::Sum sum = reference::dot(depth, row, column);
      ASSERT_LE(std::abs(static_cast<double>(out[static_cast<size_t>(i * n + j)]) - sum.value),
                reference::tolerance(sum.value, sum.magnitude, static_cast<double>(depth), reference::roundoff_f32))
          << "at " << i << ", " << j;
    }
}

template <class A, class B, class Sum>
std::string fault(DotPrecision precision = DotPrecision::automatic) {
  const auto module = product<A, B, Sum>({8, 16, 16, 1, true}, precision).module();
  return module ? std::string("none") : module.error().message;
}

TEST_F(Dot, IntegersAreSummedInI32AndFloatsInF32) {
  EXPECT_EQ((fault<int8_t, int8_t, float>()), "dot: sums of i8 are i32, not f32");
  EXPECT_EQ((fault<float, float, int32_t>()), "dot: sums of f32 are f32, not i32");
  EXPECT_EQ((fault<f8e4m3, f8e5m2, int32_t>()), "dot: sums of f8e4m3 are f32, not i32");
  EXPECT_EQ((fault<double, double, float>()), "dot: multiplies i8, u8, f8e4m3, f8e5m2, f16, bf16 or f32, not f64");
  EXPECT_EQ((fault<int32_t, int32_t, int32_t>()), "dot: multiplies i8, u8, f8e4m3, f8e5m2, f16, bf16 or f32, not i32");
  EXPECT_EQ((fault<int8_t, int8_t, int16_t>()), "accumulator: sums in f32 or i32, not in i16");
  EXPECT_EQ((fault<f8e4m3, bf16, float>()),
            "dot: a and b have one element type, or each one of f8: view<8x16xf8e4m3> and view<16x16xbf16>");
  EXPECT_EQ((fault<f16, bf16, float>()),
            "dot: a and b have one element type, or each one of f8: view<8x16xf16> and view<16x16xbf16>");
}

TEST_F(Dot, PrecisionGoesWithTheElements) {
  using P = DotPrecision;
  EXPECT_EQ((fault<float, float, float>(P::fast)), "dot: precision of f32 is ieee, tf32x3 or tf32, not fast");
  EXPECT_EQ((fault<f8e4m3, f8e4m3, float>(P::tf32)), "dot: precision of f8e4m3 is full or fast, not tf32");
  EXPECT_EQ((fault<f8e5m2, f8e4m3, float>(P::ieee)), "dot: precision of f8e5m2 is full or fast, not ieee");
  EXPECT_EQ((fault<bf16, bf16, float>(P::full)), "dot: a product of bf16 has one precision: leave it out");
  EXPECT_EQ((fault<int8_t, int8_t, int32_t>(P::ieee)), "dot: a product of i8 has one precision: leave it out");
}

TEST_F(Dot, HopperRefusesIntegersF8AndF32ByName) {
  const auto hopper = engine.device("sm_90a");
  TLXJIT_MUST(hopper);
  const Extents e{64, 64, 128, 1, true};
  for (const Kernel& k : {product<int8_t, int8_t, int32_t>(e), product<f8e4m3, f8e4m3, float>(e),
                          product<f8e5m2, f8e4m3, float>(e), product<float, float, float>(e, DotPrecision::tf32)}) {
    const auto exe = engine.compile(k, *hopper);
    ASSERT_FALSE(exe);
    EXPECT_EQ(exe.error().kind, ErrorKind::user) << to_string(exe.error());
    EXPECT_EQ(exe.error().message, "dot: operands are bf16 or f16, sums f32, on this target");
    EXPECT_THAT(exe.error().location.file, ::testing::HasSubstr("dot_test.cpp")) << to_string(exe.error());
  }
}

}  // namespace
}  // namespace tlxjit::runtime_test
