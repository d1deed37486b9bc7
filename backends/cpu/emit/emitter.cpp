// backends/cpu/emit/emitter.cpp — a task as an LLVM function: dispatch over the ops, scalars, the entry block.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/cpu/emit/emitter_p.h"

TLXJIT_NAMESPACE_BEGIN
namespace cpu {

Emitter::Emitter(Unit& unit, const Op& task) : Elements(unit.context()), unit_(unit), task_(task) {
  if (unit.precise) b.clearFastMathFlags();
}

Arena Emitter::run(const std::string& name) {
  llvm::Type* args[] = {b.getPtrTy(), b.getInt32Ty()};
  fn_ = unit_.function(name, b.getVoidTy(), args, false);
  context_ = fn_->getArg(0);
  replica_ = fn_->getArg(1);
  auto* entry = llvm::BasicBlock::Create(b.getContext(), "entry", fn_);
  auto* body = llvm::BasicBlock::Create(b.getContext(), "body", fn_);
  b.SetInsertPoint(entry);
  entry_end_ = b.CreateBr(body);
  b.SetInsertPoint(body);
  const int64_t scratch = dot_scratch_bytes();
  if (scratch > 0) arena_.take(scratch);  // at offset 0, for all dots
  block(task_.regions[0]);
  b.CreateRetVoid();
  return std::move(arena_);
}

void Emitter::block(const Block& block) {
  scopes_.emplace_back();
  for (size_t i = 0; i < block.ops.size(); ++i) {
    const Op& op = *block.ops[i];
    if (read_in_place(block, i))
      in_place_[op.result()] = op.operand(0);
    else
      this->op(op);
    died(op);
  }
  flush_all();
}

void Emitter::op(const Op& op) {
  if (is_stored_op(op)) return stored_op(op);
  if (is_tile_op(op, unit_.module)) return tile_op(op);
  if (info(op.code).scope != Scope::pure && op.code != OpCode::set) flush_all();
  switch (op.code) {
    case OpCode::for_: return for_loop(op);
    case OpCode::while_: return while_loop(op);
    case OpCode::if_: return if_else(op);
    case OpCode::var:
    case OpCode::accumulator: return declare(op);
    case OpCode::set: return set(op);
    case OpCode::yield: return;
    case OpCode::dot: return dot(op);
    case OpCode::wait: return wait(op);
    case OpCode::barrier_sync: return meet(op);
    case OpCode::arrive:
    case OpCode::expect: return arrive(op);
    case OpCode::copy_load:
    case OpCode::copy_store:
    case OpCode::copy_lanes:
    case OpCode::tile_store: return copy(op);
    case OpCode::load_scalar:
    case OpCode::buffer_get: scalars_[op.result()] = load_scalar(op); return;
    case OpCode::buffer_put: return store(scalar(op.operand(3)), element_address(op), type(op.operand(0)).elem);
    case OpCode::workspace_add:
    case OpCode::workspace_set: return workspace(op);
    case OpCode::flag_wait:
    case OpCode::flag_set:
    case OpCode::flag_add: return flag(op);
    case OpCode::cluster_sync:
    case OpCode::arrive_remote:
    case OpCode::buffer_store_remote: return cluster_op(op);
    case OpCode::view:
    case OpCode::part:
    case OpCode::trans:
    case OpCode::view_slice:
    case OpCode::view_reshape:
    case OpCode::view_reinterpret:
      return;  // formed where they are used
    // An instance is one fiber, and copies and dots are done when they are issued.
    case OpCode::dot_fence:
    case OpCode::dot_commit:
    case OpCode::dot_wait:
    case OpCode::copy_drain:
    case OpCode::copy_prefetch:
    case OpCode::copy_commit:
    case OpCode::copy_wait:
    case OpCode::sync: return;
    case OpCode::fence:
      if (op.attrs.find("scope")) b.CreateFence(llvm::AtomicOrdering::SequentiallyConsistent);
      return;
    default: break;
  }
  if (op.results.size() != 1 || !type(op.result()).is_scalar()) unsupported(op, "this op in a task");
  scalars_[op.result()] = scalar_op(op);
}

Node Emitter::scalar(Value v) {
  if (auto found = scalars_.find(v); found != scalars_.end()) return found->second;
  const Op* def = unit_.module.def(v);
  if (!def || !type(v).is_scalar()) unsupported(def ? *def : task_, "a value that is no scalar here");
  return outer_scalar(*def);
}

/// A scalar of the module's body, computed anew by each instance that uses it. What it needs comes first, from a
/// list: chains of such ops have any length.
Node Emitter::outer_scalar(const Op& op) {
  std::vector<const Op*> open{&op};
  while (!open.empty()) {
    const Op& top = *open.back();
    const size_t depth = open.size();
    if (!scalars_.contains(top.result())) {
      if (info(top.code).scope != Scope::pure && top.code != OpCode::dim && top.code != OpCode::scalar)
        unsupported(top, "a value that only the host knows");
      for (Value v : top.operands) {
        if (scalars_.contains(v)) continue;
        const Op* def = unit_.module.def(v);
        if (!def || !type(v).is_scalar()) unsupported(top, "a value that is no scalar here");
        open.push_back(def);
      }
      if (open.size() > depth) continue;
      at_entry([&] { scalars_[top.result()] = scalar_op(top); });
    }
    open.pop_back();
  }
  return scalars_.at(op.result());
}

void Emitter::at_entry(const std::function<void()>& fn) {
  llvm::IRBuilderBase::InsertPointGuard guard(b);
  b.SetInsertPoint(entry_end_);
  fn();
}

Node Emitter::field(size_t offset, llvm::Type* type) {
  Node& node = fields_[offset];
  if (!node) at_entry([&] { node = b.CreateLoad(type, at(context_, static_cast<int64_t>(offset))); });
  return node;
}

Node Emitter::entry_alloca(llvm::Type* type) {
  Node node = nullptr;
  at_entry([&] { node = b.CreateAlloca(type); });
  return node;
}

}  // namespace cpu
TLXJIT_NAMESPACE_END
