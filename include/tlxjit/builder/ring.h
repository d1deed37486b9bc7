// include/tlxjit/builder/ring.h — rings of slots in shared memory, filled by some tasks and drained by others.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <memory>
#include <string_view>

#include "tlxjit/builder/buffer.h"
#include "tlxjit/builder/name.h"
#include "tlxjit/builder/tensor.h"

TLXJIT_NAMESPACE_BEGIN

class Task;

/// One slot of a ring, held from acquire or wait to the end of the region (or publish, release).
class TLXJIT_API Slot {
 public:
  /// Fills a field from a tensor of the same rank; completes on the slot.
  void load(std::string_view field, const Tensor& tensor, std::initializer_list<Operand> offsets,
            std::source_location at = std::source_location::current()) const;
  /// Fills a field from a tile of its shape. With a task, each of its replicas fills its part of the rows.
  void store(std::string_view field, const Tile& tile, std::source_location at = std::source_location::current()) const;
  void store(std::string_view field, const Tile& tile, const Task& task,
             std::source_location at = std::source_location::current()) const;
  /// A field of a slot that was waited for.
  View operator[](Name field) const;
  void publish(std::source_location at = std::source_location::current()) const;
  void release(std::source_location at = std::source_location::current()) const;

 private:
  friend class Ring;
  std::shared_ptr<BuilderState> state_;
  Value ring_ = no_value;
  Value value_ = no_value;
};

/// `stages` slots of named fields in shared memory, between the tasks that fill and those that drain them.
class TLXJIT_API Ring {
 public:
  /// Adds a field: in each slot a tile of rank 1 to 5 under this name, which no other field of the ring has.
  Ring& slot(std::string_view field, Elem elem, Shape shape, std::source_location at = std::source_location::current());
  template <Element T>
  Ring& slot(std::string_view field, Shape shape, std::source_location at = std::source_location::current()) {
    return slot(field, elem_of<T>, shape, at);
  }
  /// How many instances fill, or drain, one slot; left out, all that acquire, or wait. Those that do not take a
  /// slot skip it.
  Ring& fillers(int count, std::source_location at = std::source_location::current());
  Ring& drainers(int count, std::source_location at = std::source_location::current());
  /// Passes over the next slots that this instance does not drain, or does not fill. Rounds of a ring are told apart by
  /// one bit, so nobody waits for a slot while the one `stages` before it is not full: let `turn` order those who skip
  /// more than a round takes.
  void skip(Operand slots) const;
  void skip_fill(Operand slots) const;
  /// The next slot to fill, once it is free.
  Slot acquire(std::source_location at = std::source_location::current()) const;
  /// The next slot to read, once all its fields are filled.
  Slot wait(std::source_location at = std::source_location::current()) const;

 private:
  friend class Kernel;
  Ring& count(const char* side, int instances, const Location& at);
  void skip(const char* side, const Operand& slots) const;
  Slot next(OpCode side, const Location& at) const;
  std::shared_ptr<BuilderState> state_;
  Value value_ = no_value;
};

TLXJIT_NAMESPACE_END
