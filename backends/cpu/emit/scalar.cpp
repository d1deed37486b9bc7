// backends/cpu/emit/scalar.cpp — elementwise arithmetic, and scalars that a program reads from its launch.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/cpu/emit/emitter_p.h"

TLXJIT_NAMESPACE_BEGIN
namespace cpu {

// Division by zero and its like are undefined in the IR, but a trap would end the host: they give some number.
Node Elements::divide(Node x, Node y, bool is_signed, bool remainder) {
  llvm::Type* type = x->getType();
  Node zero = llvm::Constant::getNullValue(type), one = llvm::ConstantInt::get(type, 1);
  Node trap = b.CreateICmpEQ(y, zero);
  if (!is_signed) {
    Node safe = b.CreateSelect(trap, one, y);
    return remainder ? b.CreateURem(x, safe) : b.CreateUDiv(x, safe);
  }
  Node minus = b.CreateICmpEQ(y, llvm::Constant::getAllOnesValue(type));  // the least number / −1 traps as well
  Node safe = b.CreateSelect(b.CreateOr(trap, minus), one, y);
  if (remainder) return b.CreateSRem(x, safe);  // by 1 and by −1 alike: 0
  return b.CreateSelect(minus, b.CreateNeg(x), b.CreateSDiv(x, safe));
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

llvm::CmpInst::Predicate predicate(std::string_view text, Elem elem, const Op& op) {
  using P = llvm::CmpInst::Predicate;
  struct Row {
    std::string_view text;
    P real, with_sign, without;
  };
  static constexpr Row rows[] = {
      {"eq", P::FCMP_OEQ, P::ICMP_EQ, P::ICMP_EQ},   {"ne", P::FCMP_UNE, P::ICMP_NE, P::ICMP_NE},
      {"lt", P::FCMP_OLT, P::ICMP_SLT, P::ICMP_ULT}, {"le", P::FCMP_OLE, P::ICMP_SLE, P::ICMP_ULE},
      {"gt", P::FCMP_OGT, P::ICMP_SGT, P::ICMP_UGT}, {"ge", P::FCMP_OGE, P::ICMP_SGE, P::ICMP_UGE}};
  for (const Row& row : rows)
    if (row.text == text) return is_float(elem) ? row.real : is_signed_int(elem) ? row.with_sign : row.without;
  throw Unsupported{&op, "this comparison"};
}

Node Elements::compute(const Op& op, llvm::ArrayRef<Node> in, Elem elem) {
  const bool real_type = is_float(elem), with_sign = is_signed_int(elem);
  auto need = [&](bool holds) {
    if (!holds) throw Unsupported{&op, std::string(info(op.code).text) + " of " + to_string(elem)};
  };
  switch (op.code) {
    case OpCode::neg: return real_type ? b.CreateFNeg(in[0]) : b.CreateNeg(in[0]);
    case OpCode::bit_not: need(!real_type); return b.CreateNot(in[0]);
    case OpCode::abs:
      if (real_type) return b.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, in[0]);
      return with_sign ? b.CreateBinaryIntrinsic(llvm::Intrinsic::abs, in[0], b.getFalse()) : in[0];
    case OpCode::exp2: need(real_type && elem != Elem::f64); return round(exp2(in[0]), elem);
    case OpCode::log2: need(real_type && elem != Elem::f64); return round(log2(in[0]), elem);
    case OpCode::rcp: need(real_type); return round(b.CreateFDiv(real(in[0]->getType(), 1), in[0]), elem);
    case OpCode::add: return add(in[0], in[1], elem);
    case OpCode::sub: return real_type ? round(b.CreateFSub(in[0], in[1]), elem) : b.CreateSub(in[0], in[1]);
    case OpCode::mul: return real_type ? round(b.CreateFMul(in[0], in[1]), elem) : b.CreateMul(in[0], in[1]);
    case OpCode::div:
      return real_type ? round(b.CreateFDiv(in[0], in[1]), elem) : divide(in[0], in[1], with_sign, false);
    case OpCode::mod: need(!real_type); return divide(in[0], in[1], with_sign, true);
    case OpCode::ceil_div: {
      need(!real_type);
      Node rest = divide(in[0], in[1], with_sign, true);
      Node more = b.CreateICmpNE(rest, llvm::Constant::getNullValue(rest->getType()));
      return b.CreateAdd(divide(in[0], in[1], with_sign, false), b.CreateZExt(more, rest->getType()));
    }
    case OpCode::min: return smaller(in[0], in[1], elem);
    case OpCode::max: return larger(in[0], in[1], elem);
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
    case OpCode::cmp: return b.CreateCmp(predicate(op.attrs.text("pred"), elem, op), in[0], in[1]);
    default: throw Unsupported{&op, std::string(info(op.code).text)};
  }
}

Node Elements::apply(const Op& op, llvm::ArrayRef<Node> in, Elem from, Elem to) {
  if (op.code == OpCode::cast) return cast(in[0], from, to);
  if (op.code == OpCode::select) return b.CreateSelect(in[0], in[1], in[2]);
  return compute(op, in, from);
}

Node Emitter::param(Value v) {
  const Op& op = *unit_.module.def(v);
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
