// tests/numbers/math_test.cpp — mathematical functions within the bounds of the op table, against long double.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

#include <cmath>
#include <limits>

#include "tests/numbers/elementwise.h"
#include "tests/reference/small_float.h"

namespace numbers_test {
namespace {

struct Function {
  OpCode code;
  Tile (*of)(Operand);
  long double (*exact)(long double);
};

const Function functions[] = {
    {OpCode::exp, exp, std::exp},
    {OpCode::exp2, exp2, std::exp2},
    {OpCode::log, log, std::log},
    {OpCode::log2, log2, std::log2},
    {OpCode::rcp, rcp, [](long double x) { return 1 / x; }},
    {OpCode::sqrt, sqrt, std::sqrt},
    {OpCode::rsqrt, rsqrt, [](long double x) { return 1 / std::sqrt(x); }},
    {OpCode::sin, sin, std::sin},
    {OpCode::cos, cos, std::cos},
    {OpCode::tanh, tanh, std::tanh},
    {OpCode::erf, erf, std::erf},
    {OpCode::floor, floor, std::floor},
    {OpCode::ceil, ceil, std::ceil},
    {OpCode::trunc, trunc, std::trunc},
    {OpCode::round, round, [](long double x) { return std::nearbyint(x); }},
};

/// The distance of numbers of `elem` at x.
long double unit(Elem elem, long double x) {
  const int digits = elem == Elem::f64 ? 53 : elem == Elem::f32 ? 24 : elem == Elem::f16 ? 11 : 8;
  const int least = elem == Elem::f64 ? -1022 : elem == Elem::f16 ? -14 : -126;
  const int e = x == 0 ? least : std::max(std::ilogb(x), least);
  return std::ldexp(1.0L, e - digits + 1);
}

/// Where numbers of `elem` end, if there were one more.
long double end_of(Elem elem) { return std::ldexp(1.0L, elem == Elem::f64 ? 1024 : elem == Elem::f16 ? 16 : 128); }

/// Ulps between a result and the exact one; an infinity counts as the number after the largest.
long double ulps(Elem elem, uint64_t code, long double exact) {
  long double got = value_of(elem, code);
  if (std::isnan(exact) || std::isnan(got)) return std::isnan(exact) && std::isnan(got) ? 0 : INFINITY;
  const long double end = end_of(elem);
  if (std::isinf(got)) got = std::copysign(end, got);
  if (std::abs(exact) > end) exact = std::copysign(end, exact);
  return std::abs(got - exact) / unit(elem, std::min(std::max(std::abs(exact), 0.0L), end / 2));
}

/// Half an ulp for the rounding, and what the op table grants; 16-bit types are computed in f32.
long double limit(OpCode code, Elem elem) {
  const long double bound = info(code).bound;
  if (elem == Elem::f16) return 0.5L + bound / 8192;
  if (elem == Elem::bf16) return 0.5L + bound / 65536;
  return 0.5L + bound;
}

void check(const Function& f, Elem elem, const Codes& in, const Codes& out) {
  long double worst = 0;
  size_t at = 0;
  for (size_t i = 0; i < in.size(); ++i) {
    const long double x = value_of(elem, in[i]), exact = f.exact(x);
    const long double error = ulps(elem, out[i], exact);
    if (!(error <= worst)) worst = error, at = i;
    if (x == 0 && exact == 0 && std::signbit(exact) != std::signbit(value_of(elem, out[i])))
      ADD_FAILURE() << "the sign of " << info(f.code).text << " of " << static_cast<double>(x);
  }
  EXPECT_LE(worst, limit(f.code, elem)) << info(f.code).text << " of " << value_of(elem, in[at]) << ", "
                                        << to_string(elem) << ", gives " << value_of(elem, out[at]) << ", not "
                                        << static_cast<double>(f.exact(value_of(elem, in[at])));
  ::testing::Test::RecordProperty(std::string(info(f.code).text) + "_" + to_string(elem),
                                  std::to_string(static_cast<double>(worst)));
}

Expression expression(const Function& f) {
  return [&f](const std::vector<Tile>& x) { return f.of(x[0]); };
}

TEST(Math, WithinTheTablesBoundsDrawn) {
  FOR_SEEDS(seed)
  for (const Function& f : functions)
    for (Elem elem : {Elem::f32, Elem::f64})
      for (MathMode mode : {MathMode::fast, MathMode::precise}) {
        const Draw draw =
            numbers_test::draw({elem}, elem, expression(f), seed, elem == Elem::f32 ? 1 << 17 : 1 << 14, mode);
        check(f, elem, draw.in[0], draw.out);
      }
}

/// Every 257th float: about 2^24 of them, so that each binade has 2^15.
TEST(Math, WithinTheTablesBoundsDense) {
  for (const Function& f : functions) {
    if (f.code == OpCode::rcp || f.code == OpCode::sqrt || f.code == OpCode::rsqrt || info(f.code).bound == 0) continue;
    Codes x;
    // Where the functions are neither flat nor out of range.
    for (uint32_t code = 0x38000000; code < 0x43000000; code += 0x701) x.insert(x.end(), {code, code | 0x80000000u});
    check(f, Elem::f32, x, apply({Elem::f32}, Elem::f32, expression(f), {x}));
  }
}

TEST(Math, EveryNumberOfSixteenBits) {
  Codes all(1 << 16);
  for (size_t i = 0; i < all.size(); ++i) all[i] = i;
  for (const Function& f : functions)
    for (Elem elem : {Elem::f16, Elem::bf16}) check(f, elem, all, apply({elem}, elem, expression(f), {all}));
}

TEST(Math, Ends) {
  const float inf = INFINITY;
  const Codes x = {code_of(inf),
                   code_of(-inf),
                   code_of(NAN),
                   code_of(0.f),
                   code_of(-0.f),
                   code_of(0x1p-149f),
                   code_of(-1.f),
                   code_of(0x1.fffffep127f),
                   code_of(-0x1.fffffep127f),
                   code_of(1.f),
                   code_of(88.72284f),
                   code_of(-103.9f),
                   code_of(128.f),
                   code_of(-150.f),
                   code_of(-0x1.2bfffep7f),  // the next above −150: rounds up to the least subnormal
                   code_of(-104.f),
                   code_of(-1000.f),
                   code_of(0.5f),
                   code_of(1.5f),
                   code_of(2.5f),
                   code_of(-0.5f)};
  for (const Function& f : functions) check(f, Elem::f32, x, apply({Elem::f32}, Elem::f32, expression(f), {x}));
}

// BL-083: small results and arguments are not flushed.
TEST(Math, BL_083_Denormals) {
  const Codes x = {code_of(-126.f), code_of(-127.f), code_of(-149.f), code_of(-150.f)};
  EXPECT_EQ(apply({Elem::f32}, Elem::f32, [](const auto& v) { return exp2(v[0]); }, {x}),
            (Codes{code_of(0x1p-126f), code_of(0x1p-127f), code_of(0x1p-149f), code_of(0.f)}));
  const float tiny = 1e-40f, three = 3;
  EXPECT_EQ(apply({Elem::f32}, Elem::f32, [](const auto& v) { return sqrt(v[0]); }, {{code_of(tiny)}}),
            (Codes{code_of(std::sqrt(tiny))}));
  EXPECT_EQ(apply({Elem::f32, Elem::f32}, Elem::f32, [](const auto& v) { return v[0] / v[1]; },
                  {{code_of(tiny)}, {code_of(three)}}),
            (Codes{code_of(tiny / three)}));
}

#if defined(__x86_64__)
// What -ffast-math makes of a host's threads, and a rounding mode that it may have set.
TEST(Math, TheModeOfTheHostsThreadIsNotTheKernels) {
  Codes small, eight, one, third;
  for (uint64_t i = 0; i < 256; ++i) {
    small.push_back(i << 15);  // subnormals and the numbers after them
    eight.push_back(i);
    one.push_back(code_of(1.f));
    third.push_back(code_of(3.f));
  }
  const auto results = [&] {
    return std::vector<Codes>{
        apply({Elem::f32, Elem::f32}, Elem::f32, [](const auto& v) { return v[0] * v[1]; }, {small, one}),
        apply({Elem::f32, Elem::f32}, Elem::f32, [](const auto& v) { return v[0] / v[1]; }, {one, third}),
        apply({Elem::f8e4m3}, Elem::f32, [](const auto& v) { return cast<float>(v[0]); }, {eight})};
  };
  const auto before = results();
  constexpr unsigned flush = 0x8040, upwards = 0x4000;
  for (const unsigned mode : {flush, upwards}) {
    const unsigned own = _mm_getcsr();
    _mm_setcsr(own | mode);
    const auto under = results();
    const unsigned after = _mm_getcsr();
    _mm_setcsr(own);
    EXPECT_EQ(under, before) << mode;
    EXPECT_EQ(after & mode, mode) << "the host's own stays";
  }
  EXPECT_EQ(before[0], small);
}
#endif

// BL-084: exp does not lose bits to the scaling by log2(e).
TEST(Math, BL_084_ExpThroughExp2) {
  const Function& f = functions[0];
  const Codes x = {code_of(88.0f), code_of(-87.3f), code_of(0.1f), code_of(1e-8f)};
  check(f, Elem::f32, x, apply({Elem::f32}, Elem::f32, expression(f), {x}));
  // A softmax over [88, 87.9]. The differences are exact; then exp, a sum and a division round, and the numbers differ
  // by at most a factor of two.
  const float in[] = {88.0f, 87.9f};
  float out[] = {-1, -1};
  Kernel k{"softmax"};
  const Tensor tx = k.tensor<float>("x", {2}), ty = k.tensor<float>("y", {2});
  k.grid(1);
  k.task("main").body([&] {
    const Tile row = tx.load_tile({0}, {2}), e = exp(row - maximum(row, 0));
    ty.store({0}, e / sum(e, 0));
  });
  const auto exe = engine().compile(k, *engine().device("cpu"));
  ASSERT_TRUE(exe.ok()) << to_string(exe.error());
  const auto done = exe->launch({tensor<float>(in, {2}), tensor<float>(out, {2})});
  ASSERT_TRUE(done.ok()) << to_string(done.error());
  const long double less = std::exp(static_cast<long double>(in[1]) - in[0]);
  const long double limit = 2 * (info(OpCode::exp).bound + 1.5L);
  EXPECT_LE(ulps(Elem::f32, code_of(out[0]), 1 / (1 + less)), limit) << out[0];
  EXPECT_LE(ulps(Elem::f32, code_of(out[1]), less / (1 + less)), limit) << out[1];
}

TEST(Math, Compositions) {
  FOR_SEEDS(seed) {
    const Draw s = draw({Elem::f32}, Elem::f32, [](const auto& x) { return sigmoid(x[0]); }, seed);
    const Draw u = draw({Elem::f32}, Elem::f32, [](const auto& x) { return silu(x[0]); }, seed);
    for (size_t i = 0; i < s.out.size(); ++i) {
      const long double x = value_of(Elem::f32, s.in[0][i]), exact = 1 / (1 + std::exp(-x));
      if (x < -87) continue;  // e^−x overflows: the composition gives 0
      // Of exp (its bound), + and rcp, each half an ulp of numbers that differ by at most a factor of two.
      ASSERT_LE(ulps(Elem::f32, s.out[i], exact), 2 * (info(OpCode::exp).bound + 1.5L)) << static_cast<double>(x);
      ASSERT_LE(ulps(Elem::f32, u.out[i], x * exact), 4 * (info(OpCode::exp).bound + 2)) << static_cast<double>(x);
    }
    const Draw c = draw({Elem::f32, Elem::f32}, Elem::f32, [](const auto& x) { return clamp(x[0], -1.5, x[1]); }, seed);
    for (size_t i = 0; i < c.out.size(); ++i) {
      const auto x = static_cast<float>(value_of(Elem::f32, c.in[0][i])),
                 high = static_cast<float>(value_of(Elem::f32, c.in[1][i]));
      const float want = std::fmax(std::fmin(x, high), -1.5f);
      ASSERT_EQ(value_of(Elem::f32, c.out[i]), want) << x << " to " << high;
    }
    for (Elem elem : {Elem::f16, Elem::bf16, Elem::f32, Elem::f64}) {
      const Draw nan = draw({elem}, Elem::b1, [](const auto& x) { return is_nan(x[0]); }, seed);
      const Draw inf = draw({elem}, Elem::b1, [](const auto& x) { return is_inf(x[0]); }, seed);
      for (size_t i = 0; i < nan.out.size(); ++i) {
        ASSERT_EQ(nan.out[i] != 0, std::isnan(value_of(elem, nan.in[0][i])));
        ASSERT_EQ(inf.out[i] != 0, std::isinf(value_of(elem, inf.in[0][i])));
      }
    }
  }
  const Codes x = {code_of(INFINITY), code_of(-INFINITY), code_of(NAN), code_of(-NAN), code_of(0x1.fffffep127f)};
  EXPECT_EQ(apply({Elem::f32}, Elem::b1, [](const auto& v) { return is_inf(v[0]); }, {x}), (Codes{1, 1, 0, 0, 0}));
  EXPECT_EQ(apply({Elem::f32}, Elem::b1, [](const auto& v) { return is_nan(v[0]); }, {x}), (Codes{0, 0, 1, 1, 0}));
}

/// Finds the worst of these results of pow.
void check_pow(Elem elem, const Codes& x, const Codes& y, const Codes& out) {
  for (size_t i = 0; i < out.size(); ++i) {
    const long double a = value_of(elem, x[i]), b = value_of(elem, y[i]), exact = std::pow(a, b);
    ASSERT_LE(ulps(elem, out[i], exact), limit(OpCode::pow, elem))
        << to_string(elem) << ": " << static_cast<double>(a) << " to the " << static_cast<double>(b) << " is "
        << value_of(elem, out[i]) << ", not " << static_cast<double>(exact);
    ASSERT_TRUE(std::isnan(exact) || exact != 0 || std::signbit(exact) == std::signbit(value_of(elem, out[i])))
        << "the sign of " << static_cast<double>(a) << " to the " << static_cast<double>(b);
  }
}

Tile pow_of(const std::vector<Tile>& x) { return pow(x[0], x[1]); }

TEST(Math, Pow) {
  FOR_SEEDS(seed)
  for (Elem elem : {Elem::f16, Elem::bf16, Elem::f32, Elem::f64}) {
    const Draw d = draw({elem, elem}, elem, pow_of, seed, 1 << 16);
    check_pow(elem, d.in[0], d.in[1], d.out);
    // Bases from 0.25 to 4.25, exponents from −32 to 32: of most of these the result is neither 0 nor inf.
    const int digits = elem == Elem::bf16 ? 8 : elem == Elem::f16 ? 11 : 24;
    const auto drawn = [&](const Tile& x, int range) {
      return cast(x & ((1 << digits) - 1), elem) * std::ldexp(1.0, range - digits);
    };
    const auto base = [&](const std::vector<Tile>& x) { return drawn(x[0], 2) + 0.25; };
    const auto exponent = [&](const std::vector<Tile>& x) { return drawn(x[1], 6) - 32; };
    const auto value = [&](const Expression& fn) { return draw({Elem::i32, Elem::i32}, elem, fn, seed, 1 << 16).out; };
    check_pow(elem, value(base), value(exponent),
              value([&](const std::vector<Tile>& x) { return pow(base(x), exponent(x)); }));
  }
}

TEST(Math, PowAtItsEnds) {
  const float ends[] = {
      INFINITY,  -INFINITY,       NAN,        0.f,       -0.f, 1.f, -1.f, 2.f, -2.f, 3.f, -3.f, 0.5f, -0.5f,
      0x1p-149f, 0x1.fffffep127f, 16777216.f, 16777215.f};
  Codes x, y;
  for (float a : ends)
    for (float b : ends) x.push_back(code_of(a)), y.push_back(code_of(b));
  check_pow(Elem::f32, x, y, apply({Elem::f32, Elem::f32}, Elem::f32, pow_of, {x, y}));
  const uint64_t one = code_of(1.f);
  EXPECT_EQ(apply({Elem::f32, Elem::f32}, Elem::f32, pow_of,
                  {{code_of(NAN), one, code_of(-1.f)}, {code_of(0.f), code_of(NAN), code_of(INFINITY)}}),
            (Codes{one, one, one}));
  EXPECT_EQ(apply({Elem::f32}, Elem::f32, [](const auto& v) { return pow(v[0], 3); }, {{code_of(-2.f)}}),
            (Codes{code_of(-8.f)}));
}

TEST(Math, CopysignIsBits) {
  FOR_SEEDS(seed)
  for (Elem elem : {Elem::f16, Elem::bf16, Elem::f32, Elem::f64}) {
    const Draw d = draw({elem, elem}, elem, [](const auto& x) { return copysign(x[0], x[1]); }, seed);
    const uint64_t sign = uint64_t{1} << (bits(elem) - 1);
    for (size_t i = 0; i < d.out.size(); ++i) {
      const uint64_t a = d.in[0][i], b = d.in[1][i];
      if (is_nan(elem, a)) {
        ASSERT_TRUE(is_nan(elem, d.out[i]));
      } else if (!is_nan(elem, b)) {  // whose sign is not said
        ASSERT_EQ(d.out[i], (a & ~sign) | (b & sign)) << to_string(elem) << ": " << a << ", " << b;
      }
    }
  }
}

TEST(Math, FmaRoundsOnce) {
  const auto fn = [](const std::vector<Tile>& x) { return fma(x[0], x[1], x[2]); };
  const auto wanted = [](Elem elem, uint64_t a, uint64_t b, uint64_t c) -> uint64_t {
    if (elem == Elem::f64) return code_of(std::fma(value_of(elem, a), value_of(elem, b), value_of(elem, c)));
    if (elem == Elem::f32)
      return code_of(std::fma(static_cast<float>(value_of(elem, a)), static_cast<float>(value_of(elem, b)),
                              static_cast<float>(value_of(elem, c))));
    const double product = value_of(elem, a) * value_of(elem, b), z = value_of(elem, c);  // exact
    double sum = product + z;
    if (std::isfinite(sum)) {
      // A sum that may be a tie goes to the side where the exact one is; one with its last bit set is none.
      const __float128 rest = static_cast<__float128>(product) - sum + z;
      if (rest != 0 && code_of(sum) % 2 == 0) sum = std::nextafter(sum, rest > 0 ? INFINITY : -INFINITY);
    }
    const reference::SmallFloat& f = reference::small_float(to_string(elem));
    if (std::isnan(sum)) return f.sign() - 1;
    return std::min(f.nearest(sum), f.largest() + 1) | (std::signbit(sum) ? f.sign() : 0);
  };
  FOR_SEEDS(seed)
  for (Elem elem : {Elem::f16, Elem::bf16, Elem::f32, Elem::f64}) {
    Draw d = draw({elem, elem, elem}, elem, fn, seed);
    if (elem == Elem::f16 || elem == Elem::bf16) {  // a product on a tie, and a summand far below it
      const uint64_t one = elem == Elem::f16 ? 0x3c00 : 0x3f80, up = one + 1, sign = 0x8000;
      const uint64_t factor = elem == Elem::f16 ? 0x3e00 : 0x3fc0;  // 1.5
      const std::vector<Codes> in = {{up, up, up, up, up, up, up},
                                     {factor, factor, factor, factor, up, up, up},
                                     {0, 1, sign | 1, sign, 1, sign | 1, 0}};
      const Codes out = apply({elem, elem, elem}, elem, fn, in);
      for (size_t o = 0; o < 3; ++o) d.in[o].insert(d.in[o].end(), in[o].begin(), in[o].end());
      d.out.insert(d.out.end(), out.begin(), out.end());
    }
    for (size_t i = 0; i < d.out.size(); ++i) {
      const uint64_t want = wanted(elem, d.in[0][i], d.in[1][i], d.in[2][i]);
      if (is_nan(elem, want) && is_nan(elem, d.out[i])) continue;
      ASSERT_EQ(d.out[i], want) << to_string(elem) << ": " << value_of(elem, d.in[0][i]) << " · "
                                << value_of(elem, d.in[1][i]) << " + " << value_of(elem, d.in[2][i]);
    }
  }
}

}  // namespace
}  // namespace numbers_test
