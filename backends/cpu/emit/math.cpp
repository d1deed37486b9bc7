// backends/cpu/emit/math.cpp — the ops of the family math: which code each type takes.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/cpu/emit/math_p.h"

TLXJIT_NAMESPACE_BEGIN
namespace cpu {

namespace {

/// A function of libm (libm.def), called once per lane. LLVM does not know the name, so that it neither computes one at
/// compile time nor makes another of it: scalars and tiles get the same bits.
Node per_lane(Elements& e, const char* name, llvm::ArrayRef<Node> in) {
  llvm::IRBuilder<>& b = e.b;
  llvm::Type* type = in[0]->getType()->getScalarType();
  const std::string symbol = std::string("tlxjit_libm_") + name + (type->isFloatTy() ? "f" : "");
  const llvm::SmallVector<llvm::Type*, 2> types(in.size(), type);
  auto fn = b.GetInsertBlock()->getModule()->getOrInsertFunction(symbol, llvm::FunctionType::get(type, types, false));
  if (auto* made = llvm::dyn_cast<llvm::Function>(fn.getCallee())) {
    made->setDoesNotAccessMemory();
    made->setDoesNotThrow();
    made->setWillReturn();
  }
  auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(in[0]->getType());
  if (!vector) return b.CreateCall(fn, in);
  Node out = llvm::PoisonValue::get(vector);
  for (unsigned i = 0; i < vector->getNumElements(); ++i) {
    llvm::SmallVector<Node, 2> lane;
    for (Node x : in) lane.push_back(b.CreateExtractElement(x, i));
    out = b.CreateInsertElement(out, b.CreateCall(fn, lane), i);
  }
  return out;
}

/// a · b + c of f16 or bf16, rounded once. The product is exact in f64; the sum is made odd where it is not exact, so
/// that rounding it again is right.
Node fma_narrow(Elements& e, llvm::ArrayRef<Node> in, Elem elem) {
  llvm::IRBuilder<>& b = e.b;
  llvm::IRBuilderBase::FastMathFlagGuard guard(b);
  b.clearFastMathFlags();
  llvm::Type* f64 = in[0]->getType()->getWithNewType(b.getDoubleTy());
  llvm::Type* i64 = in[0]->getType()->getWithNewType(b.getInt64Ty());
  auto integer = [&](uint64_t v) { return llvm::ConstantInt::get(i64, v); };
  Node p = b.CreateFMul(b.CreateFPExt(in[0], f64), b.CreateFPExt(in[1], f64)), c = b.CreateFPExt(in[2], f64);
  Node sum = b.CreateFAdd(p, c);
  // What the sum lost (Knuth).
  Node of_c = b.CreateFSub(sum, p);
  Node lost = b.CreateFAdd(b.CreateFSub(p, b.CreateFSub(sum, of_c)), b.CreateFSub(c, of_c));
  Node bits = b.CreateBitCast(sum, i64);
  Node even = b.CreateICmpEQ(b.CreateAnd(bits, integer(1)), integer(0));
  Node outwards = b.CreateICmpSGE(b.CreateXor(bits, b.CreateBitCast(lost, i64)), integer(0));
  Node odd = b.CreateSelect(outwards, b.CreateAdd(bits, integer(1)), b.CreateSub(bits, integer(1)));
  // Of infinities and NaN nothing is known to be lost.
  Node inexact = b.CreateFCmpONE(lost, llvm::Constant::getNullValue(f64));
  bits = b.CreateSelect(b.CreateAnd(inexact, even), odd, bits);
  return e.cast(b.CreateBitCast(bits, f64), Elem::f64, elem);
}

}  // namespace

Node math(Elements& e, const Op& op, llvm::ArrayRef<Node> in, Elem elem) {
  llvm::IRBuilder<>& b = e.b;
  // Within a function products and sums may contract, whatever the kernel's own may.
  llvm::IRBuilderBase::FastMathFlagGuard guard(b);
  b.setFastMathFlags(Elements::contract());
  Node x = in[0];
  const bool wide = elem == Elem::f64;
  auto unary = [&](llvm::Intrinsic::ID id) { return b.CreateUnaryIntrinsic(id, x); };
  auto one_over = [&](Node y) { return b.CreateFDiv(e.real(x->getType(), 1), y); };
  auto either = [&](Node (*in_f32)(Elements&, Node), const char* name) {
    return e.round(wide ? per_lane(e, name, x) : in_f32(e, x), elem);
  };
  switch (op.code) {
    case OpCode::exp2: return either(exp2_f32, "exp2");
    case OpCode::exp: return either(exp_f32, "exp");
    case OpCode::log2: return either(log2_f32, "log2");
    case OpCode::log: return either(log_f32, "log");
    case OpCode::tanh: return either(tanh_f32, "tanh");
    case OpCode::sin: return e.round(per_lane(e, "sin", x), elem);
    case OpCode::cos: return e.round(per_lane(e, "cos", x), elem);
    case OpCode::erf: return e.round(per_lane(e, "erf", x), elem);
    case OpCode::pow: return e.round(per_lane(e, "pow", in), elem);
    case OpCode::copysign: return b.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, x, in[1]);
    case OpCode::rcp: return e.round(one_over(x), elem);
    case OpCode::sqrt: return e.round(unary(llvm::Intrinsic::sqrt), elem);
    case OpCode::rsqrt: return e.round(one_over(unary(llvm::Intrinsic::sqrt)), elem);
    case OpCode::floor: return unary(llvm::Intrinsic::floor);
    case OpCode::ceil: return unary(llvm::Intrinsic::ceil);
    case OpCode::trunc: return unary(llvm::Intrinsic::trunc);
    case OpCode::round: return unary(llvm::Intrinsic::roundeven);
    case OpCode::fma:
      if (elem == Elem::f16 || elem == Elem::bf16) return fma_narrow(e, in, elem);
      return b.CreateIntrinsic(llvm::Intrinsic::fma, {x->getType()}, {in[0], in[1], in[2]});
    default: throw Unsupported{&op, std::string(info(op.code).text)};
  }
}

}  // namespace cpu
TLXJIT_NAMESPACE_END
