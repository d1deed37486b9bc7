// backends/cpu/context_p.h — what compiled code and the plug-in's own code share while a kernel runs.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstddef>
#include <cstdint>

#include "backends/cpu/fiber_p.h"
#include "backends/cpu/sanitizers_p.h"
#include "src/runtime/cpu_plugin_p.h"
#include "tlxjit/core/export.h"

TLXJIT_NAMESPACE_BEGIN
namespace cpu {

/// One slot of a barrier. A phase is complete when no arrival and no byte is missing; it then re-arms.
/// All fibers that use it run on one thread at a time, so nothing here is atomic.
struct Barrier {
  int32_t missing;  // arrivals, of the present phase
  int32_t count;    // arrivals of a phase
  int64_t bytes;    // missing; negative when copies came before their `expect`
  int32_t phase;    // parity of the present, incomplete phase
  int32_t unused;

  TLXJIT_UNSEEN_BY_TSAN void settle(int32_t arrivals, int64_t more_bytes) {
    missing -= arrivals;
    bytes += more_bytes;
    if (missing > 0 || bytes != 0) return;
    missing += count;
    phase ^= 1;
  }
};
static_assert(sizeof(Barrier) == 24);

/// How an element of a tensor is compared with a value.
struct FlagTest {
  enum Bits : uint32_t { predicate = 7, wide = 8, is_signed = 16 };  // predicate: a Predicate
  uint32_t bits = 0;

  int64_t load(const void* flag) const;
  bool holds(int64_t present, int64_t value) const;
};

/// Where a fiber waits: for a phase of a barrier, or for a flag.
struct Waiting {
  const Barrier* barrier = nullptr;
  const void* flag = nullptr;
  FlagTest test;
  int32_t parity = 0;
  int32_t slot = 0;
  uint32_t wait_op = 0;
  uint32_t object_op = 0;
  int64_t element = 0;
  int64_t value = 0;

  /// Also true where nothing is waited for.
  bool over() const {
    if (barrier) return barrier->phase != parity;
    return !flag || test.holds(test.load(flag), value);
  }
};

/// Why a fiber ended early: an index that is not one of `count`, a loop's step below 1, or an assertion that failed.
struct Stopped {
  tlxjit_cpu_status status = TLXJIT_CPU_OK;  // OK: it did not
  int64_t index = 0;                         // or the step; of an assertion: the element, −1 for a scalar
  int64_t count = 0;
  uint32_t op = 0;
};

/// What a fiber wants printed before it goes on.
struct Printing {
  const void* const* values = nullptr;  // null: nothing
  uint32_t op = 0;
};

/// One instance of a task while it runs. Compiled code reads the first part by offset; only functions that are unseen
/// by ThreadSanitizer write it, since fibers that ended read it without order.
struct Context {
  const int32_t* dims = nullptr;
  const tlxjit_cpu_tensor* tensors = nullptr;
  const uint64_t* scalars = nullptr;
  int32_t* workspace = nullptr;
  uint8_t* shared = nullptr;
  Barrier* barriers = nullptr;
  uint8_t* arena = nullptr;
  uint8_t* cluster_shared = nullptr;    // of rank 0; those of the other programs of the cluster follow
  Barrier* cluster_barriers = nullptr;  // likewise
  int32_t rank = 0;                     // of the program in its cluster
  int32_t program = 0;
  int32_t programs = 0;

  void (*entry)(Context*, int32_t replica) = nullptr;
  Fiber fiber;
  int32_t replica = 0;
  uint32_t task_op = 0;
  const void* launch = nullptr;  // what ends after all of its fibers
  Barrier* together = nullptr;   // of all instances of the cluster
  bool done = false;
  Waiting waiting;
  Stopped stopped;
  Printing printing;
};

using TaskFunction = void (*)(Context*, int32_t replica);

/// What a copy does: from the tensor, with zeros for what is outside, or leaving that as it is; or to the tensor.
enum class BoxMode : int32_t { load, load_inside, store };

/// A box of a tensor and its image, row-major, in local memory; constant in compiled code.
struct Box {
  int32_t rank;
  int32_t bytes;   // of an element
  int32_t ragged;  // the axis that `bound` limits, or −1
  int32_t mode;    // a BoxMode
  int32_t reduce;  // a CopyReduction: what a store does with what is there; −1: it replaces that
  int32_t elem;    // an Elem; only reductions ask
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
void tlxjit_cpu_flag_wait(Context* context, const void* flag, int64_t element, int64_t value, uint32_t test,
                          uint32_t wait_op, uint32_t tensor_op);
void tlxjit_cpu_cluster_sync(Context* context, uint32_t op);
void tlxjit_cpu_settle(Barrier* barrier, int32_t arrivals, int64_t bytes);
/// Arrives and waits for the phase that the arrival belongs to: all fibers of a program share a thread.
void tlxjit_cpu_meet(Context* context, Barrier* barrier, int32_t slot, uint32_t op, uint32_t barrier_op);
[[noreturn]] void tlxjit_cpu_outside(Context* context, int64_t index, int64_t count, uint32_t op);
[[noreturn]] void tlxjit_cpu_step(Context* context, int64_t step, uint32_t op);
[[noreturn]] void tlxjit_cpu_assert(Context* context, int64_t element, uint32_t op);
void tlxjit_cpu_print(Context* context, const void* const* values, uint32_t op);
void tlxjit_cpu_copy(const Box* box, const BoxAt* at, const tlxjit_cpu_tensor* tensor, uint8_t* local);
}

}  // namespace cpu
TLXJIT_NAMESPACE_END
