// tests/numbers/arithmetic_test.cpp — arithmetic of integers and floats, bit for bit.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <bit>
#include <cmath>

#include "tests/numbers/elementwise.h"
#include "tests/reference/small_float.h"

namespace numbers_test {
namespace {

using Wide = __int128;

/// What an op gives on whole numbers a and b of `elem`; the result is cut to the type's bits.
using Integral = Wide (*)(Wide a, Wide b, Elem elem);

uint64_t mask(Elem elem) { return bits(elem) == 64 ? ~uint64_t{0} : (uint64_t{1} << bits(elem)) - 1; }

Wide whole(Elem elem, uint64_t code) {
  return is_signed_int(elem) ? static_cast<Wide>(integer_of(elem, code)) : static_cast<Wide>(code);
}

/// a · b, of u64 with 128 bits, none of them a sign.
unsigned __int128 product(Wide a, Wide b) {
  return static_cast<unsigned __int128>(a) * static_cast<unsigned __int128>(b);
}

Wide floor_of(Wide a, Wide b) { return a / b - (a % b != 0 && (a < 0) != (b < 0)); }

struct Case {
  const char* name;
  Expression of;
  Integral exact;
  bool is_signed = true, is_unsigned = true;
};

#define BINARY(expression) [](const std::vector<Tile>& x) { return expression; }

const Case cases[] = {
    {"add", BINARY(x[0] + x[1]), [](Wide a, Wide b, Elem) { return a + b; }},
    {"sub", BINARY(x[0] - x[1]), [](Wide a, Wide b, Elem) { return a - b; }},
    {"mul", BINARY(x[0] * x[1]), [](Wide a, Wide b, Elem) { return static_cast<Wide>(product(a, b)); }},
    {"div", BINARY(x[0] / x[1]), [](Wide a, Wide b, Elem) { return b == 0 ? Wide{-1} : a / b; }},
    {"mod", BINARY(x[0] % x[1]), [](Wide a, Wide b, Elem) { return b == 0 ? a : a % b; }},
    {"floor_div", BINARY(floor_div(x[0], x[1])),
     [](Wide a, Wide b, Elem) { return b == 0 ? Wide{-1} : floor_of(a, b); }},
    {"floor_mod", BINARY(floor_mod(x[0], x[1])),
     [](Wide a, Wide b, Elem) { return b == 0 ? a : a - b * floor_of(a, b); }},
    {"mulhi", BINARY(mulhi(x[0], x[1])),
     [](Wide a, Wide b, Elem e) {
       return is_signed_int(e) ? a * b >> bits(e) : static_cast<Wide>(product(a, b) >> bits(e));
     }},
    {"min", BINARY(min(x[0], x[1])), [](Wide a, Wide b, Elem) { return a < b ? a : b; }},
    {"max", BINARY(max(x[0], x[1])), [](Wide a, Wide b, Elem) { return a > b ? a : b; }},
    {"and", BINARY(x[0] & x[1]), [](Wide a, Wide b, Elem) { return a & b; }},
    {"or", BINARY(x[0] | x[1]), [](Wide a, Wide b, Elem) { return a | b; }},
    {"xor", BINARY(x[0] ^ x[1]), [](Wide a, Wide b, Elem) { return a ^ b; }},
    {"not", BINARY(~x[0]), [](Wide a, Wide, Elem) { return ~a; }},
    {"neg", BINARY(-x[0]), [](Wide a, Wide, Elem) { return -a; }, true, false},
    {"abs", BINARY(abs(x[0])), [](Wide a, Wide, Elem) { return a < 0 ? -a : a; }, true, false},
    {"shl", BINARY(x[0] << x[1]),
     [](Wide a, Wide b, Elem e) { return static_cast<Wide>(static_cast<uint64_t>(a) << (b & (bits(e) - 1))); }},
    {"shr", BINARY(x[0] >> x[1]), [](Wide a, Wide b, Elem e) { return a >> (b & (bits(e) - 1)); }},
    {"popcount", BINARY(popcount(x[0])),
     [](Wide a, Wide, Elem e) { return Wide{std::popcount(static_cast<uint64_t>(a) & mask(e))}; }},
    {"clz", BINARY(clz(x[0])),
     [](Wide a, Wide, Elem e) { return Wide{std::countl_zero(static_cast<uint64_t>(a) & mask(e)) - 64 + bits(e)}; }},
};

/// 0, ±1, the ends and their neighbours: all pairs of them.
std::vector<Codes> ends(Elem elem) {
  const uint64_t m = mask(elem), top = uint64_t{1} << (bits(elem) - 1);
  const Codes some = {0, 1, 2, 3, m, m - 1, top, top - 1, (top + 1) & m};
  std::vector<Codes> pairs(2);
  for (uint64_t a : some)
    for (uint64_t b : some) pairs[0].push_back(a), pairs[1].push_back(b);
  return pairs;
}

TEST(Integers, EveryOpOfEveryType) {
  for (const Case& c : cases)
    for (Elem elem : integers) {
      if (!(is_signed_int(elem) ? c.is_signed : c.is_unsigned)) continue;
      const auto check = [&](const std::vector<Codes>& in, const Codes& out) {
        for (size_t i = 0; i < out.size(); ++i)
          ASSERT_EQ(out[i],
                    static_cast<uint64_t>(c.exact(whole(elem, in[0][i]), whole(elem, in[1][i]), elem)) & mask(elem))
              << c.name << " of " << to_string(elem) << ' ' << integer_of(elem, in[0][i]) << ", "
              << integer_of(elem, in[1][i]);
      };
      FOR_SEEDS(seed) {
        const Draw d = draw({elem, elem}, elem, c.of, seed, 1 << 12);
        check(d.in, d.out);
      }
      check(ends(elem), apply({elem, elem}, elem, c.of, ends(elem)));
      if (HasFailure()) return;
    }
}

TEST(Integers, Comparisons) {
  const std::pair<Expression, bool (*)(Wide, Wide)> rows[] = {
      {BINARY(x[0] == x[1]), [](Wide a, Wide b) { return a == b; }},
      {BINARY(x[0] != x[1]), [](Wide a, Wide b) { return a != b; }},
      {BINARY(x[0] < x[1]), [](Wide a, Wide b) { return a < b; }},
      {BINARY(x[0] <= x[1]), [](Wide a, Wide b) { return a <= b; }},
      {BINARY(x[0] > x[1]), [](Wide a, Wide b) { return a > b; }},
      {BINARY(x[0] >= x[1]), [](Wide a, Wide b) { return a >= b; }}};
  for (const auto& [fn, exact] : rows)
    for (Elem elem : integers) {
      const auto in = ends(elem);
      const Codes out = apply({elem, elem}, Elem::b1, fn, in);
      for (size_t i = 0; i < out.size(); ++i)
        ASSERT_EQ(out[i], exact(whole(elem, in[0][i]), whole(elem, in[1][i]))) << to_string(elem);
    }
}

// BL-085: both divisions are there, by name.
TEST(Integers, BL_085_NegativeDivision) {
  for (Elem elem : {Elem::i32, Elem::i64}) {
    std::vector<Codes> in(2);
    for (int64_t a = -7; a <= 7; ++a)
      for (int64_t b : {-5, -2, 2, 5})
        in[0].push_back(static_cast<uint64_t>(a)), in[1].push_back(static_cast<uint64_t>(b));
    const auto run = [&](const Expression& fn) { return apply({elem, elem}, elem, fn, in); };
    const Codes q = run(BINARY(x[0] / x[1])), r = run(BINARY(x[0] % x[1])), f = run(BINARY(floor_div(x[0], x[1]))),
                m = run(BINARY(floor_mod(x[0], x[1])));
    for (size_t i = 0; i < q.size(); ++i) {
      const auto a = static_cast<int64_t>(in[0][i]), b = static_cast<int64_t>(in[1][i]);
      EXPECT_EQ(integer_of(elem, q[i]), a / b);
      EXPECT_EQ(integer_of(elem, r[i]), a % b);
      EXPECT_EQ(static_cast<double>(integer_of(elem, f[i])),
                std::floor(static_cast<double>(a) / static_cast<double>(b)));
      EXPECT_EQ(integer_of(elem, m[i]), a - b * integer_of(elem, f[i]));
    }
  }
}

struct Real {
  const char* name;
  Expression of;
  double (*exact)(double, double);
};

const Real reals[] = {
    {"add", BINARY(x[0] + x[1]), [](double a, double b) { return a + b; }},
    {"sub", BINARY(x[0] - x[1]), [](double a, double b) { return a - b; }},
    {"mul", BINARY(x[0] * x[1]), [](double a, double b) { return a * b; }},
    {"div", BINARY(x[0] / x[1]), [](double a, double b) { return a / b; }},
    {"sqrt", BINARY(sqrt(x[0])), [](double a, double) { return std::sqrt(a); }},
    {"neg", BINARY(-x[0]), [](double a, double) { return -a; }},
    {"abs", BINARY(abs(x[0])), [](double a, double) { return std::abs(a); }},
};

/// f64 has more than twice the digits of f32 and the 16-bit types, and two more: rounding its result again gives the
/// exact result rounded once.
uint64_t rounded(Elem elem, double x) {
  if (elem == Elem::f64) return code_of(x);
  if (elem == Elem::f32) return code_of(static_cast<float>(x));
  const reference::SmallFloat& f = reference::small_float(to_string(elem));
  if (std::isnan(x)) return f.sign() - 1;
  return std::min(f.nearest(x), f.largest() + 1) | (std::signbit(x) ? f.sign() : 0);
}

TEST(Floats, EveryOpRoundsOnce) {
  FOR_SEEDS(seed)
  for (const Real& r : reals)
    for (Elem elem : {Elem::f16, Elem::bf16, Elem::f32, Elem::f64}) {
      Draw d = draw({elem, elem}, elem, r.of, seed);
      const Draw precise = draw({elem, elem}, elem, r.of, seed + 1, 1 << 14, MathMode::precise);
      for (size_t o = 0; o < 2; ++o) d.in[o].insert(d.in[o].end(), precise.in[o].begin(), precise.in[o].end());
      d.out.insert(d.out.end(), precise.out.begin(), precise.out.end());
      for (size_t i = 0; i < d.out.size(); ++i) {
        const uint64_t want = rounded(elem, r.exact(value_of(elem, d.in[0][i]), value_of(elem, d.in[1][i])));
        if (is_nan(elem, want) && is_nan(elem, d.out[i])) continue;
        ASSERT_EQ(d.out[i], want) << r.name << " of " << to_string(elem) << ' ' << value_of(elem, d.in[0][i]) << ", "
                                  << value_of(elem, d.in[1][i]);
      }
    }
}

TEST(Floats, ChainsOfSixteenBitsRoundEachStep) {
  FOR_SEEDS(seed)
  for (Elem elem : {Elem::f16, Elem::bf16}) {
    const Draw d = draw({elem, elem, elem}, elem, BINARY((x[0] * x[1] + x[2]) * x[0] - x[1]), seed);
    for (size_t i = 0; i < d.out.size(); ++i) {
      double v[3];
      for (size_t o = 0; o < 3; ++o) v[o] = value_of(elem, d.in[o][i]);
      const auto r = [&](double x) { return value_of(elem, rounded(elem, x)); };
      const uint64_t want = rounded(elem, r(r(r(v[0] * v[1]) + v[2]) * v[0]) - v[1]);
      if (is_nan(elem, want) && is_nan(elem, d.out[i])) continue;
      ASSERT_EQ(d.out[i], want) << to_string(elem) << ' ' << v[0] << ' ' << v[1] << ' ' << v[2];
    }
  }
}

// A product and a sum: each rounded, or if the mode is fast, as an fma.
TEST(Floats, PreciseDoesNotContract) {
  FOR_SEEDS(seed)
  for (MathMode mode : {MathMode::precise, MathMode::fast})
    for (Elem elem : {Elem::f16, Elem::bf16, Elem::f32, Elem::f64}) {
      const Draw d = draw({elem, elem, elem}, elem, BINARY(x[0] * x[1] + x[2]), seed, 1 << 14, mode);
      for (size_t i = 0; i < d.out.size(); ++i) {
        double v[3];
        for (size_t o = 0; o < 3; ++o) v[o] = value_of(elem, d.in[o][i]);
        const uint64_t want = rounded(elem, value_of(elem, rounded(elem, v[0] * v[1])) + v[2]);
        if (is_nan(elem, want) && is_nan(elem, d.out[i])) continue;
        const bool once =
            elem == Elem::f64
                ? d.out[i] == code_of(std::fma(v[0], v[1], v[2]))
                : elem == Elem::f32 && d.out[i] == code_of(std::fma(static_cast<float>(v[0]), static_cast<float>(v[1]),
                                                                    static_cast<float>(v[2])));
        if (mode == MathMode::fast && once) continue;
        ASSERT_EQ(d.out[i], want) << to_string(elem) << ' ' << v[0] << " · " << v[1] << " + " << v[2];
      }
    }
}

// BL-250
TEST(Floats, BL_250_ThousandBf16Additions) {
  FOR_SEEDS(seed) {
    const Draw d = draw({Elem::bf16, Elem::bf16}, Elem::bf16, BINARY(x[0] + x[1]), seed, 1000);
    ASSERT_EQ(d.out.size(), 1000u);
    for (size_t i = 0; i < 1000; ++i) {
      bf16 a, b;
      a.bits = static_cast<uint16_t>(d.in[0][i]), b.bits = static_cast<uint16_t>(d.in[1][i]);
      const bf16 want(float(a) + float(b));
      if (std::isnan(float(want)))
        ASSERT_TRUE(is_nan(Elem::bf16, d.out[i]));
      else
        ASSERT_EQ(d.out[i], want.bits) << float(a) << " + " << float(b);
    }
  }
}

TEST(Floats, MinimumAndMaximum) {
  FOR_SEEDS(seed)
  for (Elem elem : {Elem::f16, Elem::bf16, Elem::f32, Elem::f64})
    for (bool greatest : {false, true})
      for (bool nan_wins : {false, true}) {
        const auto fn = [&](const std::vector<Tile>& x) {
          return nan_wins ? (greatest ? max_nan(x[0], x[1]) : min_nan(x[0], x[1]))
                          : (greatest ? max(x[0], x[1]) : min(x[0], x[1]));
        };
        Draw d = draw({elem, elem}, elem, fn, seed, 1 << 12);
        const int n = bits(elem);
        const uint64_t minus = uint64_t{1} << (n - 1), one = rounded(elem, 1), inf = rounded(elem, INFINITY),
                       nan = rounded(elem, NAN);
        const Codes some = {0, minus, one, one | minus, inf, inf | minus, nan};
        std::vector<Codes> pairs(2);
        for (uint64_t a : some)
          for (uint64_t b : some) pairs[0].push_back(a), pairs[1].push_back(b);
        const Codes out = apply({elem, elem}, elem, fn, pairs);
        for (size_t o = 0; o < 2; ++o) d.in[o].insert(d.in[o].end(), pairs[o].begin(), pairs[o].end());
        d.out.insert(d.out.end(), out.begin(), out.end());
        for (size_t i = 0; i < d.out.size(); ++i) {
          const double a = value_of(elem, d.in[0][i]), b = value_of(elem, d.in[1][i]), got = value_of(elem, d.out[i]);
          if (std::isnan(a) || std::isnan(b)) {
            const bool number = !nan_wins && !(std::isnan(a) && std::isnan(b));
            if (number)
              ASSERT_EQ(got, std::isnan(a) ? b : a);
            else
              ASSERT_TRUE(std::isnan(got));
            continue;
          }
          ASSERT_EQ(got, greatest ? std::max(a, b) : std::min(a, b)) << a << ", " << b;
          if (nan_wins && a == 0 && b == 0) {
            ASSERT_EQ(std::signbit(got),
                      greatest ? std::signbit(a) && std::signbit(b) : std::signbit(a) || std::signbit(b));
          }
        }
      }
}

TEST(Floats, ComparisonsWithNaNAndZeros) {
  const Codes some = {code_of(0.f), code_of(-0.f), code_of(1.f), code_of(NAN), code_of(INFINITY), code_of(-INFINITY)};
  std::vector<Codes> in(2);
  for (uint64_t a : some)
    for (uint64_t b : some) in[0].push_back(a), in[1].push_back(b);
  const std::pair<Expression, bool (*)(double, double)> rows[] = {
      {BINARY(x[0] == x[1]), [](double a, double b) { return a == b; }},
      {BINARY(x[0] != x[1]), [](double a, double b) { return a != b; }},
      {BINARY(x[0] < x[1]), [](double a, double b) { return a < b; }},
      {BINARY(x[0] <= x[1]), [](double a, double b) { return a <= b; }},
      {BINARY(x[0] > x[1]), [](double a, double b) { return a > b; }},
      {BINARY(x[0] >= x[1]), [](double a, double b) { return a >= b; }}};
  for (const auto& [fn, exact] : rows) {
    const Codes out = apply({Elem::f32, Elem::f32}, Elem::b1, fn, in);
    for (size_t i = 0; i < out.size(); ++i)
      EXPECT_EQ(out[i], exact(value_of(Elem::f32, in[0][i]), value_of(Elem::f32, in[1][i])));
  }
}

}  // namespace
}  // namespace numbers_test
