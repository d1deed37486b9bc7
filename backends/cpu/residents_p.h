// backends/cpu/residents_p.h — launches whose programs are all live at once.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <mutex>

#include "backends/cpu/failures_p.h"
#include "backends/cpu/module_p.h"

TLXJIT_NAMESPACE_BEGIN
namespace cpu {

/// Every cluster has a lane, from the start of the launch to its end. Threads take turns with them: whoever is free
/// runs the lane that was left longest ago as far as it goes. One that waits for a flag is looked at again and again,
/// until it is known that all that is left waits.
class Residents final : public Job {
 public:
  /// Throws std::bad_alloc.
  Residents(tlxjit_cpu_kernel& kernel, tlxjit_cpu_kernel::Shared& shared, const tlxjit_cpu_launch& launch,
            Failures& failures);
  ~Residents();
  void run() noexcept override;

 private:
  enum class Turn { taken, none_now, over };
  Turn take(Lane*& lane, uint64_t& moves);
  /// After a lane was run; `moves`: as `take` gave it.
  void put(Lane* lane, Lane::State state, bool moved, uint64_t moves);
  void push(Lane* lane);
  Lane* pop();

  tlxjit_cpu_kernel& kernel_;
  tlxjit_cpu_kernel::Shared& shared_;
  Failures& failures_;
  std::mutex mutex_;
  Lane* first_ = nullptr;  // lanes that no thread runs, in the order in which they were left
  Lane* last_ = nullptr;
  size_t standing_ = 0;  // their number
  size_t running_ = 0;
  uint64_t moves_ = 1;  // grows when a lane went on
  size_t stuck_ = 0;    // lanes looked at since the last move that did not
};

}  // namespace cpu
TLXJIT_NAMESPACE_END
