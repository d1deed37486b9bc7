// backends/cpu/module.cpp — a compiled kernel and the memory that its launches reuse.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/cpu/module_p.h"

#include <cstdlib>
#include <cstring>
#include <new>

TLXJIT_NAMESPACE_BEGIN
namespace cpu {

Memory::Memory(size_t bytes) : bytes_(bytes) {
  if (bytes == 0) return;
  constexpr size_t alignment = 1024;  // as shared memory on a GPU
  data_.reset(static_cast<uint8_t*>(std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment)));
  if (!data_) throw std::bad_alloc();
}

Lane::Lane(const Program& program, StackPool& stacks) : stacks_(stacks) {
  shared = Memory(program.shared_bytes);
  if (shared.bytes() != 0) std::memset(shared.data(), 0xff, shared.bytes());
  barriers.resize(program.barrier_counts.size());
  for (const TaskCode& task : program.tasks)
    for (int32_t replica = 0; replica < task.replicas; ++replica) {
      Memory arena(task.arena_bytes);
      Context context;
      context.shared = shared.data();
      context.barriers = barriers.data();
      context.arena = arena.data();
      context.entry = task.entry;
      context.task_op = task.op;
      context.replica = replica;
      arenas_.push_back(std::move(arena));
      contexts.push_back(context);
      contexts.back().stack = stacks_.take(task.stack_bytes);
      contexts.back().stack_bytes = task.stack_bytes;
    }
}

Lane::~Lane() {
  for (Context& context : contexts)
    if (context.stack) stacks_.give(context.stack, context.stack_bytes);
}

}  // namespace cpu
TLXJIT_NAMESPACE_END

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
