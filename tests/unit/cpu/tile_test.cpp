// tests/unit/cpu/tile_test.cpp — tile ops on the CPU against float64.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <functional>
#include <limits>

#include "tests/reference/tolerance.h"
#include "tests/unit/cpu/plugin_p.h"

namespace cpu_test {
namespace {

constexpr int n = 64;

/// A kernel that has tensors x and y as tiles %x and %y (dots with the unit matrix: no op loads a tile), runs
/// `body` and stores the tile %out of `elem`. Names stand for numbers of values.
std::string with_tiles(const std::string& body, const std::string& elem = "f32") {
  std::string text = R"(tlx 1 lowered cpu
kernel "tile" [threads = 128, shared_bytes = 49152] {
  %n = const [value = 64] : i32
  %tx = tensor %n, %n [name = "x"] : tensor<2xf32>
  %ty = tensor %n, %n [name = "y"] : tensor<2xf32>
  %te = tensor %n, %n [name = "eye"] : tensor<2xf32>
  %to = tensor %n, %n [name = "out"] : tensor<2xELEM>
  %zero = const [value = 0] : i32
  %one = const [value = 1] : i32
  %two = const [value = 2] : i32
  grid %one
  %buf = buffer [swizzle = 0, offset = 0] : buffer<3, 64x64xf32>
  %bar = barrier [count = 1, name = "full", offset = 49152] : barrier<1>
  task [name = "main", warps = 4, replicas = 1, registers = 0] {
    expect %bar, %zero [bytes = 49152]
    copy.load %tx, %buf, %zero, %bar, %zero, %zero, %zero [box = <64, 64>, ragged = -1]
    copy.load %ty, %buf, %one, %bar, %zero, %zero, %zero [box = <64, 64>, ragged = -1]
    copy.load %te, %buf, %two, %bar, %zero, %zero, %zero [box = <64, 64>, ragged = -1]
    wait %bar, %zero, %zero
    %vx = view %buf, %zero : view<64x64xf32>
    %vy = view %buf, %one : view<64x64xf32>
    %ve = view %buf, %two : view<64x64xf32>
    %ax = accumulator : accumulator<64x64xf32>
    %ay = accumulator : accumulator<64x64xf32>
    dot.fence
    dot %ax, %vx, %ve [overwrite = "always"]
    dot %ay, %vy, %ve [overwrite = "always"]
    dot.commit
    dot.wait [pending = 0]
    %x = acc.read %ax [col = 0] : tile<64x64xf32>
    %y = acc.read %ay [col = 0] : tile<64x64xf32>
BODY
    tile.store %to, %out, %zero, %zero [box = <64, 64>, ragged = -1]
  }
}
)";
  auto replace = [&](const std::string& what, const std::string& by) {
    for (size_t at; (at = text.find(what)) != std::string::npos;) text.replace(at, what.size(), by);
  };
  replace("BODY", body);
  replace("ELEM", elem);
  return numbered(text);
}

struct Data {
  Random random;
  Tensor<float> x{{n, n}}, y{{n, n}}, eye{{n, n}};
  Data() {
    for (float& v : x.data) v = random.real(-4, 4);
    for (float& v : y.data) v = random.real(-4, 4);
    for (int i = 0; i < n * n; ++i) eye.data[size_t(i)] = i / n == i % n;
  }
  template <class T>
  void run(const std::string& text, Tensor<T>& out) {
    Kernel kernel(text);
    ASSERT_COMPILED(kernel);
    Launch launch;
    launch.tensors = {x, y, eye, out};
    launch.threads = 1;
    ASSERT_EQ(kernel.launch(launch), TLXJIT_CPU_OK) << kernel.failure.message;
  }
  /// `f(x, y, row, column)` of every element, within `ulp` units of the last place or, for sums whose terms may
  /// cancel, within `bound(row, column)`.
  void check(const std::string& body, const std::function<double(double, double, int, int)>& f, double ulp = 0.5,
             const std::function<double(int, int)>& bound = {}) {
    SCOPED_TRACE(body);
    Tensor<float> out({n, n});
    run(with_tiles(body), out);
    for (int i = 0; i < n * n; ++i) {
      const double want = f(x.data[size_t(i)], y.data[size_t(i)], i / n, i % n), got = out.data[size_t(i)];
      if (std::isnan(want)) {
        ASSERT_TRUE(std::isnan(got)) << "x = " << x.data[size_t(i)] << " y = " << y.data[size_t(i)];
        continue;
      }
      const float near = float(want);
      if (double(near) == got) continue;
      if (bound && std::abs(got - want) <= bound(i / n, i % n)) continue;
      const double unit = std::max(double(std::nextafter(std::abs(near), INFINITY)) - std::abs(near),
                                   double(std::numeric_limits<float>::denorm_min()));
      ASSERT_LE(std::abs(got - want), ulp * unit) << "x = " << x.data[size_t(i)] << " y = " << y.data[size_t(i)];
    }
  }
};

std::string binary(const std::string& op) { return "    %out = " + op + " %x, %y : tile<64x64xf32>"; }
std::string unary(const std::string& op) { return "    %out = " + op + " %x : tile<64x64xf32>"; }

TEST(Tile, Arithmetic) {
  Data d;
  d.check(binary("add"), [](double x, double y, int, int) { return x + y; });
  d.check(binary("sub"), [](double x, double y, int, int) { return x - y; });
  d.check(binary("mul"), [](double x, double y, int, int) { return x * y; });
  d.check(binary("div"), [](double x, double y, int, int) { return x / y; });
  d.check(binary("max"), [](double x, double y, int, int) { return std::fmax(x, y); });
  d.check(binary("min"), [](double x, double y, int, int) { return std::fmin(x, y); });
  d.check(unary("neg"), [](double x, double, int, int) { return -x; });
  d.check(unary("abs"), [](double x, double, int, int) { return std::abs(x); });
  d.check(unary("rcp"), [](double x, double, int, int) { return 1 / x; });
}

TEST(Tile, Exp2AndLog2) {
  Data d;
  d.check(unary("exp2"), [](double x, double, int, int) { return std::exp2(x); }, 2);
  for (float& v : d.x.data) v = d.random.real(-160, 130);
  for (int i = -64; i < 64; ++i) d.x.data[size_t(i + 64)] = float(i);
  d.check(unary("exp2"), [](double x, double, int, int) { return std::exp2(x); }, 2);
  for (float& v : d.x.data) v = std::exp2(d.random.real(-148, 127));
  d.check(unary("log2"), [](double x, double, int, int) { return std::log2(x); }, 2);
  for (float& v : d.x.data) v = 1 + d.random.real(-0.4f, 0.4f) * std::exp2(d.random.real(-20, 0));
  d.check(unary("log2"), [](double x, double, int, int) { return std::log2(x); }, 2);
}

TEST(Tile, Exp2OfAnySize) {
  Data d;
  for (int i = 0; i < n * n; ++i) {
    const float size = std::exp2(d.random.real(-140, 127.9f));
    d.x.data[size_t(i)] = i < 4 ? (i % 2 ? 1e16f : -1e16f) : i % 2 ? size : -size;
  }
  d.check(unary("exp2"), [](double x, double, int, int) { return std::exp2(x); }, 2);
  // Also of a product and a sum, which may become one operation; the argument is rounded, by up to 2^-16.
  for (float& v : d.x.data) v = std::fmod(v, 1e10f);
  d.check(
      R"(
    %f = const [value = 1e16] : f32
    %s = splat %f : tile<64x64xf32>
    %p = mul %x, %s : tile<64x64xf32>
    %q = add %p, %p : tile<64x64xf32>
    %out = exp2 %q : tile<64x64xf32>)",
      [](double x, double, int, int) { return std::exp2(2 * x * double(1e16f)); }, 400);
}

TEST(Tile, ShiftsByAnAmountModuloTheBits) {
  for (const char* elem : {"i32", "u32", "i8", "u8", "i16", "u16", "i64", "u64"}) {
    const int bits = std::atoi(elem + 1), minus = -bits + 2;
    const std::string t = "tile<64x64x" + std::string(elem) + ">";
    std::string amount = "    %a = const [value = " + std::to_string(elem[0] == 'i' ? minus : bits + 2) + "] : " + elem;
    Data d;
    std::string body = amount + R"(
    %b = splat %a : T
    %i = iota [axis = 1] : tile<64x64xi32>
    %j = cast %i : T
    %k = shl %j, %b : T
    %l = shr %k, %b : T
    %m = shl %a, %a : E
    %o = cmp %m, %a [pred = "ne"] : b1
    %r = cast %l : tile<64x64xf32>
    %out = select %o, %r, %x : tile<64x64xf32>)";
    for (size_t at; (at = body.find(": T")) != std::string::npos;) body.replace(at, 3, ": " + t);
    for (size_t at; (at = body.find(": E")) != std::string::npos;) body.replace(at, 3, std::string(": ") + elem);
    d.check(body, [&](double, double, int, int j) {
      const int64_t x = int64_t(j) << 2;
      if (bits > 8) return j;
      return elem[0] == 'u' ? int(uint8_t(x)) >> 2 : int(int8_t(x)) >> 2;
    });
  }
}

// The special values do not come through a dot (0 · inf), so they are made in the kernel.
TEST(Tile, SpecialValues) {
  Data d;
  for (auto [value, exp, log] : {std::tuple{"-inf", 0.0, double(NAN)},
                                 {"inf", double(INFINITY), double(INFINITY)},
                                 {"nan", double(NAN), double(NAN)},
                                 {"0.0", 1.0, double(-INFINITY)},
                                 {"-1.0", 0.5, double(NAN)},
                                 {"1.0", 2.0, 0.0}}) {
    const std::string made =
        std::string("    %c = const [value = ") + value + "] : f32\n    %s = splat %c : tile<64x64xf32>\n";
    d.check(made + "    %out = exp2 %s : tile<64x64xf32>", [&](double, double, int, int) { return exp; });
    d.check(made + "    %out = log2 %s : tile<64x64xf32>", [&](double, double, int, int) { return log; });
  }
  const std::string nan = "    %c = const [value = nan] : f32\n    %s = splat %c : tile<64x64xf32>\n";
  d.check(nan + "    %out = max %s, %x : tile<64x64xf32>", [](double x, double, int, int) { return x; });
  d.check(nan + "    %out = min %x, %s : tile<64x64xf32>", [](double x, double, int, int) { return x; });
  d.check(nan + "    %e = cmp %x, %s [pred = \"ne\"] : tile<64x64xb1>\n    %out = cast %e : tile<64x64xf32>",
          [](double, double, int, int) { return 1; });
}

TEST(Tile, IntegersAndMasks) {
  Data d;
  d.check(R"(
    %i = iota [axis = 0] : tile<64x64xi32>
    %j = iota [axis = 1] : tile<64x64xi32>
    %c = const [value = 3] : i32
    %s = splat %c : tile<64x64xi32>
    %k = add %j, %s : tile<64x64xi32>
    %m = cmp %k, %i [pred = "gt"] : tile<64x64xb1>
    %out = select %m, %x, %y : tile<64x64xf32>)",
          [](double x, double y, int i, int j) { return j + 3 > i ? x : y; });
  d.check(R"(
    %i = iota [axis = 0] : tile<64x64xi32>
    %j = iota [axis = 1] : tile<64x64xi32>
    %c = const [value = 7] : i32
    %s = splat %c : tile<64x64xi32>
    %a = sub %i, %j : tile<64x64xi32>
    %b = div %a, %s : tile<64x64xi32>
    %r = mod %a, %s : tile<64x64xi32>
    %l = const [value = 4] : i32
    %t = splat %l : tile<64x64xi32>
    %u = shl %b, %t : tile<64x64xi32>
    %v = xor %u, %r : tile<64x64xi32>
    %out = cast %v : tile<64x64xf32>)",
          [](double, double, int i, int j) { return ((i - j) / 7 * 16) ^ ((i - j) % 7); });
  d.check(R"(
    %z = const [value = 0] : i32
    %i = iota [axis = 1] : tile<64x64xi32>
    %s = splat %z : tile<64x64xi32>
    %q = div %i, %s : tile<64x64xi32>
    %p = cmp %one, %zero [pred = "gt"] : b1
    %out = select %p, %y, %x : tile<64x64xf32>)",
          [](double, double y, int, int) { return y; });
}

TEST(Tile, ReduceAndBroadcast) {
  Data d;
  auto row = [&](int i, int j) { return double(d.x.data[size_t(i * n + j)]); };
  d.check(R"(
    %m = reduce %x [kind = "max", axis = 1, partial = 0] : tile<64xf32>
    %out = broadcast %m [axis = 1] : tile<64x64xf32>)",
          [&](double, double, int i, int) {
            double m = -INFINITY;
            for (int j = 0; j < n; ++j) m = std::max(m, row(i, j));
            return m;
          });
  d.check(R"(
    %m = reduce %x [kind = "max", axis = 0, partial = 0] : tile<64xf32>
    %out = broadcast %m [axis = 0] : tile<64x64xf32>)",
          [&](double, double, int, int j) {
            double m = -INFINITY;
            for (int i = 0; i < n; ++i) m = std::max(m, row(i, j));
            return m;
          });
  d.check(
      R"(
    %a = abs %x : tile<64x64xf32>
    %p = reduce %a [kind = "sum", axis = 1, partial = 1] : tile<64xf32>
    %s = finish %p [kind = "sum"] : tile<64xf32>
    %out = broadcast %s [axis = 1] : tile<64x64xf32>)",
      [&](double, double, int i, int) {
        double s = 0;
        for (int j = 0; j < n; ++j) s += std::abs(row(i, j));
        return s;
      },
      8);
}

// One step of a softmax with variables, then a rescale of sums in place.
TEST(Tile, SoftmaxStep) {
  Data d;
  d.check(
      R"(
    %c = const [value = 0.5] : f32
    %ninf = const [value = -inf] : f32
    %m0 = splat %ninf : tile<64xf32>
    %mvar = var %m0 : var<tile<64xf32>>
    %mx = reduce %x [kind = "max", axis = 1, partial = 0] : tile<64xf32>
    %mo = get %mvar : tile<64xf32>
    %mn = max %mo, %mx : tile<64xf32>
    %cs = splat %c : tile<64xf32>
    %mc = mul %mn, %cs : tile<64xf32>
    set %mvar, %mn
    %mb = broadcast %mc [axis = 1] : tile<64x64xf32>
    %ct = splat %c : tile<64x64xf32>
    %xc = mul %x, %ct : tile<64x64xf32>
    %dd = sub %xc, %mb : tile<64x64xf32>
    %e = exp2 %dd : tile<64x64xf32>
    %ps = reduce %e [kind = "sum", axis = 1, partial = 1] : tile<64xf32>
    %l = finish %ps [kind = "sum"] : tile<64xf32>
    %r = rcp %l : tile<64xf32>
    %rb = broadcast %r [axis = 1] : tile<64x64xf32>
    acc.write %ay, %e
    %a = acc.read %ay [col = 0] : tile<64x64xf32>
    %as = mul %a, %rb : tile<64x64xf32>
    acc.write %ay, %as
    %out = acc.read %ay [col = 0] : tile<64x64xf32>)",
      [&](double x, double, int i, int) {
        double m = -INFINITY, sum = 0;
        for (int j = 0; j < n; ++j) m = std::max(m, double(d.x.data[size_t(i * n + j)]));
        for (int j = 0; j < n; ++j) sum += std::exp2((d.x.data[size_t(i * n + j)] - m) / 2);
        return std::exp2((x - m) / 2) / sum;
      },
      16);
}

TEST(Tile, GetKeepsItsValue) {
  Data d;
  d.check(
      R"(
    %v = var %x : var<tile<64x64xf32>>
    %a = get %v : tile<64x64xf32>
    set %v, %y
    %b = get %v : tile<64x64xf32>
    for %zero, %two, %one {
      (%k: i32)
      %g = get %v : tile<64x64xf32>
      %h = add %g, %a : tile<64x64xf32>
      set %v, %h
    }
    %f = get %v : tile<64x64xf32>
    %out = sub %f, %b : tile<64x64xf32>)",
      [](double x, double y, int, int) { return double((float(y) + float(x)) + float(x)) - y; }, 1);
}

/// What LLVM does takes time that grows with the square of what stands in one loop.
TEST(Tile, ManyOpsAreSeveralLoops) {
  constexpr int steps = 2000;
  std::string body = "    %s0 = sub %y, %x : tile<64x64xf32>\n";
  for (int i = 1; i < steps; ++i)
    body += "    %s" + std::to_string(i) + " = sub %y, %s" + std::to_string(i - 1) + " : tile<64x64xf32>\n";
  body += "    %out = add %s" + std::to_string(steps - 1) + ", %s100 : tile<64x64xf32>";  // of two loops
  Data d;
  d.check(body, [](double x, double y, int, int) {
    float s = float(x), s100 = 0;
    for (int i = 0; i < steps; ++i) {
      s = float(y) - s;
      if (i == 100) s100 = s;
    }
    return double(s + s100);
  });
  std::string ir;
  const auto keep = [](void* to, const char* text, size_t size) { static_cast<std::string*>(to)->assign(text, size); };
  const tlxjit_cpu_options options{nullptr, nullptr, nullptr, keep, &ir};
  tlxjit_cpu_kernel* kernel = nullptr;
  tlxjit_cpu_failure failure{};
  const std::string text = with_tiles(body);
  ASSERT_EQ(backend().compile(text.data(), text.size(), &options, &kernel, &failure), TLXJIT_CPU_OK) << failure.message;
  backend().destroy(kernel);
  std::istringstream lines(ir);
  size_t all = 0, block = 0, largest = 0;
  for (std::string line; std::getline(lines, line);) {
    if (line.find("fsub") == std::string::npos) {
      if (line.empty() || line.back() == ':') block = 0;
      continue;
    }
    ++all;
    largest = std::max(largest, ++block);
  }
  EXPECT_EQ(all, size_t{steps});
  EXPECT_LE(largest, 512u);
}

TEST(Tile, Bf16RoundsOncePerOp) {
  Data d;
  Tensor<bf16> out({n, n});
  d.run(with_tiles(R"(
    %a = cast %x : tile<64x64xbf16>
    %b = cast %y : tile<64x64xbf16>
    %p = mul %a, %b : tile<64x64xbf16>
    %out = add %p, %a : tile<64x64xbf16>)",
                   "bf16"),
        out);
  for (int i = 0; i < n * n; ++i) {
    const bf16 a(d.x.data[size_t(i)]), b(d.y.data[size_t(i)]), p(float(a) * float(b));
    ASSERT_EQ(out.data[size_t(i)].bits, bf16(float(p) + float(a)).bits);
  }
  d.run(with_tiles(R"(
    %c = const [value = nan] : f32
    %s = splat %c : tile<64x64xf32>
    %out = cast %s : tile<64x64xbf16>)",
                   "bf16"),
        out);
  for (bf16 v : out.data) ASSERT_TRUE(std::isnan(float(v)));
}

TEST(Tile, F16) {
  Data d;
  d.check(R"(
    %a = cast %x : tile<64x64xf16>
    %b = cast %y : tile<64x64xf16>
    %p = mul %a, %b : tile<64x64xf16>
    %out = cast %p : tile<64x64xf32>)",
          [](double x, double y, int, int) {
            return double(float(_Float16(float(_Float16(float(x))) * float(_Float16(float(y))))));
          });
}

TEST(Tile, FloatToIntegerSaturates) {
  Data d;
  Tensor<int32_t> out({n, n});
  for (auto [value, want] : {std::pair{"1e20", INT32_MAX}, {"-inf", INT32_MIN}, {"nan", 0}, {"-2.7", -2}}) {
    d.run(with_tiles(std::string("    %c = const [value = ") + value +
                         "] : f32\n    %s = splat %c : tile<64x64xf32>\n" + "    %out = cast %s : tile<64x64xi32>",
                     "i32"),
          out);
    for (int32_t v : out.data) ASSERT_EQ(v, want) << value;
  }
}

TEST(Tile, DotOfTileAndTransposedView) {
  Data d;
  d.check(
      R"(
    %t = trans %vy : view<64x64xf32>
    %s = accumulator : accumulator<64x64xf32>
    %p = add %x, %y : tile<64x64xf32>
    dot.fence
    dot %s, %p, %t [overwrite = "never"]
    dot %s, %p, %vy [overwrite = "never"]
    dot.commit
    dot.wait [pending = 0]
    %out = acc.read %s [col = 0] : tile<64x64xf32>)",
      [&](double, double, int i, int j) {
        double sum = 0;
        for (int k = 0; k < n; ++k)
          sum += (double(d.x.data[size_t(i * n + k)]) + d.y.data[size_t(i * n + k)]) *
                 (double(d.y.data[size_t(j * n + k)]) + d.y.data[size_t(k * n + j)]);
        return sum;
      },
      0.5, [&](int i, int j) {  // 2n terms, of which each factor is rounded; relative to what is summed
        double magnitude = 0;
        for (int k = 0; k < n; ++k)
          magnitude += std::abs(double(d.x.data[size_t(i * n + k)]) + d.y.data[size_t(i * n + k)]) *
                       (std::abs(double(d.y.data[size_t(j * n + k)])) + std::abs(double(d.y.data[size_t(k * n + j)])));
        return reference::tolerance(magnitude, magnitude, 2 * n, reference::roundoff_f32);
      });
}

}  // namespace
}  // namespace cpu_test
