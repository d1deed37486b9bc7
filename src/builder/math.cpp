// src/builder/math.cpp — conversions and mathematical functions of tiles and scalars.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tlxjit/builder/math.h"

#include <cmath>

#include "src/builder/elementwise_p.h"

TLXJIT_NAMESPACE_BEGIN

Tile cast(Operand x, Elem to, CastOptions options) {
  if (BuilderState* s = x.tile.state.get(); s && x.tile.value != no_value && s->module.type(x.tile.value).elem == to)
    return s->copy(x.tile, x.at);
  if (BuilderState* s = x.tile.state.get(); s && !s->knows(options.rounding, Rounding::towards_zero, "Rounding", x.at))
    return s->poison();
  Attrs attrs;
  if (options.rounding == Rounding::towards_zero) attrs.set("rounding", std::string("rtz"));
  if (options.saturate) attrs.set("saturate", int64_t{*options.saturate});
  return elementwise(OpCode::cast, {&x}, std::move(attrs), 0, to);
}

Tile cast_stochastic(Operand x, Elem to, Operand random) {
  Attrs attrs;
  attrs.set("rounding", std::string("stochastic"));
  return elementwise(OpCode::cast, {&x, &random}, std::move(attrs), 0, to);
}

Tile bitcast(Operand x, Elem to) { return elementwise(OpCode::bitcast, {&x}, {}, 0, to); }

Tile exp(Operand a) { return elementwise(OpCode::exp, {&a}); }
Tile exp2(Operand a) { return elementwise(OpCode::exp2, {&a}); }
Tile log(Operand a) { return elementwise(OpCode::log, {&a}); }
Tile log2(Operand a) { return elementwise(OpCode::log2, {&a}); }
Tile rcp(Operand a) { return elementwise(OpCode::rcp, {&a}); }
Tile sqrt(Operand a) { return elementwise(OpCode::sqrt, {&a}); }
Tile rsqrt(Operand a) { return elementwise(OpCode::rsqrt, {&a}); }
Tile sin(Operand a) { return elementwise(OpCode::sin, {&a}); }
Tile cos(Operand a) { return elementwise(OpCode::cos, {&a}); }
Tile tanh(Operand a) { return elementwise(OpCode::tanh, {&a}); }
Tile erf(Operand a) { return elementwise(OpCode::erf, {&a}); }
Tile floor(Operand a) { return elementwise(OpCode::floor, {&a}); }
Tile ceil(Operand a) { return elementwise(OpCode::ceil, {&a}); }
Tile trunc(Operand a) { return elementwise(OpCode::trunc, {&a}); }
Tile round(Operand a) { return elementwise(OpCode::round, {&a}); }
Tile pow(Operand a, Operand b) { return elementwise(OpCode::pow, {&a, &b}); }
Tile copysign(Operand a, Operand b) { return elementwise(OpCode::copysign, {&a, &b}); }
Tile fma(Operand a, Operand b, Operand c) { return elementwise(OpCode::fma, {&a, &b, &c}); }

namespace {

/// A literal that stands where another operand does.
Operand literal(double number, const Operand& beside) { return Operand(number, std::source_location(beside.at)); }

}  // namespace

Tile sigmoid(Operand a) {
  const Tile power = exp(Operand(-a, a.at)), sum = Operand(power, a.at) + literal(1, a);
  return rcp(Operand(sum, a.at));
}

Tile silu(Operand a) { return a * Operand(sigmoid(a), a.at); }
Tile clamp(Operand a, Operand low, Operand high) { return max(low, Operand(min(a, high), a.at)); }
Tile is_nan(Operand a) { return a != a; }
Tile is_inf(Operand a) { return Operand(abs(a), a.at) == literal(INFINITY, a); }

Tile min_nan(Operand a, Operand b) { return elementwise(OpCode::min_nan, {&a, &b}); }
Tile max_nan(Operand a, Operand b) { return elementwise(OpCode::max_nan, {&a, &b}); }
Tile floor_div(Operand a, Operand b) { return elementwise(OpCode::floor_div, {&a, &b}); }
Tile floor_mod(Operand a, Operand b) { return elementwise(OpCode::floor_mod, {&a, &b}); }
Tile mulhi(Operand a, Operand b) { return elementwise(OpCode::mulhi, {&a, &b}); }
Tile popcount(Operand a) { return elementwise(OpCode::popcount, {&a}); }
Tile clz(Operand a) { return elementwise(OpCode::clz, {&a}); }

TLXJIT_NAMESPACE_END
