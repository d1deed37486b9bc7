// backends/cpu/context_p.h — what compiled code and the plug-in's own code share while a kernel runs.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstddef>
#include <cstdint>

#include "src/runtime/cpu_plugin_p.h"
#include "tlxjit/core/export.h"

TLXJIT_NAMESPACE_BEGIN
namespace cpu {

/// One slot of a barrier. A phase is complete when no arrival and no byte is missing; it then re-arms.
/// All fibers of a program run on one thread, so nothing here is atomic.
struct Barrier {
  int32_t missing;  // arrivals, of the present phase
  int32_t count;    // arrivals of a phase
  int64_t bytes;    // missing; negative when copies came before their `expect`
  int32_t phase;    // parity of the present, incomplete phase
  int32_t unused;

  void settle() {
    if (missing > 0 || bytes != 0) return;
    missing += count;
    phase ^= 1;
  }
};
static_assert(sizeof(Barrier) == 24);

/// Where a fiber waits.
struct Waiting {
  const Barrier* barrier = nullptr;  // null: it can go on
  int32_t parity = 0;
  int32_t slot = 0;
  uint32_t wait_op = 0;
  uint32_t barrier_op = 0;
};

/// An index that is not one of `count`: where a fiber ended early.
struct Outside {
  int64_t index = 0;
  int64_t count = 0;
  uint32_t op = 0;
  bool set = false;
};

/// One instance of a task while it runs. Compiled code reads the first part by offset.
struct Context {
  const int32_t* dims = nullptr;
  const tlxjit_cpu_tensor* tensors = nullptr;
  const uint64_t* scalars = nullptr;
  int32_t* workspace = nullptr;
  uint8_t* shared = nullptr;
  Barrier* barriers = nullptr;
  uint8_t* arena = nullptr;
  int32_t program = 0;
  int32_t programs = 0;

  void (*entry)(Context*, int32_t replica) = nullptr;
  void* fiber = nullptr;      // where to go on, while it stands
  void* scheduler = nullptr;  // where to return to, while it runs
  void* stack = nullptr;      // top of its stack
  size_t stack_bytes = 0;     // of it
  int32_t replica = 0;
  uint32_t task_op = 0;
  bool done = false;
  Waiting waiting;
  Outside outside;
};

using TaskFunction = void (*)(Context*, int32_t replica);

/// A box of a tensor and its image, row-major, in local memory; constant in compiled code.
struct Box {
  int32_t rank;
  int32_t bytes;   // of an element
  int32_t ragged;  // the axis that `bound` limits, or −1
  int32_t store;   // 0: tensor → local
  int64_t extent[5];
};

/// The part of a copy that is known only when it runs.
struct BoxAt {
  int64_t dim[5];
  int64_t at[5];
  int64_t bound;
};

/// Functions that compiled code calls; it finds no others but memcpy, memmove, memset and conversions.
extern "C" {
void tlxjit_cpu_wait(Context* context, const Barrier* barrier, int32_t parity, int32_t slot, uint32_t wait_op,
                     uint32_t barrier_op);
[[noreturn]] void tlxjit_cpu_outside(Context* context, int64_t index, int64_t count, uint32_t op);
void tlxjit_cpu_copy(const Box* box, const BoxAt* at, const tlxjit_cpu_tensor* tensor, uint8_t* local);
}

}  // namespace cpu
TLXJIT_NAMESPACE_END
