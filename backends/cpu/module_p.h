// backends/cpu/module_p.h — a compiled kernel: its code and what a launch must know of it.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "backends/cpu/per_process_p.h"
#include "backends/cpu/pool_p.h"

TLXJIT_NAMESPACE_BEGIN
namespace cpu {

/// Memory of known size and alignment; throws std::bad_alloc.
class Memory {
 public:
  Memory() = default;
  explicit Memory(size_t bytes);
  uint8_t* data() const { return data_.get(); }
  size_t bytes() const { return bytes_; }

 private:
  struct Free {
    void operator()(uint8_t* p) const { std::free(p); }
  };
  std::unique_ptr<uint8_t, Free> data_;
  size_t bytes_ = 0;
};

struct TaskCode {
  TaskFunction entry = nullptr;
  uint32_t op = 0;
  int32_t replicas = 1;
  size_t arena_bytes = 0;
  size_t stack_bytes = 0;
};

/// What the compiler says of a kernel.
struct Program {
  std::vector<TaskCode> tasks;
  std::vector<int32_t> barrier_counts;  // per slot, in the order in which compiled code numbers them
  size_t shared_bytes = 0;
  int32_t words = 0;  // of the workspace
  std::shared_ptr<void> code;
};

/// What one thread needs to run a program: shared memory, barriers, one context per instance.
class Lane {
 public:
  Lane(const Program& program, StackPool& stacks);
  ~Lane();
  Lane(const Lane&) = delete;
  Lane& operator=(const Lane&) = delete;

  std::vector<Context> contexts;
  std::vector<Barrier> barriers;
  Memory shared;

 private:
  StackPool& stacks_;
  std::vector<Memory> arenas_;
};

}  // namespace cpu
TLXJIT_NAMESPACE_END

struct tlxjit_cpu_kernel {
  /// What launches share.
  struct Shared {
    std::shared_ptr<tlxjit::cpu::Pool> pool = tlxjit::cpu::Pool::shared();  // outlives the lanes
    std::mutex mutex;
    std::vector<std::unique_ptr<tlxjit::cpu::Lane>> lanes;  // not in use
    size_t made = 0;                                        // lanes in all
  };
  tlxjit::cpu::Program program;
  tlxjit::cpu::PerProcess<Shared> shared;

  /// Makes lanes until there are so many in all.
  void reserve(Shared& shared, size_t lanes);
  std::unique_ptr<tlxjit::cpu::Lane> take_lane(Shared& shared);
  static void give_lane(Shared& shared, std::unique_ptr<tlxjit::cpu::Lane> lane);
};
