// include/tlxjit/builder/barrier.h — synchronisation by hand: barriers, phases, named barriers.
//
//     auto full = k.barrier(4, 1);                 // 4 slots, a phase ends after 1 arrival; outside tasks
//     Cursor c = k.cursor(4);                      // inside: slot and phase, both 0 at first
//     full[c.slot].expect(buf.bytes());            // arrives, and has the phase wait for that many bytes
//     full[c.slot].load(buf[c.slot], a, {i, j});   // … which this copy brings
//     c.next();
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <string_view>

#include "tlxjit/builder/buffer.h"

TLXJIT_NAMESPACE_BEGIN

/// Who arrives: the instance once, or each of its warps.
enum class Arrive { per_instance, per_warp };

struct ArriveOptions {
  Arrive per = Arrive::per_instance;
  /// The youngest dots that may still be in flight; the others are complete before the arrival.
  int dots = 0;
};

/// Slot and phase of one who walks round the slots of a barrier: slot c mod n, phase (c / n) & 1 for a count c that
/// starts at 0. Made inside a task; a copy walks on its own.
class TLXJIT_API Cursor {
 public:
  Index slot;
  Index phase;
  /// The phase before: what one waits for who fills a slot that is free at first.
  Index former(std::source_location at = std::source_location::current()) const;
  void next(std::source_location at = std::source_location::current());

 private:
  friend class Kernel;
  int slots_ = 1;
};

/// One slot of a barrier.
class TLXJIT_API BarrierSlot {
 public:
  /// Waits until the phase of this parity has completed; of a fresh barrier, parity 1 has. Of a count of phases its
  /// lowest bit is taken.
  void wait(Operand phase) const;
  /// One arrival (of each warp, if so asked): this instance has finished its earlier accesses, dots included.
  void arrive(ArriveOptions options = {}, std::source_location at = std::source_location::current()) const;
  /// As `arrive`, at this slot of this barrier in the program of that rank of the cluster (k.cluster).
  void arrive_remote(Operand rank, ArriveOptions options = {}) const;
  /// Arrives, and adds `bytes` to what the phase waits for.
  void expect(int64_t bytes, std::source_location at = std::source_location::current()) const;
  /// Copies from `tensor` at `offsets` to a whole slot of a buffer, asynchronous; its bytes count on this barrier.
  /// A tensor of higher rank than the buffer takes offsets for its outer axes too. Elements outside are 0.
  void load(const View& to, const Tensor& tensor, std::initializer_list<Operand> offsets,
            std::source_location at = std::source_location::current()) const;

 private:
  friend class Barrier;
  friend class NamedBarrier;
  friend class View;
  std::shared_ptr<BuilderState> state_;
  Value barrier_ = no_value;
  Value slot_ = no_value;
};

/// Counting barriers, one per slot; declared outside tasks.
class TLXJIT_API Barrier {
 public:
  BarrierSlot operator[](Operand slot) const;
  bool valid() const { return state_ && value_ != no_value; }

 private:
  friend class Kernel;
  friend class NamedBarrier;
  std::shared_ptr<BuilderState> state_;
  Value value_ = no_value;
};

/// A meeting of `participants` instances, again and again. Each takes part in every round, by wait or by arrive.
class TLXJIT_API NamedBarrier {
 public:
  /// Arrives and waits for the others.
  void wait(std::source_location at = std::source_location::current()) const;
  /// Arrives and goes on.
  void arrive(std::source_location at = std::source_location::current()) const;

 private:
  friend class Kernel;
  Barrier barrier_;
};

/// What a fence orders: ordinary writes to shared memory before asynchronous reads of it, or accesses to global
/// memory as the whole device, or the host too, sees them.
enum class Fence { shared, gpu, system };

TLXJIT_NAMESPACE_END
