// backends/cpu/emit/scalar.cpp — elementwise arithmetic, and scalars that a program reads from its launch.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/cpu/emit/math_p.h"
#include "src/ir/evaluate_p.h"

TLXJIT_NAMESPACE_BEGIN
namespace cpu {

// Division by zero sets all bits and leaves x as the remainder; the least number / −1 wraps. Both would trap.
Node Elements::divide(Node x, Node y, bool is_signed, bool remainder) {
  llvm::Type* type = x->getType();
  Node zero = llvm::Constant::getNullValue(type), one = llvm::ConstantInt::get(type, 1);
  Node ones = llvm::Constant::getAllOnesValue(type);
  Node none = b.CreateICmpEQ(y, zero);
  Node minus = is_signed ? b.CreateICmpEQ(y, ones) : nullptr;
  Node safe = b.CreateSelect(is_signed ? b.CreateOr(none, minus) : none, one, y);
  if (remainder)  // by 1 and by −1 alike: 0
    return b.CreateSelect(none, x, is_signed ? b.CreateSRem(x, safe) : b.CreateURem(x, safe));
  Node quotient = is_signed ? b.CreateSelect(minus, b.CreateNeg(x), b.CreateSDiv(x, safe)) : b.CreateUDiv(x, safe);
  return b.CreateSelect(none, ones, quotient);
}

/// Rounded down: one less than truncated where something remains and the signs differ.
Node Elements::floor_divide(Node x, Node y, bool is_signed, bool remainder) {
  Node rest = divide(x, y, is_signed, true), zero = llvm::Constant::getNullValue(x->getType());
  if (!is_signed) return remainder ? rest : divide(x, y, is_signed, false);
  Node less = b.CreateAnd(b.CreateICmpNE(rest, zero), b.CreateICmpSLT(b.CreateXor(rest, y), zero));
  less = b.CreateAnd(less, b.CreateICmpNE(y, zero));
  if (remainder) return b.CreateAdd(rest, b.CreateSelect(less, y, zero));
  return b.CreateSub(divide(x, y, is_signed, false), b.CreateZExt(less, x->getType()));
}

/// The upper half of the product's bits.
Node Elements::multiply_high(Node x, Node y, bool is_signed) {
  const unsigned n = x->getType()->getScalarSizeInBits();
  llvm::Type* wide = like(x, b.getIntNTy(2 * n));
  auto extended = [&](Node v) { return is_signed ? b.CreateSExt(v, wide) : b.CreateZExt(v, wide); };
  return b.CreateTrunc(b.CreateLShr(b.CreateMul(extended(x), extended(y)), n), x->getType());
}

Node Elements::larger(Node x, Node y, Elem elem) {
  if (is_float(elem)) return b.CreateMaxNum(x, y);
  return b.CreateBinaryIntrinsic(is_signed_int(elem) ? llvm::Intrinsic::smax : llvm::Intrinsic::umax, x, y);
}

Node Elements::smaller(Node x, Node y, Elem elem) {
  if (is_float(elem)) return b.CreateMinNum(x, y);
  return b.CreateBinaryIntrinsic(is_signed_int(elem) ? llvm::Intrinsic::smin : llvm::Intrinsic::umin, x, y);
}

Node Elements::add(Node x, Node y, Elem elem) {
  return is_float(elem) ? round(b.CreateFAdd(x, y), elem) : b.CreateAdd(x, y);
}

llvm::CmpInst::Predicate predicate(Predicate pred, Elem elem) {
  using P = llvm::CmpInst::Predicate;
  struct Row {
    P real, with_sign, without;
  };
  static constexpr Row rows[] = {{P::FCMP_OEQ, P::ICMP_EQ, P::ICMP_EQ},   {P::FCMP_UNE, P::ICMP_NE, P::ICMP_NE},
                                 {P::FCMP_OLT, P::ICMP_SLT, P::ICMP_ULT}, {P::FCMP_OLE, P::ICMP_SLE, P::ICMP_ULE},
                                 {P::FCMP_OGT, P::ICMP_SGT, P::ICMP_UGT}, {P::FCMP_OGE, P::ICMP_SGE, P::ICMP_UGE}};
  const Row& row = rows[static_cast<size_t>(pred)];
  return is_float(elem) ? row.real : is_signed_int(elem) ? row.with_sign : row.without;
}

Node Elements::compute(const Op& op, llvm::ArrayRef<Node> in, Elem elem) {
  const bool real_type = is_float(elem), with_sign = is_signed_int(elem);
  auto need = [&](bool holds) {
    if (!holds) throw Unsupported{&op, std::string(info(op.code).text) + " of " + to_string(elem)};
  };
  // Every op of 16 bits rounds: LLVM may narrow them to instructions of f16, which must not become an fma then.
  llvm::IRBuilderBase::FastMathFlagGuard guard(b);
  if (elem == Elem::f16 || elem == Elem::bf16) b.clearFastMathFlags();
  switch (op.code) {
    case OpCode::neg: return real_type ? b.CreateFNeg(in[0]) : b.CreateNeg(in[0]);
    case OpCode::bit_not: need(!real_type); return b.CreateNot(in[0]);
    case OpCode::abs:
      if (real_type) return b.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, in[0]);
      return with_sign ? b.CreateBinaryIntrinsic(llvm::Intrinsic::abs, in[0], b.getFalse()) : in[0];
    case OpCode::add: return add(in[0], in[1], elem);
    case OpCode::sub: return real_type ? round(b.CreateFSub(in[0], in[1]), elem) : b.CreateSub(in[0], in[1]);
    case OpCode::mul: return real_type ? round(b.CreateFMul(in[0], in[1]), elem) : b.CreateMul(in[0], in[1]);
    case OpCode::div:
      return real_type ? round(b.CreateFDiv(in[0], in[1]), elem) : divide(in[0], in[1], with_sign, false);
    case OpCode::mod: need(!real_type); return divide(in[0], in[1], with_sign, true);
    case OpCode::floor_div: need(!real_type); return floor_divide(in[0], in[1], with_sign, false);
    case OpCode::floor_mod: need(!real_type); return floor_divide(in[0], in[1], with_sign, true);
    case OpCode::mulhi: need(!real_type); return multiply_high(in[0], in[1], with_sign);
    case OpCode::popcount: need(!real_type); return b.CreateUnaryIntrinsic(llvm::Intrinsic::ctpop, in[0]);
    case OpCode::clz: need(!real_type); return b.CreateBinaryIntrinsic(llvm::Intrinsic::ctlz, in[0], b.getFalse());
    case OpCode::ceil_div: {
      need(!real_type);
      Node rest = divide(in[0], in[1], with_sign, true);
      Node more = b.CreateICmpNE(rest, llvm::Constant::getNullValue(rest->getType()));
      return b.CreateAdd(divide(in[0], in[1], with_sign, false), b.CreateZExt(more, rest->getType()));
    }
    case OpCode::min: return smaller(in[0], in[1], elem);
    case OpCode::max: return larger(in[0], in[1], elem);
    case OpCode::min_nan: need(real_type); return b.CreateMinimum(in[0], in[1]);
    case OpCode::max_nan: need(real_type); return b.CreateMaximum(in[0], in[1]);
    case OpCode::bit_and: need(!real_type); return b.CreateAnd(in[0], in[1]);
    case OpCode::bit_or: need(!real_type); return b.CreateOr(in[0], in[1]);
    case OpCode::bit_xor: need(!real_type); return b.CreateXor(in[0], in[1]);
    case OpCode::shl:
    case OpCode::shr: {
      need(!real_type && elem != Elem::b1);
      // LLVM has no value for an amount of `bits` or more, and would let code that depends on one do anything.
      Node amount = b.CreateAnd(in[1], llvm::ConstantInt::get(in[1]->getType(), static_cast<uint64_t>(bits(elem) - 1)));
      if (op.code == OpCode::shl) return b.CreateShl(in[0], amount);
      return with_sign ? b.CreateAShr(in[0], amount) : b.CreateLShr(in[0], amount);
    }
    case OpCode::cmp: return b.CreateCmp(predicate(word_of<Predicate>(op, "pred"), elem), in[0], in[1]);
    default:
      if (info(op.code).family == Family::math) return math(*this, op, in, elem);
      throw Unsupported{&op, std::string(info(op.code).text)};
  }
}

Node Elements::apply(const Op& op, llvm::ArrayRef<Node> in, Elem from, Elem to) {
  if (op.code == OpCode::cast) return cast(op, in, from, to);
  if (op.code == OpCode::bitcast) return bitcast(in[0], from, to);
  if (op.code == OpCode::select) return b.CreateSelect(in[0], in[1], in[2]);
  return compute(op, in, from);
}

Node Emitter::param(Value v) {
  const Op& op = *unit_.module.def(v);
  if (const auto known = known_number(unit_.module, v))
    return llvm::ConstantInt::get(reg(type(v).elem, 1), static_cast<uint64_t>(*known), true);
  const int64_t index = unit_.index.at(v);
  if (op.code == OpCode::dim) return load(at(field(offsetof(Context, dims), b.getPtrTy()), index * 4), Elem::i32, 1);
  return load(at(field(offsetof(Context, scalars), b.getPtrTy()), index * 8), type(v).elem, 1);
}

Node Emitter::scalar_op(const Op& op) {
  const Elem elem = type(op.result()).elem;
  switch (op.code) {
    case OpCode::constant: return constant(op, elem, 1);
    case OpCode::dim:
    case OpCode::scalar: return param(op.result());
    case OpCode::program_id: return field(offsetof(Context, program), b.getInt32Ty());
    case OpCode::num_programs: return field(offsetof(Context, programs), b.getInt32Ty());
    case OpCode::cluster_rank: return field(offsetof(Context, rank), b.getInt32Ty());
    case OpCode::replica: return replica_;
    case OpCode::get: return b.CreateLoad(reg(elem, 1), variables_.at(op.operand(0)));
    case OpCode::clock: return b.CreateIntrinsic(llvm::Intrinsic::readcyclecounter, llvm::ArrayRef<Node>());
    default: break;
  }
  if (!is_elementwise(op.code)) unsupported(op, "this op as a scalar");
  llvm::SmallVector<Node, 3> in;
  for (Value v : op.operands) in.push_back(scalar(v));
  return apply(op, in, type(op.operand(0)).elem, elem);
}

}  // namespace cpu
TLXJIT_NAMESPACE_END
