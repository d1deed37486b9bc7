// backends/cpu/emit/storage.cpp — how elements lie in memory and in registers; loops; storage of tiles.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/cpu/emit/emitter_p.h"

TLXJIT_NAMESPACE_BEGIN
namespace cpu {

llvm::FastMathFlags Elements::contract() {
  llvm::FastMathFlags flags;
  flags.setAllowContract();
  return flags;
}

llvm::Type* Elements::wide(llvm::Type* type, unsigned lanes) const {
  return lanes == 1 ? type : llvm::FixedVectorType::get(type, lanes);
}

llvm::Type* Elements::reg(Elem elem, unsigned lanes) const {
  auto& c = b.getContext();
  switch (elem) {
    case Elem::b1: return wide(llvm::Type::getInt1Ty(c), lanes);
    case Elem::f16:
    case Elem::bf16:
    case Elem::f32: return wide(llvm::Type::getFloatTy(c), lanes);
    case Elem::f64: return wide(llvm::Type::getDoubleTy(c), lanes);
    case Elem::f8e4m3:
    case Elem::f8e5m2:
    case Elem::f4e2m1:
    case Elem::e8m0: return wide(llvm::Type::getInt8Ty(c), lanes);
    default:
      if (is_int(elem)) return wide(llvm::Type::getIntNTy(c, static_cast<unsigned>(bits(elem))), lanes);
      throw Unsupported{nullptr, std::string("elements of type ") + to_string(elem)};
  }
}

llvm::Type* Elements::mem(Elem elem, unsigned lanes) const {
  auto& c = b.getContext();
  switch (elem) {
    case Elem::b1: return wide(llvm::Type::getInt8Ty(c), lanes);
    case Elem::bf16: return wide(llvm::Type::getInt16Ty(c), lanes);
    case Elem::f16: return wide(llvm::Type::getHalfTy(c), lanes);
    default: return reg(elem, lanes);
  }
}

Node Elements::from_memory(Node x, Elem elem) {
  if (elem == Elem::b1) return b.CreateICmpNE(x, llvm::Constant::getNullValue(x->getType()));
  if (elem == Elem::f16) return b.CreateFPExtFMF(x, like(x, b.getFloatTy()), llvm::FastMathFlags());
  if (elem == Elem::bf16) {
    Node bits32 = b.CreateZExt(x, like(x, b.getInt32Ty()));
    return b.CreateBitCast(b.CreateShl(bits32, 16), like(x, b.getFloatTy()));
  }
  return x;
}

Node Elements::to_memory(Node x, Elem elem) {
  if (elem == Elem::b1) return b.CreateZExt(x, like(x, b.getInt8Ty()));
  if (elem == Elem::f16) return b.CreateFPTruncFMF(x, like(x, b.getHalfTy()), llvm::FastMathFlags());
  if (elem == Elem::bf16) {
    Node bits32 = b.CreateBitCast(x, like(x, b.getInt32Ty()));
    return b.CreateTrunc(b.CreateLShr(bits32, 16), like(x, b.getInt16Ty()));
  }
  return x;
}

Node Elements::load(Node at, Elem elem, unsigned lanes) {
  return from_memory(b.CreateAlignedLoad(mem(elem, lanes), at, llvm::Align(static_cast<uint64_t>(size(elem)))), elem);
}

void Elements::store(Node x, Node at, Elem elem) {
  b.CreateAlignedStore(to_memory(x, elem), at, llvm::Align(static_cast<uint64_t>(size(elem))));
}

Node Elements::splat(Node x, unsigned lanes) {
  if (lanes == 1 || x->getType()->isVectorTy()) return x;
  return b.CreateVectorSplat(lanes, x);
}

Node Elements::at(Node base, Node bytes) { return b.CreatePtrAdd(base, bytes); }
Node Elements::at(Node base, int64_t bytes) { return bytes == 0 ? base : b.CreatePtrAdd(base, i64(bytes)); }

void Elements::loop(int64_t n, int64_t step, const std::function<void(Node)>& body) {
  if (n == step) return body(i64(0));
  llvm::Function* fn = b.GetInsertBlock()->getParent();
  llvm::BasicBlock* before = b.GetInsertBlock();
  auto* head = llvm::BasicBlock::Create(b.getContext(), "loop", fn);
  auto* exit = llvm::BasicBlock::Create(b.getContext(), "done", fn);
  b.CreateBr(head);
  b.SetInsertPoint(head);
  llvm::PHINode* i = b.CreatePHI(b.getInt64Ty(), 2);
  i->addIncoming(i64(0), before);
  body(i);
  Node next = b.CreateAdd(i, i64(step), "", true, true);
  i->addIncoming(next, b.GetInsertBlock());
  b.CreateCondBr(b.CreateICmpULT(next, i64(n)), head, exit);
  b.SetInsertPoint(exit);
}

int64_t Arena::take(int64_t bytes) {
  constexpr int64_t line = 64;
  const int64_t all = (bytes + red_zone + line - 1) / line * line;
  // What AddressSanitizer watches stays where it is: space is not used again.
  int64_t at = asan ? size_ : 0;
  if (!asan)
    for (const auto& [offset, size] : used_) {
      if (at + all <= offset) break;
      at = offset + size;
    }
  used_[at] = all;
  size_ = std::max(size_, at + all);
  if (asan) gaps_.push_back({static_cast<size_t>(at + bytes), static_cast<size_t>(at + all)});
  return at;
}

void Arena::give(int64_t offset) { used_.erase(offset); }

}  // namespace cpu
TLXJIT_NAMESPACE_END
