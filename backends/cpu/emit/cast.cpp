// backends/cpu/emit/cast.cpp — conversions between element types, rounding, constants.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cmath>

#include "backends/cpu/emit/emitter_p.h"

TLXJIT_NAMESPACE_BEGIN
namespace cpu {

Node Elements::real(llvm::Type* type, double value) const { return llvm::ConstantFP::get(type, value); }

Node Elements::round(Node x, Elem elem) {
  if (elem == Elem::f16) {
    llvm::Type* half = x->getType()->getWithNewType(b.getHalfTy());
    return b.CreateFPExt(b.CreateFPTrunc(x, half), x->getType());
  }
  if (elem != Elem::bf16) return x;
  // To nearest even in integers: adding just under half a unit, or half where the last bit is odd, carries.
  llvm::Type* i = x->getType()->getWithNewType(b.getInt32Ty());
  auto integer = [&](uint64_t v) { return llvm::ConstantInt::get(i, v); };
  Node u = b.CreateBitCast(x, i);
  Node odd = b.CreateAnd(b.CreateLShr(u, integer(16)), integer(1));
  Node rounded = b.CreateAdd(u, b.CreateAdd(odd, integer(0x7fff)));
  Node quiet = b.CreateOr(u, integer(0x400000));  // a NaN must not carry into infinity
  Node kept = b.CreateSelect(b.CreateFCmpUNO(x, x), quiet, rounded);
  return b.CreateBitCast(b.CreateAnd(kept, integer(0xffff0000)), x->getType());
}

namespace {

/// f64 to f32 with the lost bits kept as a sticky last bit, so that a second rounding is right.
Node to_odd(llvm::IRBuilder<>& b, Node x, llvm::Type* f32) {
  llvm::Type* i = f32->getWithNewType(b.getInt32Ty());
  Node near = b.CreateFPTrunc(x, f32);
  Node back = b.CreateFPExt(near, x->getType());
  auto magnitude = [&](Node v) { return b.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, v); };
  Node away = b.CreateFCmpOGT(magnitude(back), magnitude(x));
  Node inexact = b.CreateFCmpONE(back, x);
  Node u = b.CreateBitCast(near, i);
  u = b.CreateSub(u, b.CreateZExt(away, i));
  return b.CreateBitCast(b.CreateOr(u, b.CreateZExt(inexact, i)), f32);
}

}  // namespace

Node Elements::cast(Node x, Elem from, Elem to) {
  if (from == to) return x;
  auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(x->getType());
  llvm::Type* type = reg(to, vector ? vector->getNumElements() : 1);
  if (to == Elem::b1) {
    llvm::Constant* zero = llvm::Constant::getNullValue(x->getType());
    return is_float(from) ? b.CreateFCmpUNE(x, zero) : b.CreateICmpNE(x, zero);
  }
  if (is_float(from) && is_float(to)) {
    if (to == Elem::f64) return b.CreateFPExt(x, type);
    if (from != Elem::f64) return round(x, to);
    return to == Elem::f32 ? b.CreateFPTrunc(x, type) : round(to_odd(b, x, type), to);
  }
  if (is_float(to)) {
    const bool is_signed = is_signed_int(from);
    const bool narrow = to == Elem::f16 || to == Elem::bf16;
    // A wide integer goes through f64 so that it is rounded once where that matters; 64-bit ones below 2^53.
    if (narrow && bits(from) > 24) {
      llvm::Type* f64 = type->getWithNewType(b.getDoubleTy());
      return cast(is_signed ? b.CreateSIToFP(x, f64) : b.CreateUIToFP(x, f64), Elem::f64, to);
    }
    return round(is_signed ? b.CreateSIToFP(x, type) : b.CreateUIToFP(x, type), to);
  }
  if (is_float(from)) {
    const auto id = is_signed_int(to) ? llvm::Intrinsic::fptosi_sat : llvm::Intrinsic::fptoui_sat;
    return b.CreateIntrinsic(id, {type, x->getType()}, {x});
  }
  return is_signed_int(from) ? b.CreateSExtOrTrunc(x, type) : b.CreateZExtOrTrunc(x, type);
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
  bool lost = false;
  auto convert = [&](const llvm::fltSemantics& to) { v.convert(to, llvm::APFloat::rmNearestTiesToEven, &lost); };
  if (elem == Elem::bf16) convert(llvm::APFloat::BFloat());
  if (elem == Elem::f16) convert(llvm::APFloat::IEEEhalf());
  if (elem != Elem::f64) convert(llvm::APFloat::IEEEsingle());
  return llvm::ConstantFP::get(type, v);
}

}  // namespace cpu
TLXJIT_NAMESPACE_END
