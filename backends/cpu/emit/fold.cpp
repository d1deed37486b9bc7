// backends/cpu/emit/fold.cpp — going along an axis: scans, argmax and argmin, reductions by a region.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/cpu/emit/emitter_p.h"

TLXJIT_NAMESPACE_BEGIN
namespace cpu {

Node Elements::join(ReductionKind kind, Node x, Node y, Elem elem) {
  const bool real = is_float(elem);
  switch (kind) {
    case ReductionKind::sum: return real ? b.CreateFAdd(x, y) : b.CreateAdd(x, y);
    case ReductionKind::prod: return real ? b.CreateFMul(x, y) : b.CreateMul(x, y);
    case ReductionKind::max:
    case ReductionKind::argmax: return larger(x, y, elem);
    case ReductionKind::min:
    case ReductionKind::argmin: return smaller(x, y, elem);
    case ReductionKind::bit_and: return b.CreateAnd(x, y);
    case ReductionKind::bit_or: return b.CreateOr(x, y);
    case ReductionKind::bit_xor: break;
  }
  return b.CreateXor(x, y);
}

llvm::Constant* Elements::identity(ReductionKind kind, Elem elem, unsigned lanes) const {
  llvm::Type* t = reg(elem, lanes);
  switch (kind) {
    case ReductionKind::sum:
    case ReductionKind::bit_or:
    case ReductionKind::bit_xor: return llvm::Constant::getNullValue(t);
    case ReductionKind::bit_and: return llvm::Constant::getAllOnesValue(t);
    case ReductionKind::prod: return is_float(elem) ? llvm::ConstantFP::get(t, 1) : llvm::ConstantInt::get(t, 1);
    default: break;
  }
  if (is_float(elem)) return llvm::ConstantFP::getNaN(t);
  const auto width = static_cast<unsigned>(bits(elem));
  const bool greatest = kind == ReductionKind::min || kind == ReductionKind::argmin;
  if (is_unsigned_int(elem)) return greatest ? llvm::Constant::getAllOnesValue(t) : llvm::Constant::getNullValue(t);
  return llvm::ConstantInt::get(
      t, greatest ? llvm::APInt::getSignedMaxValue(width) : llvm::APInt::getSignedMinValue(width));
}

namespace {

/// What an exclusive scan gives first: the identity among numbers.
llvm::Constant* before_all(const Elements& e, ReductionKind kind, Elem elem, unsigned lanes) {
  if (!is_float(elem) || (kind != ReductionKind::max && kind != ReductionKind::min))
    return e.identity(kind, elem, lanes);
  return llvm::ConstantFP::getInfinity(e.reg(elem, lanes), kind == ReductionKind::max);
}

}  // namespace

/// The ops of a region that joins elements, on vectors of them; gives what it yields.
std::vector<Node> Emitter::region(const Block& region, llvm::ArrayRef<Node> args, unsigned lanes) {
  std::unordered_map<Value, Node> held;
  for (size_t i = 0; i < args.size(); ++i) held[region.args[i]] = args[i];
  auto node = [&](Value v) {
    auto found = held.find(v);
    return found != held.end() ? found->second : splat(scalar(v), lanes);
  };
  std::vector<Node> yielded;
  for (const auto& op : region.ops) {
    llvm::SmallVector<Node, 4> in;
    if (op->code == OpCode::yield || is_elementwise(op->code))
      for (Value v : op->operands) in.push_back(node(v));
    if (op->code == OpCode::yield) {
      yielded.assign(in.begin(), in.end());
      break;
    }
    held[op->result()] = is_elementwise(op->code) ? apply(*op, in, type(op->operand(0)).elem, type(op->result()).elem)
                                                  : splat(scalar_op(*op), lanes);
  }
  return yielded;
}

/// Whether it gives places: argmax and argmin.
bool Emitter::finds(const Op& op) {
  const auto kind = from_word<ReductionKind>(op.attrs.text("kind"));
  return kind == ReductionKind::argmax || kind == ReductionKind::argmin;
}

/// What is carried along the axis, and how: an element of each operand, or the best one and where it stands.
struct Emitter::Fold {
  const Op& op;
  ReductionKind kind{};
  bool scans = false, reverse = false, exclusive = false, finds = false, custom = false;
  Elem elem{};               // of the first operand
  int64_t n = 0, inner = 1;  // extents: of the axis, and of those after it together
  unsigned lanes = 1;
  std::vector<Node> slots{};
};

/// The better of two elements, strictly, so that equals go to the lowest index; any number is better than NaN.
std::vector<Node> Emitter::better_of(const Fold& f, const std::vector<Node>& carried, Node met, Node k) {
  using P = llvm::CmpInst::Predicate;
  const bool most = f.kind == ReductionKind::argmax;
  Node better = b.CreateCmp(predicate(most ? Predicate::gt : Predicate::lt, f.elem), met, carried[0]);
  if (is_float(f.elem))
    better = b.CreateOr(
        better, b.CreateAnd(b.CreateFCmp(P::FCMP_UNO, carried[0], carried[0]), b.CreateFCmp(P::FCMP_ORD, met, met)));
  Node here = splat(b.CreateTrunc(k, b.getInt32Ty()), f.lanes);
  return {b.CreateSelect(better, met, carried[0]), b.CreateSelect(better, here, carried[1])};
}

/// What is carried on after elements `met`, number k along the axis.
std::vector<Node> Emitter::fold_step(const Fold& f, std::vector<Node> carried, const std::vector<Node>& met, Node k) {
  if (f.finds) return better_of(f, carried, met[0], k);
  if (!f.custom) return {join(f.kind, carried[0], met[0], f.elem)};
  carried.insert(carried.end(), met.begin(), met.end());
  return region(f.op.regions[0], carried, f.lanes);
}

/// Goes along the axis at one place of the others: `place` is that of its element k in the operands.
void Emitter::fold_axis(const Fold& f, const std::function<Node(Node)>& place, Node result) {
  const Op& op = f.op;
  const auto carry = [&](const std::vector<Node>& nodes) {
    for (size_t i = 0; i < f.slots.size(); ++i) b.CreateStore(nodes[i], f.slots[i]);
  };
  const auto carried = [&] {
    std::vector<Node> nodes;
    for (size_t i = 0; i < f.slots.size(); ++i)
      nodes.push_back(
          b.CreateLoad(reg(i < op.operands.size() ? type(op.operand(i)).elem : Elem::i32, f.lanes), f.slots[i]));
    return nodes;
  };
  const auto elements = [&](Node k) {
    std::vector<Node> nodes;
    for (Value v : op.operands) nodes.push_back(element(v, place(k), f.lanes));
    return nodes;
  };
  const auto write = [&](Node k, const std::vector<Node>& nodes) {
    for (size_t r = 0; r < op.results.size(); ++r) {
      const Elem to = type(op.results[r]).elem;
      store(round(nodes[r], to), element_address(op.results[r], place(k)), to);
    }
  };
  Node first = i64(f.reverse ? f.n - 1 : 0);
  std::vector<Node> begin = elements(first);
  if (f.finds) begin.push_back(llvm::Constant::getNullValue(reg(Elem::i32, f.lanes)));
  carry(begin);
  if (f.scans) write(first, f.exclusive ? std::vector<Node>{before_all(*this, f.kind, f.elem, f.lanes)} : begin);
  if (f.n > 1)
    loop(f.n - 1, 1, [&](Node j) {
      Node k = f.reverse ? b.CreateSub(i64(f.n - 2), j) : b.CreateAdd(j, i64(1));
      const std::vector<Node> former = carried();
      if (f.scans && f.exclusive) write(k, former);
      const std::vector<Node> now = fold_step(f, former, elements(k), k);
      carry(now);
      if (f.scans && !f.exclusive) write(k, now);
    });
  if (f.scans) return;
  const std::vector<Node> last = carried();
  for (size_t r = 0; r < op.results.size(); ++r) {
    Node x = last[f.finds ? 1 : r];
    if (type(op.results[r]).is_scalar())
      scalars_[op.results[r]] = x;  // rank 1: no loop is around it
    else
      store(x, element_address(op.results[r], result), type(op.results[r]).elem);
  }
}

void Emitter::fold(const Op& op) {
  const Shape& shape = type(op.operand(0)).shape;
  const auto axis = static_cast<int>(op.attrs.integer("axis"));
  int64_t outer = 1;
  Fold f{op};
  f.n = shape[axis];
  for (int i = 0; i < axis; ++i) outer *= shape[i];
  for (int i = axis + 1; i < shape.rank; ++i) f.inner *= shape[i];
  f.lanes = lanes_for(f.inner);
  f.kind = word_of<ReductionKind>(op, "kind");
  f.scans = op.code == OpCode::scan || op.code == OpCode::scan_custom;
  f.custom = op.code == OpCode::reduce_custom || op.code == OpCode::scan_custom;
  f.reverse = op.attrs.integer("reverse") == 1;
  f.exclusive = op.attrs.integer("exclusive") == 1;
  f.finds = finds(op);
  f.elem = type(op.operand(0)).elem;
  for (Value v : op.operands) f.slots.push_back(entry_alloca(reg(type(v).elem, f.lanes)));
  if (f.finds) f.slots.push_back(entry_alloca(reg(Elem::i32, f.lanes)));
  loop(outer, 1, [&](Node o) {
    loop(f.inner, f.lanes, [&](Node i) {
      const auto place = [&](Node k) {
        return b.CreateAdd(b.CreateMul(b.CreateAdd(b.CreateMul(o, i64(f.n)), k), i64(f.inner)), i);
      };
      fold_axis(f, place, b.CreateAdd(b.CreateMul(o, i64(f.inner)), i));
    });
  });
}

}  // namespace cpu
TLXJIT_NAMESPACE_END
