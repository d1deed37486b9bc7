// backends/cpu/module_p.h — a compiled kernel: its code and what a launch must know of it.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "backends/cpu/lane_p.h"
#include "backends/cpu/pool_p.h"
#include "src/runtime/per_process_p.h"

struct tlxjit_cpu_kernel {
  /// What launches share.
  struct Shared {
    std::shared_ptr<tlxjit::cpu::Pool> pool = tlxjit::cpu::Pool::shared();  // outlives the lanes
    std::mutex mutex;
    std::vector<std::unique_ptr<tlxjit::cpu::Lane>> lanes;  // not in use
    size_t made = 0;                                        // lanes in all
  };
  tlxjit::cpu::Program program;
  tlxjit::runtime::PerProcess<Shared> shared;

  /// Makes lanes until there are so many in all.
  void reserve(Shared& shared, size_t lanes);
  std::unique_ptr<tlxjit::cpu::Lane> take_lane(Shared& shared);
  static void give_lane(Shared& shared, std::unique_ptr<tlxjit::cpu::Lane> lane);
};
