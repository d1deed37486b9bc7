// backends/cpu/lane_p.h — what the programs that run together need: shared memory, barriers, one fiber per instance.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <vector>

#include "backends/cpu/context_p.h"
#include "backends/cpu/stack_pool_p.h"

TLXJIT_NAMESPACE_BEGIN
namespace cpu {

/// Bytes [begin, end).
struct Gap {
  size_t begin, end;
};

/// Memory of known size and alignment, whose gaps AddressSanitizer watches; throws std::bad_alloc.
class Memory {
 public:
  Memory() = default;
  explicit Memory(size_t bytes, std::vector<Gap> gaps = {});
  uint8_t* data() const { return data_.get(); }
  size_t bytes() const { return bytes_; }
  /// Sets every byte.
  void fill(uint8_t byte);
  /// See forget_accesses.
  void forget();

 private:
  struct Free {
    size_t bytes;
    void operator()(uint8_t* p) const;
  };
  void watch(bool on);
  std::unique_ptr<uint8_t, Free> data_{nullptr, Free{0}};
  size_t bytes_ = 0;
  std::vector<Gap> gaps_;
};

struct TaskCode {
  TaskFunction entry = nullptr;
  uint32_t op = 0;
  int32_t replicas = 1;
  size_t arena_bytes = 0;
  std::vector<Gap> arena_gaps;
  size_t stack_bytes = 0;
};

/// A ring's barriers: a program that ends leaves each slot as often filled as drained.
struct RingCode {
  uint32_t op = 0;               // of the full barrier
  uint32_t full = 0, empty = 0;  // their first slots
  uint32_t slots = 0;
};

/// What the compiler says of a kernel.
struct Program {
  std::vector<TaskCode> tasks;
  std::vector<int32_t> barrier_counts;  // per slot, in the order in which compiled code numbers them
  std::vector<RingCode> rings;
  size_t shared_bytes = 0;
  std::vector<Gap> shared_gaps;
  int32_t words = 0;    // of the workspace
  int32_t cluster = 1;  // programs of a cluster
  bool resident = false;
  std::shared_ptr<void> code;

  size_t instances() const;  // of a cluster
};

/// The distance between the shared memories of a cluster's programs that have so many bytes.
constexpr size_t shared_stride(size_t bytes) { return (bytes + 1023) / 1024 * 1024; }

/// A place where a cluster of programs, mostly one, runs; on one thread at a time. The program outlives it.
class Lane {
 public:
  enum class State { done, blocked, stopped, uneven };

  Lane(const Program& program, StackPool& stacks);
  ~Lane();
  Lane(const Lane&) = delete;
  Lane& operator=(const Lane&) = delete;

  /// Puts the instances of programs number `first` and, in a cluster, those after it at their start.
  void begin(const tlxjit_cpu_launch& launch, const void* joined, int32_t first);
  /// Runs every fiber as far as it goes. `moved` becomes true where one went on.
  State advance(bool& moved);

  /// What a ring that is not even at the end of a program was left with.
  struct Uneven {
    const RingCode* ring = nullptr;  // null: every ring is even
    int32_t program = 0;
    uint32_t undrained = 0;  // fills; a slot has at most one, since the next fill waits for the drain
    uint32_t partial = 0;    // slots that only some of their fillers filled, or of their drainers drained
  };
  Uneven uneven() const;

  std::vector<Context> contexts;
  // For the launches that keep lists of lanes.
  Lane* next = nullptr;
  uint64_t stuck_at = 0;

 private:
  void print(Context& context) const;

  const Program& program_;
  StackPool& stacks_;
  Memory shared_;
  std::vector<Barrier> barriers_;
  Barrier together_{};
  const tlxjit_cpu_launch* launch_ = nullptr;
  std::vector<Memory> arenas_;
  size_t left_ = 0;  // fibers that are not done
};

}  // namespace cpu
TLXJIT_NAMESPACE_END
