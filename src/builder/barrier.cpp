// src/builder/barrier.cpp — synchronisation by hand: barriers, cursors, named barriers, fences, waits.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tlxjit/builder/barrier.h"

#include "src/builder/state_p.h"
#include "tlxjit/builder/kernel.h"

TLXJIT_NAMESPACE_BEGIN

namespace {

Attrs pending_of(int pending) {
  Attrs attrs;
  attrs.set("pending", int64_t{pending});
  return attrs;
}

Attrs attrs_of(const ArriveOptions& options) {
  Attrs attrs;
  attrs.set("per", std::string(options.per == Arrive::per_warp ? "warp" : "instance"));
  if (options.dots != 0) attrs.set("pending", int64_t{options.dots});
  return attrs;
}

}  // namespace

Barrier Kernel::barrier(int slots, int arrivals, std::string_view name, std::source_location at) {
  BuilderState& s = use(at);
  Barrier barrier;
  barrier.state_ = s.shared_from_this();
  const int number = s.barriers++;
  Attrs attrs;
  attrs.set("count", int64_t{arrivals});
  attrs.set("name", name.empty() ? "barrier" + std::to_string(number) : std::string(name));
  barrier.value_ = s.emit(OpCode::barrier, {}, {Type::barrier(slots)}, std::move(attrs), at);
  return barrier;
}

BarrierSlot Barrier::operator[](Operand slot) const {
  BarrierSlot result;
  BuilderState* s = kernel_of(state_, {&slot}, slot.at);
  if (!s) return result;
  result.state_ = state_;
  result.barrier_ = value_;
  result.slot_ = s->index(slot);
  return result;
}

void BarrierSlot::wait(Operand phase) const {
  BuilderState* s = kernel_of(state_, {&phase}, phase.at);
  if (!s) return;
  Value parity = s->index(phase);
  if (phase.is_tile) {
    const Type i32 = Type::scalar(Elem::i32);
    parity = s->emit(OpCode::bit_and, {parity, s->literal(Operand(1, phase.at), Elem::i32)}, {i32}, {}, phase.at);
  }
  s->emit(OpCode::wait, {barrier_, slot_, parity}, {}, {}, phase.at);
}

void BarrierSlot::arrive(ArriveOptions options, std::source_location at) const {
  if (state_ && state_->knows(options.per, Arrive::per_warp, "Arrive", at))
    state_->emit(OpCode::arrive, {barrier_, slot_}, {}, attrs_of(options), at);
}

void BarrierSlot::arrive_remote(Operand rank, ArriveOptions options) const {
  BuilderState* s = kernel_of(state_, {&rank}, rank.at);
  if (s && s->knows(options.per, Arrive::per_warp, "Arrive", rank.at))
    s->emit(OpCode::arrive_remote, {barrier_, slot_, s->index(rank)}, {}, attrs_of(options), rank.at);
}

void BarrierSlot::expect(int64_t bytes, std::source_location at) const {
  if (!state_) return;
  Attrs attrs;
  attrs.set("bytes", bytes);
  state_->emit(OpCode::expect, {barrier_, slot_}, {}, std::move(attrs), at);
}

void BarrierSlot::load(const View& to, const Tensor& tensor, std::initializer_list<Operand> offsets,
                       std::source_location at) const {
  if (!kernel_of({&state_, &to.state_, &tensor.state_}, at) || !to.valid()) return;
  emit_copy(OpCode::copy_load, to, tensor.value_, {barrier_, slot_}, offsets, {}, at);
}

NamedBarrier Kernel::named_barrier(int participants, std::string_view name, std::source_location at) {
  NamedBarrier named;
  named.barrier_ = barrier(1, participants, name, at);
  return named;
}

void NamedBarrier::wait(std::source_location at) const {
  const BarrierSlot slot = barrier_[Operand(0, at)];
  if (slot.state_) slot.state_->emit(OpCode::barrier_sync, {slot.barrier_, slot.slot_}, {}, {}, at);
}

void NamedBarrier::arrive(std::source_location at) const { barrier_[Operand(0, at)].arrive({}, at); }

// --- cursors ---

Cursor Kernel::cursor(int slots, std::source_location at) {
  BuilderState& s = use(at);
  Cursor cursor;
  if (slots < 1) {
    cursor.slot = cursor.phase = s.poison();
    s.fault("cursor: walks round at least 1 slot", at);
    return cursor;
  }
  cursor.slots_ = slots;
  cursor.slot = s.handle(s.literal(Operand(0, at), Elem::i32), at);
  cursor.phase = s.handle(s.literal(Operand(0, at), Elem::i32), at);
  return cursor;
}

Index Cursor::former(std::source_location at) const { return Operand(phase, at) ^ Operand(1, at); }

void Cursor::next(std::source_location at) {
  if (slots_ == 1) {
    phase = Operand(phase, at) ^ Operand(1, at);
    return;
  }
  const Index after = Operand(slot, at) + Operand(1, at);
  const Tile wraps = Operand(after, at) == Operand(slots_, at);
  slot = select(Operand(wraps, at), Operand(0, at), Operand(after, at));
  phase = Operand(phase, at) ^ Operand(wraps.to(Elem::i32, at), at);
}

// --- fences and waits ---

void Kernel::fence(Fence what, std::source_location at) {
  BuilderState& s = use(at);
  if (!s.knows(what, Fence::system, "Fence", at)) return;
  Attrs attrs;
  if (what != Fence::shared) attrs.set("scope", std::string(what == Fence::gpu ? "gpu" : "system"));
  s.emit(OpCode::fence, {}, {}, std::move(attrs), at);
}

void Kernel::dots_wait(int pending, std::source_location at) {
  use(at).emit(OpCode::dot_wait, {}, {}, pending_of(pending), at);
}

void Kernel::copies_drain(int pending, bool read_only, std::source_location at) {
  Attrs attrs = pending_of(pending);
  attrs.set("read", int64_t{read_only});
  use(at).emit(OpCode::copy_drain, {}, {}, std::move(attrs), at);
}

void Kernel::lanes_commit(std::source_location at) { use(at).emit(OpCode::copy_commit, {}, {}, {}, at); }
void Kernel::lanes_wait(int pending, std::source_location at) {
  use(at).emit(OpCode::copy_wait, {}, {}, pending_of(pending), at);
}

TLXJIT_NAMESPACE_END
