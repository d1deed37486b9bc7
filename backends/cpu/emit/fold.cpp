// backends/cpu/emit/fold.cpp — going along an axis: scans, argmax and argmin, reductions by a region.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/cpu/emit/emitter_p.h"

TLXJIT_NAMESPACE_BEGIN
namespace cpu {

Node Elements::join(std::string_view kind, Node x, Node y, Elem elem) {
  const bool real = is_float(elem);
  if (kind == "sum") return real ? b.CreateFAdd(x, y) : b.CreateAdd(x, y);
  if (kind == "prod") return real ? b.CreateFMul(x, y) : b.CreateMul(x, y);
  if (kind == "max") return larger(x, y, elem);
  if (kind == "min") return smaller(x, y, elem);
  if (kind == "and") return b.CreateAnd(x, y);
  if (kind == "or") return b.CreateOr(x, y);
  if (kind == "xor") return b.CreateXor(x, y);
  throw Unsupported{nullptr, "reductions of kind " + std::string(kind)};
}

llvm::Constant* Elements::identity(std::string_view kind, Elem elem, unsigned lanes) const {
  llvm::Type* t = reg(elem, lanes);
  if (kind == "sum" || kind == "or" || kind == "xor") return llvm::Constant::getNullValue(t);
  if (kind == "and") return llvm::Constant::getAllOnesValue(t);
  if (kind == "prod") return is_float(elem) ? llvm::ConstantFP::get(t, 1) : llvm::ConstantInt::get(t, 1);
  if (is_float(elem)) return llvm::ConstantFP::getNaN(t);
  const auto width = static_cast<unsigned>(bits(elem));
  const bool greatest = kind == "min";
  if (is_unsigned_int(elem)) return greatest ? llvm::Constant::getAllOnesValue(t) : llvm::Constant::getNullValue(t);
  return llvm::ConstantInt::get(
      t, greatest ? llvm::APInt::getSignedMaxValue(width) : llvm::APInt::getSignedMinValue(width));
}

namespace {

/// What an exclusive scan gives first: the identity among numbers.
llvm::Constant* before_all(const Elements& e, std::string_view kind, Elem elem, unsigned lanes) {
  if (!is_float(elem) || (kind != "max" && kind != "min")) return e.identity(kind, elem, lanes);
  return llvm::ConstantFP::getInfinity(e.reg(elem, lanes), kind == "max");
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

void Emitter::fold(const Op& op) {
  const Shape& shape = type(op.operand(0)).shape;
  const auto axis = static_cast<int>(op.attrs.integer("axis"));
  const int64_t n = shape[axis];
  int64_t outer = 1, inner = 1;
  for (int i = 0; i < axis; ++i) outer *= shape[i];
  for (int i = axis + 1; i < shape.rank; ++i) inner *= shape[i];
  const unsigned lanes = lanes_for(inner);

  const std::string_view kind = op.attrs.text("kind");
  const bool scans = op.code == OpCode::scan || op.code == OpCode::scan_custom;
  const bool reverse = op.attrs.integer("reverse") == 1, exclusive = op.attrs.integer("exclusive") == 1;
  const bool finds = kind.starts_with("arg");
  const bool custom = kind.empty();

  // What is carried along the axis: an element of each operand, or the best one and where it stands.
  std::vector<Node> slots;
  for (Value v : op.operands) slots.push_back(entry_alloca(reg(type(v).elem, lanes)));
  if (finds) slots.push_back(entry_alloca(reg(Elem::i32, lanes)));
  const Elem elem = type(op.operand(0)).elem;

  const auto step = [&](std::vector<Node> carried, const std::vector<Node>& met, Node k) -> std::vector<Node> {
    if (custom) {
      carried.insert(carried.end(), met.begin(), met.end());
      return region(op.regions[0], carried, lanes);
    }
    if (!finds) return {join(kind, carried[0], met[0], elem)};
    // Strictly better, so that equals go to the lowest index; any number is better than NaN.
    using P = llvm::CmpInst::Predicate;
    const bool most = kind == "argmax";
    Node better = nullptr;
    if (is_float(elem)) {
      better = b.CreateFCmp(most ? P::FCMP_OGT : P::FCMP_OLT, met[0], carried[0]);
      Node first_number = b.CreateAnd(b.CreateFCmpUNO(carried[0], carried[0]), b.CreateFCmpORD(met[0], met[0]));
      better = b.CreateOr(better, first_number);
    } else if (is_signed_int(elem)) {
      better = b.CreateICmp(most ? P::ICMP_SGT : P::ICMP_SLT, met[0], carried[0]);
    } else {
      better = b.CreateICmp(most ? P::ICMP_UGT : P::ICMP_ULT, met[0], carried[0]);
    }
    Node here = splat(b.CreateTrunc(k, b.getInt32Ty()), lanes);
    return {b.CreateSelect(better, met[0], carried[0]), b.CreateSelect(better, here, carried[1])};
  };
  const auto carry = [&](const std::vector<Node>& nodes) {
    for (size_t i = 0; i < slots.size(); ++i) b.CreateStore(nodes[i], slots[i]);
  };
  const auto carried = [&] {
    std::vector<Node> nodes;
    for (size_t i = 0; i < slots.size(); ++i)
      nodes.push_back(
          b.CreateLoad(reg(i < op.operands.size() ? type(op.operand(i)).elem : Elem::i32, lanes), slots[i]));
    return nodes;
  };

  loop(outer, 1, [&](Node o) {
    loop(inner, lanes, [&](Node i) {
      const auto place = [&](Node k) {
        return b.CreateAdd(b.CreateMul(b.CreateAdd(b.CreateMul(o, i64(n)), k), i64(inner)), i);
      };
      const auto elements = [&](Node k) {
        std::vector<Node> nodes;
        for (Value v : op.operands) nodes.push_back(element(v, place(k), lanes));
        return nodes;
      };
      const auto write = [&](Node k, const std::vector<Node>& nodes) {
        for (size_t r = 0; r < op.results.size(); ++r) {
          const Elem to = type(op.results[r]).elem;
          store(round(nodes[r], to), element_address(op.results[r], place(k)), to);
        }
      };
      Node first = i64(reverse ? n - 1 : 0);
      std::vector<Node> begin = elements(first);
      if (finds) begin.push_back(llvm::Constant::getNullValue(reg(Elem::i32, lanes)));
      carry(begin);
      if (scans) write(first, exclusive ? std::vector<Node>{before_all(*this, kind, elem, lanes)} : begin);
      if (n > 1)
        loop(n - 1, 1, [&](Node j) {
          Node k = reverse ? b.CreateSub(i64(n - 2), j) : b.CreateAdd(j, i64(1));
          const std::vector<Node> former = carried();
          if (scans && exclusive) write(k, former);
          const std::vector<Node> now = step(former, elements(k), k);
          carry(now);
          if (scans && !exclusive) write(k, now);
        });
      if (scans) return;
      const std::vector<Node> last = carried();
      for (size_t r = 0; r < op.results.size(); ++r) {
        Node x = last[finds ? 1 : r];
        if (type(op.results[r]).is_scalar()) {
          scalars_[op.results[r]] = x;  // rank 1: no loop is around it
        } else {
          Node to = element_address(op.results[r], b.CreateAdd(b.CreateMul(o, i64(inner)), i));
          store(x, to, type(op.results[r]).elem);
        }
      }
    });
  });
}

}  // namespace cpu
TLXJIT_NAMESPACE_END
