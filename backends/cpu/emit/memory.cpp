// backends/cpu/emit/memory.cpp — tensors, buffers, views, copies, the workspace.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/cpu/emit/emitter_p.h"
#include "src/ir/words_p.h"

TLXJIT_NAMESPACE_BEGIN
namespace cpu {

namespace {

/// A CopyReduction, or −1.
int32_t reduction_of(const Op& op) {
  const auto kind = from_word<CopyReduction>(op.attrs.text("reduce"));
  return kind ? static_cast<int32_t>(*kind) : -1;
}

/// The view's shape and strides where its elements lie row by row.
void lie_densely(View& view, const Type& type) {
  view.elem = type.elem;
  view.shape = type.shape;
  int64_t stride = 1;
  for (int i = view.shape.rank - 1; i >= 0; --i) {
    view.stride[static_cast<size_t>(i)] = stride;
    stride *= view.shape[i];
  }
}

}  // namespace

/// The index in 64 bits, after code that ends the launch at `op` where it is not one of n.
Node Emitter::bounded(Value index, int64_t n, const Op& op) { return bounded(index64(index), i64(n), op); }

Node Emitter::bounded(Node i, Node n, const Op& op) {
  Node inside = b.CreateICmpULT(i, n);
  if (auto* known = llvm::dyn_cast<llvm::ConstantInt>(inside); known && known->isOne()) return i;
  demand(inside, "tlxjit_cpu_outside", {i, n}, op);
  return i;
}

/// The slot's address; `op` is the one that names the slot.
Node Emitter::slot_address(Value buffer, Value slot, const Op& op) {
  const Type& t = type(buffer);
  Node first = at(field(offsetof(Context, shared), b.getPtrTy()), unit_.buffer_offset.at(buffer));
  return at(first, b.CreateMul(bounded(slot, t.slots, op), i64(t.shape.elements() * size(t.elem))));
}

Node Emitter::tensor_address(Value tensor) {
  return at(field(offsetof(Context, tensors), b.getPtrTy()),
            static_cast<int64_t>(unit_.index.at(tensor) * sizeof(tlxjit_cpu_tensor)));
}

/// The stride of an axis but the innermost, in elements.
Node Emitter::tensor_stride(Value tensor, size_t axis) {
  const std::vector<int64_t>& promised = unit_.module.def(tensor)->attrs.list("strides");
  if (axis < promised.size() && promised[axis] >= 0) return i64(promised[axis]);
  const auto place = static_cast<int64_t>(offsetof(tlxjit_cpu_tensor, strides) + 8 * axis);
  return b.CreateLoad(b.getInt64Ty(), at(tensor_address(tensor), place));
}

View Emitter::view(Value v) {
  const Op* def = unit_.module.def(v);
  if (!def) unsupported(task_, "a view from nowhere");
  View view;
  switch (def->code) {
    case OpCode::view: {
      view.base = slot_address(def->operand(0), def->operand(1), *def);
      lie_densely(view, type(def->operand(0)));
      return view;
    }
    case OpCode::view_reshape:
    case OpCode::view_reinterpret:
      view = this->view(def->operand(0));
      lie_densely(view, type(v));
      return view;
    case OpCode::view_slice: {
      view = this->view(def->operand(0));
      const std::vector<int64_t>& offsets = def->attrs.list("offsets");
      int64_t offset = 0;
      for (size_t i = 0; i < offsets.size() && i < view.stride.size(); ++i) offset += offsets[i] * view.stride[i];
      view.base = at(view.base, offset * size(view.elem));
      view.shape = type(v).shape;
      return view;
    }
    case OpCode::part: {
      view = this->view(def->operand(0));
      const int64_t rows = type(v).shape[0];
      Node index = bounded(def->operand(1), view.shape[0] / rows, *def);
      view.shape[0] = rows;
      view.base = at(view.base, b.CreateMul(index, i64(rows * view.stride[0] * size(view.elem))));
      return view;
    }
    case OpCode::trans:
      view = this->view(def->operand(0));
      std::swap(view.shape.dim[0], view.shape.dim[1]);
      std::swap(view.stride[0], view.stride[1]);
      return view;
    default: unsupported(*def, "this op as a view");
  }
}

Node Emitter::element_address(const Op& op) {
  const Value buffer = op.operand(0);
  const Type& t = type(buffer);
  Node slot = slot_address(buffer, op.operand(1), op);
  return at(slot, b.CreateMul(bounded(op.operand(2), t.shape.elements(), op), i64(size(t.elem))));
}

Node Emitter::load_scalar(const Op& op) {
  const Value source = op.operand(0);
  const Elem elem = type(source).elem;
  Node number = nullptr;
  return load(op.code == OpCode::buffer_get ? element_address(op) : tensor_element(op, number), elem, 1);
}

/// The address of the element of tensor 0 that operands 1 to rank name, and its number if rows were packed, after code
/// that ends the launch where there is none.
Node Emitter::tensor_element(const Op& op, Node& number) {
  const Value tensor = op.operand(0);
  const auto rank = static_cast<size_t>(type(tensor).slots);
  const int64_t window = op.attrs.integer("window", -1);
  const Op& declared = *unit_.module.def(tensor);
  Node at_tensor = tensor_address(tensor);
  Node offset = i64(0);
  number = i64(0);
  for (size_t axis = 0; axis < rank; ++axis) {
    Node extent = index64(declared.operand(axis));
    Node index = index64(op.operand(1 + axis));
    if (static_cast<int64_t>(axis) == window) {
      Node within = b.CreateSub(index, index64(op.operand(1 + rank)));
      bounded(within, b.CreateBinaryIntrinsic(llvm::Intrinsic::smax, index64(op.operand(2 + rank)), i64(0)), op);
    }
    bounded(index, extent, op);
    number = b.CreateAdd(b.CreateMul(number, extent), index);
    if (axis + 1 < rank)  // the innermost stride is 1
      index = b.CreateMul(index, tensor_stride(tensor, axis));
    offset = b.CreateAdd(offset, index);
  }
  Node data = b.CreateLoad(b.getPtrTy(), at_tensor);
  return at(data, b.CreateMul(offset, i64(size(type(tensor).elem))));
}

/// copy.load, copy.lanes, copy.store and tile.store.
void Emitter::copy(const Op& op) {
  const bool load = op.code == OpCode::copy_load, from_tile = op.code == OpCode::tile_store;
  const bool to_local = load || op.code == OpCode::copy_lanes;
  const Elem elem = type(op.operand(0)).elem;
  const int64_t elements = box_elements(op.attrs.list("box"));
  if (elements != type(op.operand(1)).shape.elements() || elem != type(op.operand(1)).elem)
    unsupported(op, "a box that is not of the local memory's size");
  Node local = from_tile ? tile_address(op.operand(1)) : slot_address(op.operand(1), op.operand(2), op);
  copy_box(op, load ? 5 : from_tile ? 2 : 3, to_local ? BoxMode::load : BoxMode::store, local);
  if (load) settle(barrier_address(op.operand(3), op.operand(4), op), b.getInt32(0), i64(-elements * size(elem)));
}

/// A call with a constant box, and coordinates on the stack.
void Emitter::copy_box(const Op& op, size_t first, BoxMode mode, Node local) {
  const Value tensor = op.operand(0);
  const Elem elem = type(tensor).elem;
  const auto rank = static_cast<size_t>(type(tensor).slots);
  const std::vector<int64_t>& box = op.attrs.list("box");
  const int64_t ragged = op.attrs.integer("ragged", -1);
  const size_t coordinates = rank + (ragged >= 0 ? 1 : 0);
  if (box.size() != rank || rank < 1 || rank > Shape::max_rank || op.operands.size() < first + coordinates ||
      ragged >= static_cast<int64_t>(rank))
    unsupported(op, "a box whose rank is not the tensor's");

  llvm::Type* i32 = b.getInt32Ty();
  llvm::Type* i64_type = b.getInt64Ty();
  auto integer = [](llvm::Type* t, int64_t v) {
    return llvm::ConstantInt::getSigned(llvm::cast<llvm::IntegerType>(t), v);
  };
  std::vector<llvm::Constant*> extents;
  for (size_t i = 0; i < 5; ++i) extents.push_back(integer(i64_type, i < rank ? box[i] : 0));
  auto* array = llvm::ArrayType::get(i64_type, 5);
  llvm::Constant* constant = llvm::ConstantStruct::getAnon(
      {integer(i32, static_cast<int64_t>(rank)), integer(i32, size(elem)), integer(i32, ragged),
       integer(i32, static_cast<int64_t>(mode)), integer(i32, reduction_of(op)),
       integer(i32, static_cast<int64_t>(elem)), llvm::ConstantArray::get(array, extents)});
  auto* global = new llvm::GlobalVariable(unit_.code, constant->getType(), true, llvm::GlobalValue::PrivateLinkage,
                                          constant, "box");
  static_assert(sizeof(Box) == 64);

  if (!copy_at_) copy_at_ = entry_alloca(llvm::ArrayType::get(i64_type, sizeof(BoxAt) / 8));
  Node where = copy_at_;  // one for all copies: each is over when its call returns
  auto put = [&](size_t offset, size_t i, Node v) {
    b.CreateStore(v, at(where, static_cast<int64_t>(offset + 8 * i)));
  };
  const Op& declared = *unit_.module.def(tensor);
  for (size_t i = 0; i < rank; ++i) {
    put(offsetof(BoxAt, dim), i, index64(declared.operand(i)));
    put(offsetof(BoxAt, at), i, index64(op.operand(first + i)));
  }
  if (ragged >= 0) put(offsetof(BoxAt, bound), 0, index64(op.operand(first + rank)));
  auto runtime = unit_.code.getOrInsertFunction("tlxjit_cpu_copy", b.getVoidTy(), b.getPtrTy(), b.getPtrTy(),
                                                b.getPtrTy(), b.getPtrTy());
  b.CreateCall(runtime, {global, where, tensor_address(tensor), local});
}

void Emitter::workspace(const Op& op) {
  const int64_t word = op.attrs.integer("word", -1);
  if (word < 0 || word >= unit_.words) unsupported(op, "a word outside the workspace");
  Node address = at(field(offsetof(Context, workspace), b.getPtrTy()), word * 4);
  Node value = scalar(op.operand(0));
  if (op.code == OpCode::workspace_add) {
    scalars_[op.result()] = b.CreateAtomicRMW(llvm::AtomicRMWInst::Add, address, value, llvm::Align(4),
                                              llvm::AtomicOrdering::AcquireRelease);
    return;
  }
  auto* store = b.CreateAlignedStore(value, address, llvm::Align(4));
  store->setAtomic(llvm::AtomicOrdering::Release);
}

}  // namespace cpu
TLXJIT_NAMESPACE_END
