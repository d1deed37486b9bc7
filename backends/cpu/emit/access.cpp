// backends/cpu/emit/access.cpp — loads, stores and atomics on elements of tensors, never outside them.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <llvm/Transforms/Utils/LowerAtomic.h>

#include "backends/cpu/emit/emitter_p.h"
#include "backends/cpu/sanitizers_p.h"

TLXJIT_NAMESPACE_BEGIN
namespace cpu {

struct Emitter::Element {
  Node flat = nullptr;     // its number in the tile; null for a scalar
  Node inside = nullptr;   // whether the tensor has it and the mask wants it
  Node address = nullptr;  // if so
};

void Emitter::access(const Op& op) {
  const auto found = access_of(unit_.module, op);
  if (!found) unsupported(op, "this access");
  const ElementAccess& a = *found;
  const Elem elem = type(a.tensor).elem;
  const bool loads = op.code == OpCode::tile_load || op.code == OpCode::load_at;

  if (op.code == OpCode::tile_load && a.mask == no_value) {
    const Value out = op.result();
    if (a.other == no_value) return copy_box(op, 1, BoxMode::load, tile_address(out));
    const int64_t elements = type(out).shape.elements();
    const unsigned lanes = lanes_for(elements);
    Node fill = splat(scalar(a.other), lanes);
    loop(elements, lanes, [&](Node i) { store(fill, element_address(out, i), elem); });
    return copy_box(op, 1, BoxMode::load_inside, tile_address(out));
  }
  if (op.code == OpCode::atomic) {
    // One variable for the result, which the branch may leave as it is.
    Node former = entry_alloca(reg(elem, 1));
    each_element(op, a, [&](const Element& e) {
      b.CreateStore(llvm::Constant::getNullValue(reg(elem, 1)), former);
      if_inside(e, [&] { b.CreateStore(atomic(op, a, e), former); });
    });
    scalars_[op.result()] = b.CreateLoad(reg(elem, 1), former);
    return;
  }
  each_element(op, a, [&](const Element& e) {
    if (op.results.empty()) {
      if_inside(e, [&] { store(element(a.values[0], e.flat), e.address, elem); });
      return;
    }
    Node to = element_address(op.result(), e.flat);
    store(a.other == no_value ? llvm::Constant::getNullValue(reg(elem, 1)) : scalar(a.other), to, elem);
    if_inside(e, [&] { store(loads ? load(e.address, elem, 1) : atomic(op, a, e), to, elem); });
  });
}

/// Runs `fn` for each element of the access in turn.
void Emitter::each_element(const Op& op, const ElementAccess& a, const std::function<void(const Element&)>& fn) {
  const Op& declared = *unit_.module.def(a.tensor);
  const size_t axes = a.indices.size();
  const bool box = is_box_access(op.code);
  const auto ragged = static_cast<size_t>(op.attrs.integer("ragged", -1));
  Shape shape;  // of the tile, axis by axis of the tensor for a box
  if (box) {
    for (int64_t extent : op.attrs.list("box")) shape.dim[shape.rank++] = extent;
  } else {
    for (const auto* list : {&a.indices, &a.values})
      for (Value v : *list)
        if (type(v).is_tile()) shape = type(v).shape;
  }
  Node tensor = tensor_address(a.tensor);
  Node data = b.CreateLoad(b.getPtrTy(), tensor);
  std::vector<Node> extents, strides;
  for (size_t k = 0; k < axes; ++k) {
    extents.push_back(index64(declared.operand(k)));
    strides.push_back(tensor_stride(a.tensor, k));
  }
  Node bound = a.bound == no_value ? nullptr : index64(a.bound);

  std::vector<Node> position(static_cast<size_t>(shape.rank));
  const auto here = [&](Node flat) {
    Element e{flat, b.getTrue(), nullptr};
    Node offset = i64(0);
    for (size_t k = 0; k < axes; ++k) {
      const Value v = a.indices[k];
      Node index = type(v).is_tile() ? b.CreateSExt(element(v, flat), b.getInt64Ty()) : index64(v);
      if (box) index = b.CreateAdd(index, position[k]);
      // Compared as unsigned, so that what is negative is outside; addresses are 64-bit.
      e.inside = b.CreateAnd(e.inside, b.CreateICmpULT(index, extents[k]));
      if (bound && k == ragged) e.inside = b.CreateAnd(e.inside, b.CreateICmpSLT(index, bound));
      offset = b.CreateAdd(offset, b.CreateMul(index, strides[k]));
    }
    if (a.mask != no_value) e.inside = b.CreateAnd(e.inside, element(a.mask, flat));
    e.address = at(data, b.CreateMul(offset, i64(size(type(a.tensor).elem))));
    fn(e);
  };
  if (shape.rank == 0) return here(nullptr);
  if (!box) return loop(shape.elements(), 1, here);
  std::function<void(size_t, Node)> axis = [&](size_t k, Node flat) {
    if (k == axes) return here(flat);
    loop(shape.dim[k], 1, [&](Node i) {
      position[k] = i;
      axis(k + 1, b.CreateAdd(b.CreateMul(flat, i64(shape.dim[k])), i));
    });
  };
  axis(0, i64(0));
}

void Emitter::if_inside(const Element& e, const std::function<void()>& fn) {
  auto* yes = llvm::BasicBlock::Create(b.getContext(), "inside", fn_);
  auto* on = llvm::BasicBlock::Create(b.getContext(), "next", fn_);
  b.CreateCondBr(e.inside, yes, on);
  b.SetInsertPoint(yes);
  fn();
  b.CreateBr(on);
  b.SetInsertPoint(on);
}

Node Emitter::atomic(const Op& op, const ElementAccess& a, const Element& e) {
  using llvm::AtomicOrdering;
  using RMW = llvm::AtomicRMWInst;
  const Elem elem = type(a.tensor).elem;
  constexpr std::array<AtomicOrdering, words<MemoryOrder>.size()> orders = {
      AtomicOrdering::Monotonic, AtomicOrdering::Acquire, AtomicOrdering::Release, AtomicOrdering::AcquireRelease};
  AtomicOrdering ordering = orders[static_cast<size_t>(word_of<MemoryOrder>(op, "order"))];
  // ThreadSanitizer does not know what a fence orders.
  if (tsan && unit_.fences) ordering = AtomicOrdering::AcquireRelease;
  const auto kind = word_of<AtomicKind>(op, "kind");
  const llvm::Align align(static_cast<uint64_t>(size(elem)));
  const auto value = [&](size_t i) {
    const Value v = a.values[i];
    return type(v).is_tile() ? element(v, e.flat) : scalar(v);
  };
  const bool real = is_float(elem), with_sign = is_signed_int(elem);
  RMW::BinOp what = RMW::Xchg;
  switch (kind) {
    case AtomicKind::cas: {
      Node pair = b.CreateAtomicCmpXchg(e.address, value(1), value(0), align, ordering,
                                        llvm::AtomicCmpXchgInst::getStrongestFailureOrdering(ordering));
      return b.CreateExtractValue(pair, 0);
    }
    case AtomicKind::add: what = real ? RMW::FAdd : RMW::Add; break;
    case AtomicKind::min: what = real ? RMW::FMin : with_sign ? RMW::Min : RMW::UMin; break;
    case AtomicKind::max: what = real ? RMW::FMax : with_sign ? RMW::Max : RMW::UMax; break;
    case AtomicKind::bit_and: what = RMW::And; break;
    case AtomicKind::bit_or: what = RMW::Or; break;
    case AtomicKind::bit_xor: what = RMW::Xor; break;
    case AtomicKind::exchange: break;
  }
  // ThreadSanitizer's pass passes over these.
  const bool unseen = kind == AtomicKind::min || kind == AtomicKind::max || (kind == AtomicKind::add && real);
  if (tsan && unseen) return exchange_until(what, e.address, value(0), align, ordering);
  return b.CreateAtomicRMW(what, e.address, value(0), align, ordering);
}

Node Emitter::exchange_until(llvm::AtomicRMWInst::BinOp what, Node address, Node value, llvm::Align align,
                             llvm::AtomicOrdering ordering) {
  llvm::Type* type = value->getType();
  llvm::Type* bits = b.getIntNTy(type->getScalarSizeInBits());
  llvm::LoadInst* first = b.CreateAlignedLoad(bits, address, align);
  first->setAtomic(llvm::AtomicOrdering::Monotonic);
  llvm::BasicBlock* before = b.GetInsertBlock();
  auto* attempt = llvm::BasicBlock::Create(b.getContext(), "attempt", fn_);
  auto* done = llvm::BasicBlock::Create(b.getContext(), "done", fn_);
  b.CreateBr(attempt);
  b.SetInsertPoint(attempt);
  llvm::PHINode* former = b.CreatePHI(bits, 2);
  former->addIncoming(first, before);
  Node present = b.CreateBitCast(former, type);
  Node wanted = b.CreateBitCast(llvm::buildAtomicRMWValue(what, b, present, value), bits);
  Node pair = b.CreateAtomicCmpXchg(address, former, wanted, align, ordering,
                                    llvm::AtomicCmpXchgInst::getStrongestFailureOrdering(ordering));
  former->addIncoming(b.CreateExtractValue(pair, 0), b.GetInsertBlock());
  b.CreateCondBr(b.CreateExtractValue(pair, 1), done, attempt);
  b.SetInsertPoint(done);
  return present;
}

}  // namespace cpu
TLXJIT_NAMESPACE_END
