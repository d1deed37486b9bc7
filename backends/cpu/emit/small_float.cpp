// backends/cpu/emit/small_float.cpp — codes of floats of 16 bits and fewer: from f32 in any rounding, and back.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cmath>

#include "backends/cpu/emit/emitter_p.h"

TLXJIT_NAMESPACE_BEGIN
namespace cpu {

namespace {

/// Codes are without the sign. Where there is no infinity, `infinity` is what an overflow gives.
struct Format {
  int mantissa, bias;
  uint32_t largest, infinity, nan;
};

Format format(Elem elem) {
  switch (elem) {
    case Elem::f16: return {10, 15, 0x7bff, 0x7c00, 0x7e00};
    case Elem::bf16: return {7, 127, 0x7f7f, 0x7f80, 0x7fc0};
    case Elem::f8e4m3: return {3, 7, 0x7e, 0x7f, 0x7f};
    case Elem::f8e5m2: return {2, 15, 0x7b, 0x7c, 0x7f};
    case Elem::f4e2m1: return {1, 1, 7, 7, 7};
    default: throw Unsupported{nullptr, std::string("codes of ") + to_string(elem)};
  }
}

}  // namespace

/// The code of an f32, in 32 bits.
Node Elements::encode(Node x, Elem to, const CastMode& mode) {
  const Format f = format(to);
  const int drop = 23 - f.mantissa;
  llvm::Type* type = like(x, b.getInt32Ty());
  auto integer = [&](uint64_t v) { return llvm::ConstantInt::get(type, v); };
  Node u = b.CreateBitCast(x, type);
  Node m = b.CreateAnd(u, integer(0x7fffffff));
  Node nan = b.CreateICmpUGT(m, integer(0x7f800000));
  const bool nearest = mode.rounding == CastMode::nearest, chance = mode.rounding == CastMode::stochastic;
  Node add = integer(0);  // below the last bit that stays; what carries rounds away from zero
  if (nearest)
    add = b.CreateAdd(b.CreateAnd(b.CreateLShr(m, integer(static_cast<uint64_t>(drop))), integer(1)),
                      integer((uint64_t{1} << (drop - 1)) - 1));
  if (chance) add = b.CreateLShr(mode.random, integer(static_cast<uint64_t>(32 - drop)));
  const auto bias = static_cast<uint64_t>(127 - f.bias) << f.mantissa;
  Node code = b.CreateSub(b.CreateLShr(b.CreateAdd(m, add), integer(static_cast<uint64_t>(drop))), integer(bias));
  if (f.bias != 127) {
    // Below the least normal number the unit stays the same: the code counts units.
    const int least = 1 - f.bias;
    Node magnitude = b.CreateBitCast(m, x->getType());
    Node units = b.CreateFMul(magnitude, real(x->getType(), std::exp2((chance ? 23 : f.mantissa) - least)));
    if (nearest) units = b.CreateUnaryIntrinsic(llvm::Intrinsic::roundeven, units);
    Node count = b.CreateFPToSI(units, type);
    if (chance) count = b.CreateLShr(b.CreateAdd(count, add), integer(static_cast<uint64_t>(drop)));
    code = b.CreateSelect(b.CreateFCmpOLT(magnitude, real(x->getType(), std::exp2(least))), count, code);
  }
  Node beyond = integer(mode.saturate ? f.largest : f.infinity);
  if (!mode.saturate && mode.rounding == CastMode::to_zero)  // a finite number stays finite
    beyond = b.CreateSelect(b.CreateICmpEQ(m, integer(0x7f800000)), beyond, integer(f.largest));
  code = b.CreateSelect(b.CreateICmpSGT(code, integer(f.largest)), beyond, code);
  code = b.CreateSelect(nan, integer(f.nan), code);
  Node sign = b.CreateLShr(u, integer(31));
  if (to == Elem::f4e2m1) sign = b.CreateSelect(nan, integer(0), sign);  // as NVIDIA does: NaN gives +6
  return b.CreateOr(code, b.CreateShl(sign, integer(static_cast<uint64_t>(bits(to) - 1))));
}

/// The exponent alone: of the nearest power of two, the greater of two that are as near; of 0 the least there is.
Node Elements::encode_e8m0(Node x, const CastMode& mode) {
  llvm::Type* type = like(x, b.getInt32Ty());
  auto integer = [&](uint64_t v) { return llvm::ConstantInt::get(type, v); };
  Node u = b.CreateBitCast(x, type);
  Node m = b.CreateAnd(u, integer(0x7fffffff));
  const bool cut = mode.rounding == CastMode::to_zero;
  Node code = b.CreateLShr(cut ? m : b.CreateAdd(m, integer(0x400000)), integer(23));
  // Code 0 is 2^-127, a subnormal f32: 1.5 times that is 0x600000.
  Node tiny = cut ? integer(0) : b.CreateZExt(b.CreateICmpUGE(m, integer(0x600000)), type);
  code = b.CreateSelect(b.CreateICmpULT(m, integer(0x800000)), tiny, code);
  if (mode.saturate) code = b.CreateBinaryIntrinsic(llvm::Intrinsic::umin, code, integer(254));
  Node none = b.CreateOr(b.CreateICmpUGT(m, integer(0x7f800000)), b.CreateICmpUGT(u, integer(0x80000000)));
  return b.CreateSelect(none, integer(255), code);
}

/// The f32 that a code of 8 or 4 bits stands for.
Node Elements::decode(Node code, Elem from) {
  llvm::Type* type = like(code, b.getInt32Ty());
  llvm::Type* f = like(code, b.getFloatTy());
  auto integer = [&](uint64_t v) { return llvm::ConstantInt::get(type, v); };
  if (from == Elem::f8e5m2) {  // the upper byte of an f16
    llvm::Type* i16 = like(code, b.getInt16Ty());
    Node half = b.CreateShl(b.CreateZExt(code, i16), llvm::ConstantInt::get(i16, 8));
    return from_memory(b.CreateBitCast(half, like(code, b.getHalfTy())), Elem::f16);
  }
  Node u = b.CreateZExt(code, type);
  if (from == Elem::e8m0) {
    Node power = b.CreateSelect(b.CreateICmpEQ(u, integer(0)), integer(0x400000), b.CreateShl(u, integer(23)));
    return b.CreateBitCast(b.CreateSelect(b.CreateICmpEQ(u, integer(255)), integer(0x7fc00000), power), f);
  }
  // The code's bits at their place in an f32, whose exponent is then put right: exact, subnormal numbers too.
  const Format format = cpu::format(from);
  const auto sign_bit = static_cast<uint64_t>(bits(from) - 1);
  Node m = b.CreateAnd(u, integer((uint64_t{1} << sign_bit) - 1));
  Node raw = b.CreateBitCast(b.CreateShl(m, integer(static_cast<uint64_t>(23 - format.mantissa))), f);
  Node x = b.CreateFMul(raw, real(f, std::exp2(127 - format.bias)));
  Node magnitude = b.CreateBitCast(x, type);
  if (from == Elem::f8e4m3)
    magnitude = b.CreateSelect(b.CreateICmpEQ(m, integer(format.nan)), integer(0x7fc00000), magnitude);
  Node sign = b.CreateShl(b.CreateLShr(u, integer(sign_bit)), integer(31));
  return b.CreateBitCast(b.CreateOr(magnitude, sign), f);
}

}  // namespace cpu
TLXJIT_NAMESPACE_END
