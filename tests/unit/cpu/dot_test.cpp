// tests/unit/cpu/dot_test.cpp — dots of all element types and of odd extents against float64 and integers.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <array>
#include <chrono>
#include <cstring>
#include <limits>
#include <random>

#include "tests/reference/gemm.h"
#include "tests/reference/tolerance.h"
#include "tests/unit/runtime/engine_fixture.h"

namespace tlxjit::runtime_test {
namespace {

struct Extents {
  int m, n, k;
  int steps;                // dots of depth k that are added up
  bool b_rows_are_columns;  // b lies as [n, k]
};

template <class T, class Sum>
Kernel product(const Extents& e) {
  Kernel k{"product"};
  const int64_t depth = int64_t{e.k} * e.steps;
  const Index rows = k.dim("M");
  const Tensor a = k.tensor<T>("a", {rows, depth});
  const Tensor b = e.b_rows_are_columns ? k.tensor<T>("b", {e.n, depth}) : k.tensor<T>("b", {depth, e.n});
  const Tensor d = k.tensor<Sum>("d", {rows, e.n});
  k.grid(1);
  const Shape b_tile = e.b_rows_are_columns ? Shape{e.n, e.k} : Shape{e.k, e.n};
  Ring ring = k.ring(2).slot<T>("a", {e.m, e.k}).template slot<T>("b", b_tile);
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
      sums.dot(slot["a"], e.b_rows_are_columns ? slot["b"].t() : slot["b"]);
    });
    d.store({0, 0}, sums.read());
  });
  return k;
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
    return out;
  }

  template <class T, class Sum>
  void check(const Extents& e, bool extreme = false) {
    SCOPED_TRACE(::testing::Message() << to_string(elem_of<T>) << ' ' << e.m << "×" << e.n << "×" << e.k << ", "
                                      << e.steps << " steps, b " << (e.b_rows_are_columns ? "[n, k]" : "[k, n]"));
    const auto m = static_cast<size_t>(e.m), n = static_cast<size_t>(e.n), depth = static_cast<size_t>(e.k * e.steps);
    auto a = numbers<T>(m * depth, extreme), b = numbers<T>(n * depth, extreme);
    std::vector<Sum> d(m * n);
    std::memset(static_cast<void*>(d.data()), 0xff, d.size() * sizeof(Sum));
    const auto exe = engine.compile(product<T, Sum>(e), device);
    TLXJIT_MUST(exe);
    const int64_t am = e.m, bn = e.n, kk = static_cast<int64_t>(depth);
    const TensorArg right = e.b_rows_are_columns ? tensor<T>(b.data(), {bn, kk}) : tensor<T>(b.data(), {kk, bn});
    const auto done = exe->launch({tensor<T>(a.data(), {am, kk}), right, tensor<Sum>(d.data(), {am, bn})});
    TLXJIT_MUST(done);
    for (size_t i = 0; i < m; ++i)
      for (size_t j = 0; j < n; ++j) {
        const auto x = [&](int64_t k) { return a[i * depth + static_cast<size_t>(k)]; };
        const auto y = [&](int64_t k) {
          return e.b_rows_are_columns ? b[j * depth + static_cast<size_t>(k)] : b[static_cast<size_t>(k) * n + j];
        };
        if constexpr (std::is_integral_v<T>) {
          int64_t sum = 0;
          for (int64_t k = 0; k < kk; ++k) sum += int64_t{x(k)} * int64_t{y(k)};
          ASSERT_EQ(d[i * n + j], sum) << "at " << i << ", " << j;
        } else {
          const reference::Sum sum =
              reference::dot(kk, [&](int64_t k) { return float(x(k)); }, [&](int64_t k) { return float(y(k)); });
          ASSERT_LE(std::abs(static_cast<double>(d[i * n + j]) - sum.value),
                    reference::tolerance(sum.value, sum.magnitude, static_cast<double>(kk), reference::roundoff_f32))
              << "at " << i << ", " << j;
        }
      }
  }

  template <class T, class Sum>
  void sweep() {
    // Depths and widths of no whole vector, single rows and columns, head sizes.
    for (bool rows_are_columns : {true, false}) {
      for (const auto& [m, n, k] :
           {std::array{1, 72, 80}, {8, 80, 72}, {7, 1, 5}, {33, 40, 96}, {19, 97, 31}, {64, 192, 64}})
        check<T, Sum>({m, n, k, 2, rows_are_columns});
      const uint32_t today = static_cast<uint32_t>(
          std::chrono::duration_cast<std::chrono::hours>(std::chrono::system_clock::now().time_since_epoch()).count() /
          24);
      for (uint32_t seed : {1u, 2u, today}) {
        SCOPED_TRACE(::testing::Message() << "seed " << seed);
        random.seed(seed);
        check<T, Sum>({integer(1, 70), integer(1, 100), integer(1, 150), integer(1, 3), rows_are_columns});
      }
    }
  }
};

TEST_F(Dot, F32) { sweep<float, float>(); }
TEST_F(Dot, Bf16) { sweep<bf16, float>(); }
TEST_F(Dot, F16) { sweep<f16, float>(); }

TEST_F(Dot, I8) {
  sweep<int8_t, int32_t>();
  // Products are added in f32 as long as that is exact: here one more would not be.
  for (int k : {1024, 1025, 2050}) check<int8_t, int32_t>({3, 20, k, 1, true}, true);
}

TEST_F(Dot, U8) {
  sweep<uint8_t, int32_t>();
  for (int k : {258, 259, 600}) check<uint8_t, int32_t>({3, 20, k, 1, false}, true);
}

TEST_F(Dot, IntegersAreSummedInI32AndFloatsInF32) {
  const auto fault = [](Kernel k) {
    const auto module = k.module();
    return module ? std::string("none") : module.error().message;
  };
  const Extents e{8, 16, 16, 1, true};
  EXPECT_EQ(fault(product<int8_t, float>(e)), "dot: sums of i8 are i32, not f32");
  EXPECT_EQ(fault(product<float, int32_t>(e)), "dot: sums of f32 are f32, not i32");
  EXPECT_EQ(fault(product<double, float>(e)), "dot: multiplies i8, u8, f16, bf16 or f32, not f64");
  EXPECT_EQ(fault(product<int32_t, int32_t>(e)), "dot: multiplies i8, u8, f16, bf16 or f32, not i32");
  EXPECT_EQ(fault(product<int8_t, int16_t>(e)), "accumulator: sums in f32 or i32, not in i16");
}

TEST_F(Dot, HopperRefusesIntegersByName) {
  CompileOptions o;
  const auto hopper = engine.device("sm_90a");
  TLXJIT_MUST(hopper);
  const auto exe = engine.compile(product<int8_t, int32_t>({64, 64, 128, 1, true}), *hopper, o);
  ASSERT_FALSE(exe);
  EXPECT_EQ(exe.error().kind, ErrorKind::user) << to_string(exe.error());
  EXPECT_THAT(exe.error().message, ::testing::HasSubstr("dot")) << to_string(exe.error());
  EXPECT_THAT(exe.error().location.file, ::testing::HasSubstr("dot_test.cpp")) << to_string(exe.error());
}

}  // namespace
}  // namespace tlxjit::runtime_test
