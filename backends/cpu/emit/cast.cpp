// backends/cpu/emit/cast.cpp — conversions between element types, rounding, constants.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cmath>

#include "backends/cpu/emit/emitter_p.h"

TLXJIT_NAMESPACE_BEGIN
namespace cpu {

namespace {

// Without flags that would let LLVM drop a narrowing and a widening: the rounding between them is wanted.
Node narrowed(llvm::IRBuilder<>& b, Node x, llvm::Type* type) {
  return b.CreateFPTruncFMF(x, type, llvm::FastMathFlags());
}
Node widened(llvm::IRBuilder<>& b, Node x, llvm::Type* type) {
  return b.CreateFPExtFMF(x, type, llvm::FastMathFlags());
}

}  // namespace

Node Elements::real(llvm::Type* type, double value) const { return llvm::ConstantFP::get(type, value); }

Node Elements::round(Node x, Elem elem) {
  if (elem == Elem::f16) {
    llvm::Type* half = x->getType()->getWithNewType(b.getHalfTy());
    return widened(b, narrowed(b, x, half), x->getType());
  }
  return elem == Elem::bf16 ? shortened(x, 16) : x;
}

Node Elements::shortened(Node x, unsigned bits) {
  // In integers: adding just under half a unit, or half where the last bit is odd, carries.
  llvm::Type* i = x->getType()->getWithNewType(b.getInt32Ty());
  auto integer = [&](uint64_t v) { return llvm::ConstantInt::get(i, v); };
  Node u = b.CreateBitCast(x, i);
  Node odd = b.CreateAnd(b.CreateLShr(u, integer(bits)), integer(1));
  Node rounded = b.CreateAdd(u, b.CreateAdd(odd, integer((uint64_t{1} << (bits - 1)) - 1)));
  Node quiet = b.CreateOr(u, integer(0x400000));  // a NaN must not carry into infinity
  Node kept = b.CreateSelect(b.CreateFCmpUNO(x, x), quiet, rounded);
  return b.CreateBitCast(b.CreateAnd(kept, integer(~uint64_t{0} << bits)), x->getType());
}

/// f64 to f32 with the lost bits kept as a sticky last bit, so that a second rounding is right.
Node Elements::odd_f32(Node x) {
  Node near = narrowed(b, x, like(x, b.getFloatTy()));
  Node back = widened(b, near, x->getType());
  auto magnitude = [&](Node v) { return b.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, v); };
  Node away = b.CreateFCmpOGT(magnitude(back), magnitude(x));
  Node inexact = b.CreateFCmpONE(back, x);
  Node u = b.CreateBitCast(near, like(x, b.getInt32Ty()));
  u = b.CreateSub(u, b.CreateZExt(away, u->getType()));
  return b.CreateBitCast(b.CreateOr(u, b.CreateZExt(inexact, u->getType())), near->getType());
}

namespace {

/// f64 to f32, or f32 to itself, without the bits that do not fit.
Node truncated(llvm::IRBuilder<>& b, Node x) {
  if (!x->getType()->getScalarType()->isDoubleTy()) return x;
  Node near = narrowed(b, x, x->getType()->getWithNewType(b.getFloatTy()));
  auto magnitude = [&](Node v) { return b.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, v); };
  Node away = b.CreateFCmpOGT(magnitude(widened(b, near, x->getType())), magnitude(x));
  Node u = b.CreateBitCast(near, x->getType()->getWithNewType(b.getInt32Ty()));
  return b.CreateBitCast(b.CreateSub(u, b.CreateZExt(away, u->getType())), near->getType());
}

/// ±inf to the largest finite number.
Node finite(llvm::IRBuilder<>& b, Node x) {
  llvm::Type* type = x->getType();
  Node infinite =
      b.CreateFCmpOEQ(b.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, x), llvm::ConstantFP::getInfinity(type));
  Node largest = llvm::ConstantFP::get(type, llvm::APFloat::getLargest(type->getScalarType()->getFltSemantics()));
  return b.CreateSelect(infinite, b.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, largest, x), x);
}

/// An integer within the bounds of another type, in its own type.
Node clamped(llvm::IRBuilder<>& b, Node x, Elem from, Elem to) {
  const bool minus = is_signed_int(from), to_minus = is_signed_int(to);
  const auto width = x->getType()->getScalarSizeInBits(), to_width = static_cast<unsigned>(bits(to));
  const unsigned room = width - (minus ? 1 : 0), to_room = to_width - (to_minus ? 1 : 0);  // bits of the magnitude
  auto constant = [&](const llvm::APInt& v) { return llvm::ConstantInt::get(x->getType(), v); };
  if (minus && (!to_minus || to_room < room)) {
    const llvm::APInt low = to_minus ? llvm::APInt::getSignedMinValue(to_width).sext(width) : llvm::APInt(width, 0);
    x = b.CreateBinaryIntrinsic(llvm::Intrinsic::smax, x, constant(low));
  }
  if (to_room >= room) return x;
  const llvm::APInt high = llvm::APInt::getLowBitsSet(width, to_room);
  return b.CreateBinaryIntrinsic(minus ? llvm::Intrinsic::smin : llvm::Intrinsic::umin, x, constant(high));
}

}  // namespace

Node Elements::cast(Node x, Elem from, Elem to) {
  CastMode mode;
  mode.saturate = is_float(to) && bits(to) < 16;
  return cast(x, from, to, mode);
}

Node Elements::cast(const Op& op, llvm::ArrayRef<Node> in, Elem from, Elem to) {
  CastMode mode;
  const std::string_view rounding = op.attrs.text("rounding");
  if (rounding == "rtz") mode.rounding = CastMode::to_zero;
  if (rounding == "stochastic") mode.rounding = CastMode::stochastic, mode.random = in[1];
  mode.saturate = cast_saturates(op, from, to);
  return cast(in[0], from, to, mode);
}

Node Elements::cast(Node x, Elem from, Elem to, const CastMode& mode) {
  if (from == to) return x;
  if (is_float(from) && bits(from) < 16) {  // held as a code; f32 has all its values
    x = decode(x, from);
    from = Elem::f32;
    if (to == Elem::f32 && !mode.saturate) return x;
  }
  auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(x->getType());
  llvm::Type* type = reg(to, vector ? vector->getNumElements() : 1);
  if (to == Elem::b1) {
    llvm::Constant* zero = llvm::Constant::getNullValue(x->getType());
    return is_float(from) ? b.CreateFCmpUNE(x, zero) : b.CreateICmpNE(x, zero);
  }
  if (is_float(from) && is_float(to)) {
    const bool cut = mode.rounding == CastMode::to_zero;
    if (to == Elem::f64) x = from == Elem::f64 ? x : widened(b, x, type);
    if (to == Elem::f32) x = from != Elem::f64 ? x : cut ? truncated(b, x) : narrowed(b, x, type);
    if (to == Elem::f64 || to == Elem::f32) return mode.saturate ? finite(b, x) : x;
    if (from == Elem::f64) x = odd_f32(x);
    const bool half = to == Elem::f16 || to == Elem::bf16;
    if (half && mode.rounding == CastMode::nearest && !mode.saturate) return round(x, to);
    Node code = to == Elem::e8m0 ? encode_e8m0(x, mode) : encode(x, to, mode);
    if (!half) return b.CreateTrunc(code, type);
    Node raw = b.CreateTrunc(code, like(code, b.getInt16Ty()));
    return from_memory(to == Elem::f16 ? b.CreateBitCast(raw, like(raw, b.getHalfTy())) : raw, to);
  }
  if (is_float(to)) {
    const bool is_signed = is_signed_int(from);
    if (to == Elem::f32 || to == Elem::f64) return is_signed ? b.CreateSIToFP(x, type) : b.CreateUIToFP(x, type);
    // A wide integer goes through f64 so that it is rounded once. 64 bits do not fit there: the eleven that are lost
    // are kept as a sticky bit.
    const bool wide = bits(from) > 24;
    if (bits(from) == 64) {
      auto integer = [&](uint64_t v) { return llvm::ConstantInt::get(x->getType(), v); };
      Node magnitude = is_signed ? b.CreateBinaryIntrinsic(llvm::Intrinsic::abs, x, b.getFalse()) : x;
      Node lost = b.CreateICmpNE(b.CreateAnd(x, integer(0x7ff)), integer(0));
      Node odd = b.CreateOr(b.CreateAnd(x, integer(~uint64_t{0x7ff})),
                            b.CreateShl(b.CreateZExt(lost, x->getType()), integer(11)));
      x = b.CreateSelect(b.CreateICmpUGT(magnitude, integer(uint64_t{1} << 53)), odd, x);
    }
    llvm::Type* real_type = like(x, wide ? b.getDoubleTy() : b.getFloatTy());
    return cast(is_signed ? b.CreateSIToFP(x, real_type) : b.CreateUIToFP(x, real_type), wide ? Elem::f64 : Elem::f32,
                to, mode);
  }
  if (is_float(from)) {
    const auto id = is_signed_int(to) ? llvm::Intrinsic::fptosi_sat : llvm::Intrinsic::fptoui_sat;
    return b.CreateIntrinsic(id, {type, x->getType()}, {x});
  }
  if (mode.saturate && from != Elem::b1) x = clamped(b, x, from, to);
  return is_signed_int(from) ? b.CreateSExtOrTrunc(x, type) : b.CreateZExtOrTrunc(x, type);
}

Node Elements::bitcast(Node x, Elem from, Elem to) {
  auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(x->getType());
  Node raw = b.CreateBitCast(to_memory(x, from), mem(to, vector ? vector->getNumElements() : 1));
  if (to == Elem::f4e2m1) raw = b.CreateAnd(raw, llvm::ConstantInt::get(raw->getType(), 15));
  return from_memory(raw, to);
}

Node Elements::constant(const Op& op, Elem elem, unsigned lanes) {
  const Attr* attr = op.attrs.find("value");
  const auto* integer = attr ? std::get_if<int64_t>(attr) : nullptr;
  const auto* number = attr ? std::get_if<double>(attr) : nullptr;
  if (!integer && !number) throw Unsupported{&op, "a constant without a numeric value"};
  llvm::Type* type = reg(elem, lanes);
  if (!is_float(elem)) {
    const int64_t v = integer ? *integer : static_cast<int64_t>(std::llrint(*number));
    return llvm::ConstantInt::get(type, static_cast<uint64_t>(elem == Elem::b1 ? v != 0 : v), true);
  }
  llvm::APFloat v(number ? *number : static_cast<double>(*integer));
  if (bits(elem) < 16) {
    CastMode mode;
    mode.saturate = elem != Elem::f8e5m2 || v.isFinite();  // which has infinities
    return cast(llvm::ConstantFP::get(type->getWithNewType(b.getDoubleTy()), v), Elem::f64, elem, mode);
  }
  bool lost = false;
  auto convert = [&](const llvm::fltSemantics& to) { v.convert(to, llvm::APFloat::rmNearestTiesToEven, &lost); };
  if (elem == Elem::bf16) convert(llvm::APFloat::BFloat());
  if (elem == Elem::f16) convert(llvm::APFloat::IEEEhalf());
  if (elem != Elem::f64) convert(llvm::APFloat::IEEEsingle());
  return llvm::ConstantFP::get(type, v);
}

}  // namespace cpu
TLXJIT_NAMESPACE_END
