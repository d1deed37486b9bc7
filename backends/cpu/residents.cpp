// backends/cpu/residents.cpp — launches whose programs are all live at once.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/cpu/residents_p.h"

#include <chrono>
#include <thread>

TLXJIT_NAMESPACE_BEGIN
namespace cpu {

Residents::Residents(tlxjit_cpu_kernel& kernel, tlxjit_cpu_kernel::Shared& shared, const tlxjit_cpu_launch& launch,
                     Failures& failures)
    : kernel_(kernel), shared_(shared), failures_(failures) {
  try {
    for (int32_t program = 0; program < launch.grid; program += kernel.program.cluster) {
      push(kernel.take_lane(shared).release());
      last_->begin(launch, failures.joined(), program);
      last_->stuck_at = 0;
    }
  } catch (...) {
    while (Lane* lane = pop()) kernel_.give_lane(shared_, std::unique_ptr<Lane>(lane));
    throw;
  }
}

Residents::~Residents() {
  while (Lane* lane = pop()) kernel_.give_lane(shared_, std::unique_ptr<Lane>(lane));
}

void Residents::push(Lane* lane) {
  lane->next = nullptr;
  (last_ ? last_->next : first_) = lane;
  last_ = lane;
  ++standing_;
}

Lane* Residents::pop() {
  Lane* lane = first_;
  if (!lane) return nullptr;
  first_ = lane->next;
  if (!first_) last_ = nullptr;
  --standing_;
  return lane;
}

Residents::Turn Residents::take(Lane*& lane, uint64_t& moves) {
  std::lock_guard lock(mutex_);
  if (failures_.any()) return Turn::over;
  lane = pop();
  if (!lane) return running_ ? Turn::none_now : Turn::over;
  ++running_;
  moves = moves_;
  return Turn::taken;
}

void Residents::put(Lane* lane, Lane::State state, bool moved, uint64_t moves) {
  std::unique_lock lock(mutex_);
  --running_;
  if (moved) {
    ++moves_;
    stuck_ = 0;
  }
  if (state == Lane::State::done) {
    lock.unlock();
    return kernel_.give_lane(shared_, std::unique_ptr<Lane>(lane));
  }
  push(lane);
  if (state == Lane::State::stopped) return failures_.stopped(*lane);
  if (state == Lane::State::uneven) return failures_.uneven(*lane);
  // A look that began before the last move says nothing, and a second one nothing new.
  if (!moved && moves == moves_ && lane->stuck_at != moves_) {
    lane->stuck_at = moves_;
    ++stuck_;
  }
  // All were looked at since something moved, and nothing runs that could move them.
  if (running_ == 0 && stuck_ == standing_ && !failures_.any())
    for (Lane* l = first_; l; l = l->next) failures_.deadlock(*l);
}

void Residents::run() noexcept {
  for (int idle = 0;;) {
    Lane* lane = nullptr;
    uint64_t moves = 0;
    const Turn turn = take(lane, moves);
    if (turn == Turn::over) return;
    bool moved = false;
    if (turn == Turn::taken) {
      const Lane::State state = lane->advance(moved);
      put(lane, state, moved, moves);
    }
    // Another thread runs what the rest waits for: leave it the CPU.
    idle = moved ? 0 : idle + 1;
    if (idle > 1000)
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    else if (idle > 0)
      std::this_thread::yield();
  }
}

}  // namespace cpu
TLXJIT_NAMESPACE_END
