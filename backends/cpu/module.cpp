// backends/cpu/module.cpp — a compiled kernel and the memory that its launches reuse.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/cpu/module_p.h"

void tlxjit_cpu_kernel::reserve(Shared& shared, size_t lanes) {
  std::lock_guard lock(shared.mutex);
  while (shared.made < lanes) {
    shared.lanes.reserve(shared.made + 1);
    shared.lanes.push_back(std::make_unique<tlxjit::cpu::Lane>(program, shared.pool->stacks()));
    ++shared.made;
  }
}

std::unique_ptr<tlxjit::cpu::Lane> tlxjit_cpu_kernel::take_lane(Shared& shared) {
  std::lock_guard lock(shared.mutex);
  if (!shared.lanes.empty()) {
    auto lane = std::move(shared.lanes.back());
    shared.lanes.pop_back();
    return lane;
  }
  shared.lanes.reserve(shared.made + 1);  // so that giving it back does not allocate
  auto lane = std::make_unique<tlxjit::cpu::Lane>(program, shared.pool->stacks());
  ++shared.made;
  return lane;
}

void tlxjit_cpu_kernel::give_lane(Shared& shared, std::unique_ptr<tlxjit::cpu::Lane> lane) {
  std::lock_guard lock(shared.mutex);
  shared.lanes.push_back(std::move(lane));
}
