// backends/cpu/emit/math_f32.cpp — exponentials, logarithms and tanh of f32, in vectors.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/cpu/emit/math_p.h"

TLXJIT_NAMESPACE_BEGIN
namespace cpu {

// All use the polynomials of Cephes' functions of single precision on a reduced argument. Multiplications and additions
// may become fma, which none of the steps minds.

namespace {

/// f32 code of one shape.
struct F32 {
  Elements& e;
  llvm::Type* f;
  llvm::Type* i;

  F32(Elements& elements, Node x)
      : e(elements), f(x->getType()), i(x->getType()->getWithNewType(elements.b.getInt32Ty())) {}
  llvm::IRBuilder<>& b() const { return e.b; }
  Node real(double v) const { return e.real(f, v); }
  Node integer(int64_t v) const { return llvm::ConstantInt::getSigned(i, v); }
  Node add(Node x, Node y) const { return e.b.CreateFAdd(x, y); }
  Node mul(Node x, Node y) const { return e.b.CreateFMul(x, y); }
  /// Coefficients from the highest power down.
  Node polynomial(Node x, std::initializer_list<double> coefficients) const {
    Node p = nullptr;
    for (double c : coefficients) p = p ? add(mul(p, x), real(c)) : real(c);
    return p;
  }
  /// x within bounds; NaN, for which comparisons are false, stays.
  Node clamped(Node x, double low, double high) const {
    x = e.b.CreateSelect(e.b.CreateFCmpOLT(x, real(low)), real(low), x);
    return e.b.CreateSelect(e.b.CreateFCmpOGT(x, real(high)), real(high), x);
  }
  /// The integer nearest to x as an integer, and in x's place as a float: 1.5·2^23 leaves it in the low bits.
  Node nearest(Node& x) const {
    Node magic = real(12582912.0), biased = add(x, magic);
    x = e.b.CreateFSub(biased, magic);
    return e.b.CreateSub(e.b.CreateBitCast(biased, i), e.b.CreateBitCast(magic, i));
  }
  /// p · 2^n in two steps, so that the first is never subnormal or infinite and the second rounds once; 0 where `gone`,
  /// by a factor of 0: a product that underflows is a hundred times slower, and masked scores are full of them.
  Node scaled(Node p, Node n, Node gone) const {
    auto power = [&](Node k) {
      return e.b.CreateBitCast(e.b.CreateShl(e.b.CreateAdd(k, integer(127)), integer(23)), f);
    };
    Node half = e.b.CreateAShr(n, integer(1));
    return mul(mul(p, power(half)), e.b.CreateSelect(gone, real(0), power(e.b.CreateSub(n, half))));
  }
};

/// x = m · 2^e with m in [√½, √2): log m is about t − t²/2 + rest.
struct Logarithm {
  Node e, t, square, rest;
};

Logarithm logarithm(const F32& k, Node x) {
  llvm::IRBuilder<>& b = k.b();
  Node tiny = b.CreateFCmpOLT(x, k.real(1.17549435e-38));
  Node normal = b.CreateSelect(tiny, k.mul(x, k.real(8388608.0)), x);
  Node shifted = b.CreateSub(b.CreateBitCast(normal, k.i), k.integer(0x3f3504f3));
  Node e = b.CreateAShr(shifted, k.integer(23));
  Node m = b.CreateBitCast(b.CreateAdd(b.CreateAnd(shifted, k.integer(0x7fffff)), k.integer(0x3f3504f3)), k.f);
  e = b.CreateSub(e, b.CreateSelect(tiny, k.integer(23), k.integer(0)));
  Node t = b.CreateFSub(m, k.real(1)), z = k.mul(t, t);
  Node p = k.polynomial(t, {7.0376836292e-2, -1.1514610310e-1, 1.1676998740e-1, -1.2420140846e-1, 1.4249322787e-1,
                            -1.6668057665e-1, 2.0000714765e-1, -2.4999993993e-1, 3.3333331174e-1});
  return {b.CreateSIToFP(e, k.f), t, z, k.mul(k.mul(p, t), z)};
}

/// 0 → −inf, inf → inf, below 0 and NaN → NaN.
Node logarithm_ends(const F32& k, Node x, Node y) {
  llvm::IRBuilder<>& b = k.b();
  Node infinite = llvm::ConstantFP::getInfinity(k.f);
  y = b.CreateSelect(b.CreateFCmpOEQ(x, infinite), x, y);
  y = b.CreateSelect(b.CreateFCmpOEQ(x, k.real(0)), llvm::ConstantFP::getInfinity(k.f, true), y);
  return b.CreateSelect(b.CreateFCmpULT(x, k.real(0)), llvm::ConstantFP::getNaN(k.f), y);
}

}  // namespace

Node exp2_f32(Elements& e, Node x) {
  const F32 k(e, x);
  Node gone = e.b.CreateFCmpOLE(x, k.real(-150));  // half of the least subnormal: rounds to 0
  x = k.clamped(x, -151, 129);                     // outside the result is 0 or inf all the same
  Node whole = x;
  Node n = k.nearest(whole);
  Node r = e.b.CreateFSub(x, whole);
  return k.scaled(k.polynomial(r, {1.535336188319500e-4, 1.339887440266574e-3, 9.618437357674640e-3,
                                   5.550332471162809e-2, 2.402264791363012e-1, 6.931472028550421e-1, 1.0}),
                  n, gone);
}

Node exp_f32(Elements& e, Node x) {
  const F32 k(e, x);
  Node gone = e.b.CreateFCmpOLT(x, k.real(-104));  // 150 · ln 2 = 103.97…
  x = k.clamped(x, -105, 89.5);
  Node whole = k.mul(x, k.real(1.44269504088896341));
  Node n = k.nearest(whole);
  // ln 2 in two parts: the first has few bits, so that its product with n is exact.
  Node r = e.b.CreateFSub(x, k.mul(whole, k.real(0.693359375)));
  r = e.b.CreateFSub(r, k.mul(whole, k.real(-2.12194440e-4)));
  Node p = k.polynomial(
      r, {1.9875691500e-4, 1.3981999507e-3, 8.3334519073e-3, 4.1665795894e-2, 1.6666665459e-1, 5.0000001201e-1});
  return k.scaled(k.add(k.add(k.mul(k.mul(r, r), p), r), k.real(1)), n, gone);
}

Node log2_f32(Elements& e, Node x) {
  const F32 k(e, x);
  const Logarithm l = logarithm(k, x);
  Node y = k.add(k.mul(l.square, k.real(-0.5)), l.rest);
  // log2(e) = 1 + 0.44…, added from small to large.
  Node less = k.real(0.44269504088896340735992);
  Node sum = k.add(k.mul(l.t, less), k.mul(y, less));
  return logarithm_ends(k, x, k.add(k.add(k.add(sum, y), l.t), l.e));
}

Node log_f32(Elements& e, Node x) {
  const F32 k(e, x);
  const Logarithm l = logarithm(k, x);
  Node y = k.add(k.mul(l.e, k.real(-2.12194440e-4)), l.rest);
  y = k.add(k.mul(l.square, k.real(-0.5)), y);
  return logarithm_ends(k, x, k.add(k.mul(l.e, k.real(0.693359375)), k.add(l.t, y)));
}

Node tanh_f32(Elements& e, Node x) {
  const F32 k(e, x);
  llvm::IRBuilder<>& b = e.b;
  Node a = b.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, x), z = k.mul(a, a);
  Node p =
      k.polynomial(z, {-5.70498872745e-3, 2.06390887954e-2, -5.37397155531e-2, 1.33314422036e-1, -3.33332819422e-1});
  Node small = k.add(k.mul(k.mul(p, z), a), a);
  Node power = exp_f32(e, k.add(a, a));
  Node large = b.CreateFSub(k.real(1), b.CreateFDiv(k.real(2), k.add(power, k.real(1))));
  Node y = b.CreateSelect(b.CreateFCmpOLT(a, k.real(0.625)), small, large);
  return b.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, y, x);
}

}  // namespace cpu
TLXJIT_NAMESPACE_END
