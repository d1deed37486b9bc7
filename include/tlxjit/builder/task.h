// include/tlxjit/builder/task.h — tasks, their instances, turns among replicas.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <functional>
#include <memory>
#include <string_view>
#include <type_traits>

#include "tlxjit/builder/accumulator.h"
#include "tlxjit/builder/barrier.h"
#include "tlxjit/builder/loop.h"

TLXJIT_NAMESPACE_BEGIN

class Turn;

/// The instance of a task, inside its body; any other use of it is a fault.
class TLXJIT_API Task {
 public:
  Index replica(std::source_location at = std::source_location::current()) const;
  int replicas() const { return replicas_; }
  /// Where this replica's share of `total` begins: replica · total / replicas. A fault unless `total` divides.
  Index offset(int64_t total, std::source_location at = std::source_location::current()) const;
  /// An accumulator of f32 or i32 and rank 2, cleared.
  template <Element T>
  Accumulator accumulator(Shape shape, std::source_location at = std::source_location::current()) const {
    return accumulator(elem_of<T>, shape, at);
  }
  Accumulator accumulator(Elem elem, Shape shape, std::source_location at = std::source_location::current()) const;
  /// A tile of one number, or the index along an axis (i32).
  Tile full(Shape shape, Elem elem, Operand number) const;
  template <Element T>
  Tile full(Shape shape, Operand number) const {
    return full(shape, elem_of<T>, number);
  }
  Tile iota(Shape shape, int axis, std::source_location at = std::source_location::current()) const;

  /// All threads of the instance meet.
  void sync(std::source_location at = std::source_location::current()) const;
  /// The right to issue, handed round the replicas from replica 0.
  Turn turn(std::source_location at = std::source_location::current()) const;
  /// Ends a stage of a loop's body, where all replicas meet; `priority` (0 to 3) is that of the stage that begins, a
  /// hint. Replicas pass equally many stages.
  void stage(std::string_view name, int priority = 0, std::source_location at = std::source_location::current()) const;

 private:
  friend class TaskBuilder;
  friend class Slot;
  friend class Tiles;
  friend class View;
  Task() = default;
  /// Whether its body is being written; a fault if not.
  bool is_here(const std::source_location& at) const;
  Tile nothing(const std::source_location& at) const;
  std::shared_ptr<BuilderState> state_;
  int number_ = 0;
  int replicas_ = 1;
};

/// Whose turn it is among the replicas of a task (ping-pong): replica r takes it after replica r − 1 has passed it on.
/// Replicas that have left their body pass it on until all have.
class TLXJIT_API Turn {
 public:
  Turn(const Turn&) = default;  // and no move: a turn that was moved away would not wait
  Turn& operator=(const Turn&) = default;
  /// Waits for this replica's turn.
  void take(std::source_location at = std::source_location::current());
  /// Gives it to the next replica. What was issued may be in flight.
  void pass(std::source_location at = std::source_location::current()) const;

 private:
  friend class Task;
  Turn() = default;
  std::shared_ptr<BuilderState> state_;
  Barrier barrier_;
  Index replica_, next_;
  std::shared_ptr<Index> phase_;  // copies of a Turn are one turn
};

/// Names of the roles that most kernels have.
inline constexpr const char* Producer = "producer";
inline constexpr const char* Consumer = "consumer";

/// `k.task(Producer).warps(1).registers(40).body([&] { … })`. Call order: the settings, then body, which each task has.
class TLXJIT_API TaskBuilder {
 public:
  /// Of an instance: 1, 2, 4 or 8.
  TaskBuilder& warps(int count) { return warps_ = count, *this; }
  /// Instances, 1 to 32.
  TaskBuilder& replicas(int count) { return replicas_ = count, *this; }
  /// Registers per thread, 24 to 256 in steps of 8; a hint to back ends that can divide them.
  TaskBuilder& registers(int count) { return registers_ = count, *this; }
  /// Replica r runs r stages behind replica 0.
  TaskBuilder& staggered() { return staggered_ = true, *this; }
  template <class Fn>
  void body(Fn&& fn) {
    if (is_empty(fn))
      run({});
    else if constexpr (std::is_invocable_v<Fn&, Task&>)
      run([&](Task& t) { fn(t); });
    else
      run([&](Task&) { fn(); });
  }

 private:
  friend class Kernel;
  TaskBuilder() = default;
  void run(const std::function<void(Task&)>& fn);
  std::shared_ptr<BuilderState> state_;
  int number_ = 0;
  int warps_ = 4, replicas_ = 1, registers_ = 0;
  bool staggered_ = false;
};

TLXJIT_NAMESPACE_END
