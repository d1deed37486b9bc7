// backends/cpu/emit/math.cpp — exp2 and log2 of f32, in vectors, within 2 ulp.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/cpu/emit/emitter_p.h"

TLXJIT_NAMESPACE_BEGIN
namespace cpu {

// Both use the polynomials of Cephes' exp2f and log2f on a reduced argument.

Node Elements::exp2(Node x) {
  llvm::Type* f = x->getType();
  llvm::Type* i = f->getWithNewType(b.getInt32Ty());
  auto integer = [&](int64_t v) { return llvm::ConstantInt::getSigned(i, v); };
  // Outside this range the result is 0 or inf all the same; comparisons are false for NaN, which stays.
  Node low = real(f, -151), high = real(f, 129);
  x = b.CreateSelect(b.CreateFCmpOLT(x, low), low, x);
  x = b.CreateSelect(b.CreateFCmpOGT(x, high), high, x);
  // Adding 1.5·2^23 leaves the nearest integer in the low bits.
  Node magic = real(f, 12582912.0);
  Node biased = b.CreateFAdd(x, magic);
  Node n = b.CreateSub(b.CreateBitCast(biased, i), b.CreateBitCast(magic, i));
  Node r = b.CreateFSub(x, b.CreateFSub(biased, magic));
  Node p = real(f, 1.535336188319500e-4);
  for (double c : {1.339887440266574e-3, 9.618437357674640e-3, 5.550332471162809e-2, 2.402264791363012e-1,
                   6.931472028550421e-1, 1.0})
    p = b.CreateFAdd(b.CreateFMul(p, r), real(f, c));
  // 2^n in two steps, so that the first is never subnormal or infinite and the second rounds once.
  auto power = [&](Node e) { return b.CreateBitCast(b.CreateShl(b.CreateAdd(e, integer(127)), integer(23)), f); };
  Node half = b.CreateAShr(n, integer(1));
  return b.CreateFMul(b.CreateFMul(p, power(half)), power(b.CreateSub(n, half)));
}

Node Elements::log2(Node x) {
  llvm::Type* f = x->getType();
  llvm::Type* i = f->getWithNewType(b.getInt32Ty());
  auto integer = [&](int64_t v) { return llvm::ConstantInt::getSigned(i, v); };
  Node tiny = b.CreateFCmpOLT(x, real(f, 1.17549435e-38));
  Node normal = b.CreateSelect(tiny, b.CreateFMul(x, real(f, 8388608.0)), x);
  // x = m · 2^e with m in [√½, √2).
  Node bits32 = b.CreateBitCast(normal, i);
  Node shifted = b.CreateSub(bits32, integer(0x3f3504f3));
  Node e = b.CreateAShr(shifted, integer(23));
  Node m = b.CreateBitCast(b.CreateAdd(b.CreateAnd(shifted, integer(0x7fffff)), integer(0x3f3504f3)), f);
  e = b.CreateSub(e, b.CreateSelect(tiny, integer(23), integer(0)));
  Node t = b.CreateFSub(m, real(f, 1));
  Node z = b.CreateFMul(t, t);
  Node p = real(f, 7.0376836292e-2);
  for (double c : {-1.1514610310e-1, 1.1676998740e-1, -1.2420140846e-1, 1.4249322787e-1, -1.6668057665e-1,
                   2.0000714765e-1, -2.4999993993e-1, 3.3333331174e-1})
    p = b.CreateFAdd(b.CreateFMul(p, t), real(f, c));
  Node y = b.CreateFMul(b.CreateFMul(p, t), z);
  y = b.CreateFAdd(b.CreateFMul(z, real(f, -0.5)), y);
  // log2(e) = 1 + 0.44…, added from small to large.
  Node less = real(f, 0.44269504088896340735992);
  Node sum = b.CreateFMul(y, less);
  sum = b.CreateFAdd(b.CreateFMul(t, less), sum);
  sum = b.CreateFAdd(b.CreateFAdd(b.CreateFAdd(sum, y), t), b.CreateSIToFP(e, f));
  // 0 → −inf, inf → inf, below 0 and NaN → NaN.
  sum = b.CreateSelect(b.CreateFCmpOEQ(x, llvm::ConstantFP::getInfinity(f)), x, sum);
  sum = b.CreateSelect(b.CreateFCmpOEQ(x, real(f, 0)), llvm::ConstantFP::getInfinity(f, true), sum);
  return b.CreateSelect(b.CreateFCmpULT(x, real(f, 0)), llvm::ConstantFP::getNaN(f), sum);
}

}  // namespace cpu
TLXJIT_NAMESPACE_END
