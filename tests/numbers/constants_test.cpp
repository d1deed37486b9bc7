// tests/numbers/constants_test.cpp — constants of every type; scalars as arguments.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <clocale>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <locale>

#include "tests/numbers/elementwise.h"
#include "tests/reference/small_float.h"
#include "tests/unit/runtime/temporary_directory.h"

namespace numbers_test {
namespace {

/// A literal of `elem` as a kernel has it.
uint64_t constant(Elem elem, Operand literal) {
  const auto fn = [&](const std::vector<Tile>& x) { return select(x[0], literal, x[1]); };
  return apply({Elem::b1, elem}, elem, fn, {{1}, {0}})[0];
}

// BL-089: what is no number, in every type; e4m3 has no infinity.
TEST(Constants, BL_089_InfinitiesAndNaN) {
  for (Elem elem : {Elem::f64, Elem::f32, Elem::f16, Elem::bf16}) {
    EXPECT_EQ(value_of(elem, constant(elem, INFINITY)), INFINITY) << to_string(elem);
    EXPECT_EQ(value_of(elem, constant(elem, -INFINITY)), -INFINITY) << to_string(elem);
    EXPECT_TRUE(is_nan(elem, constant(elem, NAN))) << to_string(elem);
  }
  EXPECT_EQ(value_of(Elem::f8e4m3, constant(Elem::f8e4m3, -INFINITY)), -448);
  EXPECT_EQ(value_of(Elem::f8e4m3, constant(Elem::f8e4m3, INFINITY)), 448);
  EXPECT_EQ(value_of(Elem::f8e5m2, constant(Elem::f8e5m2, -INFINITY)), -INFINITY);
  EXPECT_EQ(value_of(Elem::f8e5m2, constant(Elem::f8e5m2, -1e9)), -57344);
  EXPECT_TRUE(is_nan(Elem::f8e4m3, constant(Elem::f8e4m3, NAN)));
  EXPECT_TRUE(is_nan(Elem::f8e5m2, constant(Elem::f8e5m2, NAN)));
  // As what changes no maximum.
  for (Elem elem : {Elem::f64, Elem::f32, Elem::f16, Elem::bf16}) {
    const auto fn = [](const std::vector<Tile>& x) { return max(min(x[0], INFINITY), -INFINITY); };
    const Draw d = draw({elem}, elem, fn, 1, 1 << 10);
    for (size_t i = 0; i < d.out.size(); ++i)
      if (!is_nan(elem, d.in[0][i])) {
        ASSERT_EQ(value_of(elem, d.out[i]), value_of(elem, d.in[0][i]));
      }
  }
}

TEST(Constants, EveryIntegerType) {
  for (Elem elem : {Elem::i8, Elem::i16, Elem::i32, Elem::i64}) {
    const int n = bits(elem);
    const auto least = static_cast<int64_t>(uint64_t{1} << 63) >> (64 - n);
    for (int64_t v : {least, least + 1, int64_t{-1}, int64_t{0}, int64_t{1}, -(least + 1)})
      EXPECT_EQ(integer_of(elem, constant(elem, v)), v) << to_string(elem);
  }
  for (Elem elem : {Elem::u8, Elem::u16, Elem::u32, Elem::u64})
    for (uint64_t v : {uint64_t{0}, uint64_t{1}, ~uint64_t{0} >> (64 - bits(elem)), uint64_t{1} << (bits(elem) - 1)})
      EXPECT_EQ(constant(elem, v), v) << to_string(elem);
  EXPECT_EQ(constant(Elem::b1, 1), 1u);
  EXPECT_EQ(constant(Elem::b1, 0), 0u);
}

TEST(Constants, RealsAreRoundedAsCastsDo) {
  for (double x : {0.1, -3.3, 1e-7, 65519.0, 447.0, 2.5, 0.3})
    for (const char* name : {"f16", "bf16", "f8e4m3", "f8e5m2", "f4e2m1"}) {
      const Elem elem = *parse_elem(name);
      const reference::SmallFloat& f = reference::small_float(name);
      const uint32_t code = f.nearest(x),
                     finite = bits(elem) < 16 ? std::min(code, f.largest()) : std::min(code, f.largest() + 1);
      EXPECT_EQ(constant(elem, x), finite | (x < 0 ? f.sign() : 0)) << name << ' ' << x;
    }
  EXPECT_EQ(constant(Elem::f32, 0.1), code_of(0.1f));
  EXPECT_EQ(value_of(Elem::e8m0, constant(Elem::e8m0, 0.25)), 0.25);
  EXPECT_EQ(value_of(Elem::f32, constant(Elem::f32, std::numeric_limits<uint64_t>::max())), 0x1p64);
}

// BL-092: 0 and −0 are two constants, whichever comes first.
TEST(Constants, BL_092_ZerosAreNotJoined) {
  const auto over = [](double first, double second) {
    return [=](const std::vector<Tile>& x) {
      Tile a = x[0] / first, b = x[0] / second;
      return select(x[1] == 0, a, b);
    };
  };
  const std::vector<Codes> in = {{code_of(1.f), code_of(1.f)}, {0, 1}};
  EXPECT_EQ(apply({Elem::f32, Elem::i32}, Elem::f32, over(0.0, -0.0), in),
            (Codes{code_of(INFINITY), code_of(-INFINITY)}));
  EXPECT_EQ(apply({Elem::f32, Elem::i32}, Elem::f32, over(-0.0, 0.0), in),
            (Codes{code_of(-INFINITY), code_of(INFINITY)}));
}

// BL-095: of f64, all digits.
TEST(Constants, BL_095_LargeDoubles) {
  const Codes x = {code_of(1.0), code_of(3e50), code_of(-2e50)};
  const Codes y = apply({Elem::f64}, Elem::f64, [](const auto& v) { return v[0] + 2e50; }, {x});
  for (size_t i = 0; i < x.size(); ++i) EXPECT_EQ(value_of(Elem::f64, y[i]), value_of(Elem::f64, x[i]) + 2e50);
  for (double v : {2e50, 1e-300, 0.1, 0x1.fffffffffffffp1023, 0x1p-1074})
    EXPECT_EQ(value_of(Elem::f64, constant(Elem::f64, v)), v);
}

/// Decimal commas and thousands in C++, as in de_DE, which the machine may lack.
struct German : std::numpunct<char> {
  char do_decimal_point() const override { return ','; }
  char do_thousands_sep() const override { return '.'; }
  std::string do_grouping() const override { return "\3"; }
};

/// The same in C: a locale of the format of glibc, made here. Whether the system took it.
class GermanInC {
 public:
  GermanInC() {
    const runtime_test::TemporaryDirectory place;
    const std::filesystem::path folder = place.path();
    std::filesystem::create_directories(folder / "comma");
    // Magic, number of items, where each begins; point, separator, grouping, both as wide characters, the codeset.
    const uint32_t head[] = {0x20031115 ^ LC_NUMERIC, 6, 32, 34, 36, 40, 44, 48};
    std::ofstream file(folder / "comma" / "LC_NUMERIC", std::ios::binary);
    file.write(reinterpret_cast<const char*>(head), sizeof head);
    file.write(",\0.\0\3\0\0\0,\0\0\0.\0\0\0UTF-8\0", 22);
    file.close();
    setenv("LOCPATH", folder.c_str(), 1);
    taken_ = std::setlocale(LC_NUMERIC, "comma") != nullptr;
    unsetenv("LOCPATH");
  }
  ~GermanInC() { std::setlocale(LC_NUMERIC, "C"); }
  GermanInC(const GermanInC&) = delete;
  GermanInC& operator=(const GermanInC&) = delete;
  bool taken() const { return taken_; }

 private:
  bool taken_ = false;
};

/// A kernel with constants that have a fraction and thousands.
Kernel with_constants() {
  Kernel k{"locale"};
  const Index n = k.dim("N");
  const Tensor y = k.tensor<double>("y", {n});
  const Scalar x = k.scalar<double>("x", 0.5);
  k.grid(ceil_div(n, 1234567));
  k.task("main").body([&](Task& t) { y.store({0}, t.full<double>({64}, x * 0.5 + 1234567.0)); });
  return k;
}

std::string portable_text() {
  auto module = with_constants().module();
  EXPECT_TRUE(module.ok());
  const std::string text = print(*module);
  const auto again = parse(text);
  EXPECT_TRUE(again.ok() && print(*again) == text);
  return text;
}

/// Under the locale that is set, the text is `plain` and the key that of the kernel compiled before.
void expect_as_without(const std::string& plain) {
  EXPECT_EQ(portable_text(), plain);
  const uint64_t compiles = engine().counters().compiles;
  EXPECT_TRUE(engine().compile(with_constants(), *engine().device("cpu")).ok());
  EXPECT_EQ(engine().counters().compiles, compiles) << "the key is another";
}

// BL-093
TEST(Constants, BL_093_LocaleDoesNotMatter) {
  const std::string plain = portable_text();
  EXPECT_NE(plain.find("[value = 0.5]"), std::string::npos) << plain;
  EXPECT_NE(plain.find("[value = 1234567.0]"), std::string::npos) << plain;
  ASSERT_TRUE(engine().compile(with_constants(), *engine().device("cpu")).ok());
  const auto computed = [](double salt) {  // with constants of its own, which are not compiled yet
    const auto fn = [&](const auto& v) { return v[0] * 0.5 + (1234567.0 + salt); };
    return value_of(Elem::f64, apply({Elem::f64}, Elem::f64, fn, {{code_of(1.0)}})[0]);
  };
  {
    const std::locale before = std::locale::global(std::locale(std::locale(), new German));
    expect_as_without(plain);
    EXPECT_EQ(computed(0.25), 1234567.75);
    std::locale::global(before);
  }
  const GermanInC german;
  ASSERT_TRUE(german.taken()) << "the C library takes no locale of glibc's format";
  char text[8];
  ASSERT_EQ(std::snprintf(text, sizeof text, "%.1f", 0.5), 3);
  ASSERT_STREQ(text, "0,5");
  expect_as_without(plain);
  EXPECT_EQ(computed(0.125), 1234567.625);
}

// BL-215: 1 is a number as any other.
TEST(Constants, BL_215_One) {
  Kernel k{"one"};
  const Index n = k.dim("N");
  const Tensor y = k.tensor<int64_t>("y", {n});
  const Scalar mul = k.scalar<int32_t>("mul");
  k.grid(1);
  k.task("main").body([&](Task& t) { y.store({0}, t.full<int64_t>({2}, mul.to<int64_t>() * 3)); });
  const auto exe = engine().compile(k, *engine().device("cpu"));
  ASSERT_TRUE(exe.ok()) << to_string(exe.error());
  for (int32_t m : {42, 1}) {
    int64_t out[2] = {-1, -1};
    ASSERT_TRUE(exe->launch({tensor<int64_t>(out, {2}), m}).ok());
    EXPECT_EQ(out[0], 3 * m);
    EXPECT_EQ(out[1], 3 * m);
  }
  for (int64_t m : {42, 1}) {
    const auto fn = [=](const std::vector<Tile>& x) { return cast<int64_t>(x[0] * m); };
    EXPECT_EQ(apply({Elem::i32}, Elem::i64, fn, {{7}})[0], static_cast<uint64_t>(7 * m));
  }
}

// BL-115: each scalar arrives with its own bits.
TEST(Constants, BL_115_ScalarArguments) {
  Kernel k{"scalars"};
  const Index n = k.dim("N");
  const Tensor a = k.tensor<float>("a", {n}), b = k.tensor<double>("b", {n}), c = k.tensor<bf16>("c", {n}),
               d = k.tensor<f16>("d", {n}), e = k.tensor<bool>("e", {n}), f = k.tensor<int8_t>("f", {n}),
               g = k.tensor<f8e4m3>("g", {n});
  const Scalar x[] = {k.scalar<float>("x0"), k.scalar<double>("x1"), k.scalar<bf16>("x2"),  k.scalar<f16>("x3"),
                      k.scalar<bool>("x4"),  k.scalar<int8_t>("x5"), k.scalar<f8e4m3>("x6")};
  k.grid(1);
  k.task("main").body([&](Task& t) {
    const Tensor* out[] = {&a, &b, &c, &d, &e, &f, &g};
    for (size_t i = 0; i < 7; ++i) out[i]->store({0}, t.full({1}, x[i].elem(), x[i]));
  });
  const auto exe = engine().compile(k, *engine().device("cpu"));
  ASSERT_TRUE(exe.ok()) << to_string(exe.error());
  float fa = -1;
  double fb = -1;
  bf16 fc;
  f16 fd;
  bool fe = false;
  int8_t ff = 0;
  f8e4m3 fg;
  const auto done =
      exe->launch({tensor<float>(&fa, {1}), tensor<double>(&fb, {1}), tensor<bf16>(&fc, {1}), tensor<f16>(&fd, {1}),
                   tensor<bool>(&fe, {1}), tensor<int8_t>(&ff, {1}), tensor<f8e4m3>(&fg, {1}), 0.125f, 1.0 / 3,
                   bf16(1.5f), f16(2.0f), true, int8_t{-113}, f8e4m3(-1.25f)});
  ASSERT_TRUE(done.ok()) << to_string(done.error());
  EXPECT_EQ(fa, 0.125f);
  EXPECT_EQ(fb, 1.0 / 3);
  EXPECT_EQ(fc.bits, bf16(1.5f).bits);
  EXPECT_EQ(fd.bits, f16(2.0f).bits);
  EXPECT_TRUE(fe);
  EXPECT_EQ(ff, -113);
  EXPECT_EQ(fg.bits, f8e4m3(-1.25f).bits);
}

TEST(Constants, LiteralsThatDoNotFit) {
  Kernel k{"literals"};
  const Scalar u = k.scalar<uint64_t>("u"), i = k.scalar<int64_t>("i"), b = k.scalar<uint8_t>("b");
  EXPECT_FALSE((u + -1).valid());
  EXPECT_FALSE((i + (uint64_t{1} << 63)).valid());
  EXPECT_FALSE((b + 256).valid());
  EXPECT_FALSE((i + 0.5).valid());
  const auto module = k.module();
  ASSERT_FALSE(module.ok());
  for (const char* message :
       {"-1 does not fit u64", "9223372036854775808 does not fit i64", "const: 256 does not fit u8",
        "a real number meets i64; cast the other side first with .to<T>()"})
    EXPECT_NE(to_string(module.error()).find(message), std::string::npos)
        << message << " in " << to_string(module.error());
}

}  // namespace
}  // namespace numbers_test
