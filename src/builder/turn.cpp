// src/builder/turn.cpp — the right to issue, handed round the replicas of a task.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <climits>

#include "src/builder/state_p.h"
#include "tlxjit/builder/kernel.h"

TLXJIT_NAMESPACE_BEGIN

// Slot r of the barrier is replica r's turn: replica r − 1 arrives there. Replica 0 has the first turn, so each time it
// waits for the phase before. Replicas may take unequal numbers of turns: one that has left its body goes on handing
// the turn round until all have, which they count in shared memory, written and read by whose turn it is.
Turn Task::turn(std::source_location at) const {
  Turn turn;
  if (!is_here(at)) return turn;
  const int replicas = replicas_;
  if (replicas == 1) return turn;
  turn.state_ = state_;
  SharedBuffer left;
  Kernel kernel(state_);
  state_->inside(*state_->blocks.front(), [&] {
    turn.barrier_ = kernel.barrier(replicas, state_->task_warps,
                                   state_->tasks[static_cast<size_t>(number_) - 1].name + ".turn", at);
    left = kernel.buffer<int32_t>(1, {1}, {}, at);
  });
  turn.replica_ = replica(at);
  turn.next_ = (Operand(turn.replica_, at) + Operand(1, at)) % Operand(replicas, at);
  const Tile first = Operand(turn.replica_, at) == Operand(0, at);
  turn.phase_ = std::make_shared<Index>(first.to<int32_t>(at));
  kernel.when(Operand(first, at), [&] { left.put(Operand(0, at), Operand(0, at), Operand(0, at)); });

  state_->at_task_end.push_back([turn, left, replicas, at]() mutable {
    turn.take(at);
    Index gone = left.get(Operand(0, at), Operand(0, at)) + Operand(1, at);
    left.put(Operand(0, at), Operand(0, at), gone);
    turn.pass(at);
    Kernel(turn.state_)
        .loop([&] { return Operand(gone, at) < Operand(replicas, at); },
              [&] {
                turn.take(at);
                gone = left.get(Operand(0, at), Operand(0, at));
                turn.pass(at);
              },
              at);
  });
  return turn;
}

void Turn::take(std::source_location at) {
  if (!state_) return;
  barrier_[Operand(replica_, at)].wait(Operand(*phase_, at));
  *phase_ = Operand(*phase_, at) ^ Operand(1, at);
}

void Turn::pass(std::source_location at) const {
  if (state_) barrier_[Operand(next_, at)].arrive({.per = Arrive::per_warp, .dots = INT_MAX}, at);
}

TLXJIT_NAMESPACE_END
