// tests/numbers/casts_test.cpp — casts between all element types, in every rounding, against their definition.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cmath>

#include "tests/numbers/elementwise.h"
#include "tests/reference/small_float.h"

namespace numbers_test {
namespace {

constexpr Elem floats[] = {Elem::f16, Elem::bf16, Elem::f32, Elem::f64, Elem::f8e4m3, Elem::f8e5m2, Elem::f4e2m1};

Expression caster(Elem to, CastOptions options = {}) {
  return [=](const std::vector<Tile>& x) { return cast(x[0], to, options); };
}

/// What a cast to a float gives for a number x; `code` is compared as a NaN where it is one.
uint64_t to_float(Elem to, long double x, bool negative, Rounding rounding, bool saturate) {
  const bool cut = rounding == Rounding::towards_zero;
  if (to == Elem::f32 || to == Elem::f64) {
    long double y = to == Elem::f32 ? static_cast<long double>(static_cast<float>(x))
                                    : static_cast<long double>(static_cast<double>(x));
    if (cut && std::isfinite(x) && std::abs(y) > std::abs(x))
      y = to == Elem::f32 ? static_cast<long double>(std::nextafter(static_cast<float>(y), 0.f))
                          : static_cast<long double>(std::nextafter(static_cast<double>(y), 0.0));
    if (saturate && std::isinf(y)) y = std::copysign(to == Elem::f32 ? 0x1.fffffep127L : 0x1.fffffffffffffp1023L, y);
    return to == Elem::f32 ? code_of(static_cast<float>(y)) : code_of(static_cast<double>(y));
  }
  const reference::SmallFloat& f = reference::small_float(to_string(to));
  if (std::isnan(x)) return to == Elem::f4e2m1 ? f.largest() : f.sign() - 1;
  // Integers of 64 bits are not all doubles: one that is next to a tie must not become it.
  double d = static_cast<double>(x);
  if (static_cast<long double>(d) != x && std::fmod(d, 0x1p30) == 0)
    d = std::nextafter(d, static_cast<long double>(d) < x ? INFINITY : -INFINITY);
  uint32_t code = cut ? f.below(d) : f.nearest(d);
  if (code > f.largest()) {
    const bool finite = saturate || (cut && std::isfinite(d));
    code = finite ? f.largest() : f.largest() + 1;  // inf, or the NaN of a type without it
  }
  return code | (negative ? f.sign() : 0);
}

void expect_same(Elem to, uint64_t got, uint64_t want, const std::string& what) {
  if (got != want && !(is_nan(to, got) && is_nan(to, want)))
    ADD_FAILURE() << what << " gives " << got << ", not " << want;
}

std::string name(Elem from, Elem to) { return std::string(to_string(from)) + " to " + to_string(to); }

/// Numbers at and around every value, every tie and every end of the small formats.
Codes edges(Elem elem) {
  Codes codes;
  const auto add = [&](double x) {
    for (double y : {x, -x})
      if (elem == Elem::f64) {
        for (double z : {y, std::nextafter(y, INFINITY), std::nextafter(y, -INFINITY)}) codes.push_back(code_of(z));
      } else {
        const float f = static_cast<float>(y);
        for (float z : {f, std::nextafter(f, INFINITY), std::nextafter(f, -INFINITY)}) codes.push_back(code_of(z));
      }
  };
  for (double x : {0.0,          0.5,        1.0,        double(INFINITY),
                   double(NAN),  0x1p-149,   0x1p-126,   0x1.fffffep127,
                   0x1p-1074,    0x1p127,    0x1p128,    65504.0,
                   65520.0,      448.0,      464.0,      480.0,
                   57344.0,      61440.0,    65536.0,    6.0,
                   7.0,          0.25,       0.75,       0x1p-10,
                   0x1p-11,      0x1p-17,    0x1p-18,    0x1p-25,
                   0x1p-127,     0x1.8p-127, 0x1.8p-128, 2147483648.0,
                   4294967296.0, 0x1p63,     0x1p64,     127.5,
                   128.5,        255.5,      32767.5,    65535.5,
                   510.0,        200.0})
    add(x);
  for (const char* format : {"f8e4m3", "f8e5m2", "f4e2m1"}) {
    const reference::SmallFloat& f = reference::small_float(format);
    for (uint32_t code = 0; code <= f.largest(); ++code)
      for (double x : {f.value(code), (f.value(code) + (code < f.largest() ? f.value(code + 1) : 0)) / 2}) add(x);
  }
  return codes;
}

void check_floats(Elem from, Elem to, CastOptions options, bool saturate, const Codes& in, const Codes& out) {
  for (size_t i = 0; i < in.size() && !::testing::Test::HasFailure(); ++i) {
    const double x = value_of(from, in[i]);
    expect_same(to, out[i], to_float(to, x, std::signbit(x), options.rounding, saturate),
                name(from, to) + " of " + std::to_string(x) + " (" + std::to_string(in[i]) + ")");
  }
}

TEST(Casts, FloatsToFloats) {
  FOR_SEEDS(seed)
  for (Elem from : floats)
    for (Elem to : floats) {
      if (from == to) continue;
      for (Rounding rounding : {Rounding::nearest_even, Rounding::towards_zero})
        for (std::optional<bool> saturate : {std::optional<bool>{}, {false}, {true}}) {
          if (to == Elem::f4e2m1 && saturate == std::optional(false)) continue;
          SCOPED_TRACE(name(from, to) + (rounding == Rounding::towards_zero ? " rtz" : "") +
                       (saturate ? *saturate ? " saturate" : " overflow" : ""));
          const CastOptions options{rounding, saturate};
          const bool finite = saturate.value_or(bits(to) < 16);
          const Draw run = draw({from}, to, caster(to, options), seed, 1 << 12);
          check_floats(from, to, options, finite, run.in[0], run.out);
          if (from != Elem::f32 && from != Elem::f64) continue;
          const Codes x = edges(from);
          check_floats(from, to, options, finite, x, apply({from}, to, caster(to, options), {x}));
          if (HasFailure()) return;
        }
    }
}

// BL-081: all codes of the formats that have 16 bits and fewer, to wider ones.
TEST(Casts, BL_081_EveryCodeOfASmallFloat) {
  for (Elem from : {Elem::f8e4m3, Elem::f8e5m2, Elem::f4e2m1, Elem::f16, Elem::bf16, Elem::e8m0}) {
    Codes all(size_t{1} << bits(from));
    for (size_t i = 0; i < all.size(); ++i) all[i] = i;
    for (Elem to : {Elem::f32, Elem::f64, Elem::f16, Elem::bf16}) {
      if (from == to) continue;
      SCOPED_TRACE(name(from, to));
      const Codes out = apply({from}, to, caster(to), {all});
      for (size_t i = 0; i < all.size() && !HasFailure(); ++i) {
        const double x = value_of(from, i);
        expect_same(to, out[i], to_float(to, x, std::signbit(x), Rounding::nearest_even, false), std::to_string(i));
      }
    }
  }
}

TEST(Casts, HostTypesOfEightBits) {
  for (uint32_t i = 0; i < 256; ++i) {
    f8e4m3 a;
    f8e5m2 b;
    a.bits = b.bits = static_cast<uint8_t>(i);
    expect_same(Elem::f32, code_of(float(a)), code_of(static_cast<float>(value_of(Elem::f8e4m3, i))), "e4m3");
    expect_same(Elem::f32, code_of(float(b)), code_of(static_cast<float>(value_of(Elem::f8e5m2, i))), "e5m2");
  }
  Codes x = edges(Elem::f32);
  for (uint64_t i = 0; i < 1 << 16; ++i) x.push_back((i * 2654435761u + 12345) & 0xffffffff);
  for (uint64_t code : x) {
    const auto value = static_cast<float>(value_of(Elem::f32, code));
    for (Elem to : {Elem::f8e4m3, Elem::f8e5m2})
      expect_same(to, to == Elem::f8e4m3 ? f8e4m3(value).bits : f8e5m2(value).bits,
                  to_float(to, value, std::signbit(value), Rounding::nearest_even, true), std::to_string(value));
  }
}

TEST(Casts, E8m0IsTheNearestPowerOfTwo) {
  FOR_SEEDS(seed)
  for (bool cut : {false, true})
    for (bool saturate : {false, true}) {
      const CastOptions options{cut ? Rounding::towards_zero : Rounding::nearest_even, saturate};
      Draw run = draw({Elem::f32}, Elem::e8m0, caster(Elem::e8m0, options), seed, 1 << 12);
      const Codes more = edges(Elem::f32), out = apply({Elem::f32}, Elem::e8m0, caster(Elem::e8m0, options), {more});
      run.in[0].insert(run.in[0].end(), more.begin(), more.end());
      run.out.insert(run.out.end(), out.begin(), out.end());
      for (size_t i = 0; i < run.out.size(); ++i) {
        const double x = value_of(Elem::f32, run.in[0][i]);
        uint64_t want = 255;
        if (x == 0)
          want = 0;
        else if (std::isinf(x) && x > 0)
          want = saturate ? 254 : 255;
        else if (x > 0) {
          int e = std::ilogb(x);
          if (!cut && x >= 1.5 * std::ldexp(1, e)) ++e;
          want = e > 127 ? (saturate ? 254u : 255u) : static_cast<uint64_t>(std::max(e, -127) + 127);
        }
        ASSERT_EQ(run.out[i], want) << x << (cut ? " rtz" : "") << (saturate ? " saturate" : "");
      }
    }
}

TEST(Casts, StochasticRoundingIsTheFractionPlusRandomBits) {
  FOR_SEEDS(seed)
  for (Elem to : {Elem::f16, Elem::bf16, Elem::f8e4m3, Elem::f8e5m2, Elem::f4e2m1}) {
    SCOPED_TRACE(to_string(to));
    const reference::SmallFloat& f = reference::small_float(to_string(to));
    const auto fn = [&](const std::vector<Tile>& x) { return cast_stochastic(x[0], to, x[1]); };
    const Draw run = draw({Elem::f32, Elem::u32}, to, fn, seed, 1 << 14);
    const int drop = to == Elem::f16      ? 13
                     : to == Elem::bf16   ? 16
                     : to == Elem::f8e4m3 ? 20
                     : to == Elem::f8e5m2 ? 21
                                          : 22;
    size_t up = 0;
    for (size_t i = 0; i < run.out.size(); ++i) {
      const double x = value_of(Elem::f32, run.in[0][i]);
      const bool saturate = bits(to) < 16;
      uint64_t want = to_float(to, x, std::signbit(x), Rounding::towards_zero, saturate);
      if (std::isfinite(x)) {
        uint32_t code = f.below(x);
        if (code <= f.largest()) {
          const double rest = std::floor(std::ldexp(f.rest(x), drop)),
                       random = std::floor(std::ldexp(run.in[1][i], drop - 32));
          if (rest + random >= std::ldexp(1, drop)) ++code, ++up;
        }
        want = std::min(code, f.largest() + (saturate ? 0 : 1)) | (std::signbit(x) ? f.sign() : 0);
      }
      expect_same(to, run.out[i], want, std::to_string(x));
      if (HasFailure()) return;
    }
    EXPECT_GT(up, 10u);
  }
}

// BL-088: out of range, inf and NaN.
TEST(Casts, BL_088_FloatsToIntegersTruncateAndSaturate) {
  FOR_SEEDS(seed)
  for (Elem from : floats)
    for (Elem to : integers) {
      SCOPED_TRACE(name(from, to));
      Draw run = draw({from}, to, caster(to), seed, 1 << 12);
      Codes more = from == Elem::f32 || from == Elem::f64 ? edges(from) : Codes();
      if (from == Elem::f16) more = {0x7c00, 0xfc00, 0x7e00, 0x5ff8, 0xda40};  // inf, -inf, NaN, 510, -200
      if (!more.empty()) {
        const Codes out = apply({from}, to, caster(to), {more});
        run.in[0].insert(run.in[0].end(), more.begin(), more.end());
        run.out.insert(run.out.end(), out.begin(), out.end());
      }
      const int n = bits(to);
      const long double low = is_signed_int(to) ? -std::ldexp(1.0L, n - 1) : 0,
                        high = std::ldexp(1.0L, is_signed_int(to) ? n - 1 : n) - 1;
      for (size_t i = 0; i < run.out.size(); ++i) {
        const long double x = std::trunc(static_cast<long double>(value_of(from, run.in[0][i])));
        const long double want = std::isnan(x) ? 0 : std::min(std::max(x, low), high);
        const long double got = is_signed_int(to) ? static_cast<long double>(integer_of(to, run.out[i]))
                                                  : static_cast<long double>(run.out[i]);
        ASSERT_EQ(got, want) << static_cast<double>(x);
      }
    }
}

TEST(Casts, IntegersToFloatsRoundOnce) {
  FOR_SEEDS(seed)
  for (Elem from : integers)
    for (Elem to : floats)
      for (bool saturate : {false, true}) {
        if (!saturate && to == Elem::f4e2m1) continue;
        SCOPED_TRACE(name(from, to));
        Draw run = draw({from}, to, caster(to, {.saturate = saturate}), seed, 1 << 12);
        if (bits(from) == 64) {  // next to ties of every type
          Codes more;
          for (int bit = 40; bit < 63; ++bit)
            for (int last : {7, 8, 10, 11, 23, 24, 52, 53})
              for (uint64_t odd : {0u, 1u})
                for (int more_or_less : {-1, 0, 1})
                  more.push_back((uint64_t{1} << bit) + (bit > last ? odd << (bit - last) : 0) +
                                 (bit > last ? uint64_t{1} << (bit - last - 1) : 0) +
                                 static_cast<uint64_t>(more_or_less));
          const Codes out = apply({from}, to, caster(to, {.saturate = saturate}), {more});
          run.in[0].insert(run.in[0].end(), more.begin(), more.end());
          run.out.insert(run.out.end(), out.begin(), out.end());
        }
        for (size_t i = 0; i < run.out.size() && !HasFailure(); ++i) {
          const int64_t x = integer_of(from, run.in[0][i]);
          const long double value =
              is_signed_int(from) ? static_cast<long double>(x) : static_cast<long double>(static_cast<uint64_t>(x));
          expect_same(to, run.out[i], to_float(to, value, value < 0, Rounding::nearest_even, saturate),
                      std::to_string(x));
        }
      }
}

TEST(Casts, IntegersWrapOrSaturate) {
  FOR_SEEDS(seed)
  for (Elem from : integers)
    for (Elem to : integers)
      for (bool saturate : {false, true}) {
        SCOPED_TRACE(name(from, to) + (saturate ? " saturate" : ""));
        const Draw run = draw({from}, to, caster(to, {.saturate = saturate}), seed, 1 << 12);
        const int n = bits(to);
        const __int128 high = (static_cast<__int128>(1) << (is_signed_int(to) ? n - 1 : n)) - 1,
                       low = is_signed_int(to) ? -high - 1 : 0;
        for (size_t i = 0; i < run.out.size(); ++i) {
          const int64_t raw = integer_of(from, run.in[0][i]);
          __int128 x =
              is_signed_int(from) ? static_cast<__int128>(raw) : static_cast<__int128>(static_cast<uint64_t>(raw));
          if (saturate) x = std::min(std::max(x, low), high);
          const uint64_t mask = n == 64 ? ~uint64_t{0} : (uint64_t{1} << n) - 1;
          ASSERT_EQ(run.out[i], static_cast<uint64_t>(x) & mask) << raw;
        }
      }
}

// BL-097: to b1 is x ≠ 0, not the low byte.
TEST(Casts, BL_097_ToB1IsNotZero) {
  for (Elem from : integers) {
    Codes x = {0, 1, 2, 0x80, 0xff};
    if (bits(from) >= 16) x.insert(x.end(), {0x100, 0x200, 0xff00});
    if (bits(from) >= 32) x.insert(x.end(), {0x10000, 0xffffff00});
    if (bits(from) == 64) x.insert(x.end(), {uint64_t{1} << 32, ~uint64_t{255}});
    const Codes y = apply({from}, Elem::b1, caster(Elem::b1), {x});
    for (size_t i = 0; i < x.size(); ++i) EXPECT_EQ(y[i], x[i] != 0) << to_string(from) << " " << x[i];
  }
  const Codes x = {code_of(0.f), code_of(-0.f), code_of(0x1p-149f), code_of(0.5f), code_of(NAN), code_of(-INFINITY)};
  EXPECT_EQ(apply({Elem::f32}, Elem::b1, caster(Elem::b1), {x}), (Codes{0, 0, 1, 1, 1, 1}));
  EXPECT_EQ(apply({Elem::f8e4m3}, Elem::b1, caster(Elem::b1), {{0, 0x80, 1, 0x7f}}), (Codes{0, 0, 1, 1}));
}

TEST(Casts, FromB1) {
  for (Elem to : integers) EXPECT_EQ(apply({Elem::b1}, to, caster(to), {{0, 1}}), (Codes{0, 1})) << to_string(to);
  for (Elem to : floats) {
    const Codes y = apply({Elem::b1}, to, caster(to), {{0, 1}});
    EXPECT_EQ(value_of(to, y[0]), 0) << to_string(to);
    EXPECT_EQ(value_of(to, y[1]), 1) << to_string(to);
  }
}

TEST(Casts, BitcastKeepsBits) {
  FOR_SEEDS(seed)
  for (auto [from, to] : {std::pair{Elem::f32, Elem::i32},
                          {Elem::i64, Elem::f64},
                          {Elem::u16, Elem::f16},
                          {Elem::bf16, Elem::i16},
                          {Elem::f16, Elem::bf16},
                          {Elem::u8, Elem::f8e5m2},
                          {Elem::f8e4m3, Elem::e8m0}}) {
    const Draw run =
        draw({from}, to, [to = to](const std::vector<Tile>& x) { return bitcast(x[0], to); }, seed, 1 << 12);
    for (size_t i = 0; i < run.out.size() && !HasFailure(); ++i)
      expect_same(to, run.out[i], run.in[0][i], name(from, to));
  }
}

TEST(Casts, TensorsOfEightBits) {
  Kernel k{"f8"};
  const Index n = k.dim("N");
  const Tensor x = k.tensor<f8e4m3>("x", {n}), y = k.tensor<f8e5m2>("y", {n});
  k.grid(1);
  k.task("main").body([&](Task& t) {
    k.range(n).each([&](Index i) {
      const Tile wide = t.full<f8e4m3>({1}, x.load({i})).to<float>();
      y.store({i}, (wide * 2).to<f8e5m2>());
    });
  });
  const auto exe = engine().compile(k, *engine().device("cpu"));
  ASSERT_TRUE(exe.ok()) << to_string(exe.error());
  std::vector<f8e4m3> in(256);
  std::vector<f8e5m2> out(256);
  for (size_t i = 0; i < 256; ++i) in[i].bits = static_cast<uint8_t>(i);
  const auto done = exe->launch({tensor<f8e4m3>(in.data(), {256}), tensor<f8e5m2>(out.data(), {256})});
  ASSERT_TRUE(done.ok()) << to_string(done.error());
  for (size_t i = 0; i < 256; ++i)
    expect_same(Elem::f8e5m2, out[i].bits, f8e5m2(2 * float(in[i])).bits, std::to_string(i));
}

TEST(Casts, CopiesOfEightBits) {
  const auto module = parse(R"(tlx 1 lowered cpu
kernel "copy" [threads = 128, shared_bytes = 8192] {
  %0 = const [value = 64] : i32
  %1 = const [value = 0] : i32
  %2 = const [value = 1] : i32
  %3 = tensor %0, %0 [name = "x"] : tensor<2xf8e4m3>
  %4 = tensor %0, %0 [name = "y"] : tensor<2xf8e4m3>
  grid %2
  %5 = buffer [swizzle = 0, offset = 0] : buffer<1, 64x64xf8e4m3>
  %6 = barrier [count = 1, name = "full", offset = 4096] : barrier<1>
  task [name = "main", warps = 4, replicas = 1] {
    expect %6, %1 [bytes = 4096]
    copy.load %3, %5, %1, %6, %1, %1, %1 [box = <64, 64>, ragged = -1]
    wait %6, %1, %1
    copy.store %4, %5, %1, %1, %1 [box = <64, 64>, ragged = -1]
    copy.drain [pending = 0, read = 0]
  }
}
)");
  ASSERT_TRUE(module.ok()) << to_string(module.error());
  const auto exe = engine().compile(*module, *engine().device("cpu"));
  ASSERT_TRUE(exe.ok()) << to_string(exe.error());
  std::vector<f8e4m3> in(4096), out(4096);
  for (size_t i = 0; i < in.size(); ++i) in[i].bits = static_cast<uint8_t>(i * 7 + i / 256), out[i].bits = 0x7f;
  const auto done = exe->launch({tensor<f8e4m3>(in.data(), {64, 64}), tensor<f8e4m3>(out.data(), {64, 64})});
  ASSERT_TRUE(done.ok()) << to_string(done.error());
  for (size_t i = 0; i < in.size(); ++i) ASSERT_EQ(in[i].bits, out[i].bits) << i;
}

}  // namespace
}  // namespace numbers_test
