// src/builder/state_p.h — what the handles of one kernel share.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tlxjit/builder/buffer.h"
#include "tlxjit/builder/tile.h"
#include "tlxjit/core/error.h"
#include "tlxjit/ir/module.h"

TLXJIT_NAMESPACE_BEGIN

/// The kernel under construction. Handles point here, so they survive moves of Kernel.
struct BuilderState : std::enable_shared_from_this<BuilderState> {
  Module module;
  std::vector<Block*> blocks;  ///< the innermost is last; the first is the module's body
  int task_replicas = 0;       ///< of the task being written, 0 outside tasks
  int task_warps = 0;
  std::string task_name;
  int barriers = 0;                                ///< declared by hand, for names of those that have none
  std::vector<std::function<void()>> at_task_end;  ///< what handles add to the end of the task being written
  bool elements = false;  ///< in a region that joins elements: handles are values, as outside tasks
  std::vector<Error> faults;

  explicit BuilderState(std::string name);

  bool in_task() const { return task_replicas != 0; }
  /// Whether handles are plain values here, which an assignment replaces.
  bool plain_handles() const { return blocks.size() == 1 || elements; }

  void fault(std::string message, const Location& at);

  /// Appends an op and returns its first result. When an operand is poison, nothing happens and the result
  /// is poison; when the op's rules refuse it, the fault is recorded and the kernel stays as it was.
  Value emit(OpCode code, std::vector<Value> operands, const std::vector<Type>& results, Attrs attrs,
             const Location& at);
  /// The same, with all results; poison is an empty list.
  std::vector<Value> emit_all(OpCode code, std::vector<Value> operands, const std::vector<Type>& results, Attrs attrs,
                              const Location& at);
  /// The same for an op with regions: `fill` gets the op, not yet in a block, and writes its regions.
  template <class Fill>
  void emit_with_regions(OpCode code, std::vector<Value> operands, Attrs attrs, const Location& at, Fill&& fill);

  /// Runs `fn` with `block` as the place where ops go.
  template <class Fn>
  void inside(Block& block, Fn&& fn);

  /// A handle for a value: a new variable inside tasks.
  Tile handle(Value value, const Location& at);
  /// A handle for a value that no one can assign, such as a loop index.
  Tile constant_handle(Value value);
  /// The present value of a handle.
  Value read(const Tile& tile, const Location& at);
  void assign(Tile& target, const Tile& source);

  /// The tiles and expansions among the operands as values of one shape; scalars stay as they are, and literals become
  /// scalars of `literals`. Nothing when one is poison or the shape does not follow, which is then a fault.
  std::optional<std::vector<Value>> fit(const std::vector<const Operand*>& operands, Elem literals, const Location& at);

  Value literal(const Operand& operand, Elem elem);
  /// Whether a handle belongs to this kernel; a fault if not.
  bool owns(const std::shared_ptr<BuilderState>& other, const Location& at);
  /// An operand as an index (i32).
  Value index(const Operand& operand);
  std::vector<Value> indices(const std::vector<Operand>& operands);

  bool check(std::unique_ptr<Op>& op, const Location& at);
};

/// Private members of View for the builder's own functions.
struct ViewAccess {
  static const std::shared_ptr<BuilderState>& state(const View& v) { return v.state_; }
  static Value value(const View& v) { return v.value_; }
};

/// Appends a copy between a whole slot of a buffer and a tensor, or refuses it: `operands` go between the slot and
/// the coordinates.
void emit_copy(OpCode code, const View& slot, Value tensor, std::vector<Value> operands,
               std::initializer_list<Operand> offsets, Attrs attrs, const Location& at);
/// No value is made by this op or one in its regions any more: it is about to go.
void forget(Module& module, const Op& op);

/// While an op's regions are written: a throw from the user's function drops the op, and handles made in it must
/// not point to what is gone.
struct ForgetUnlessKept {
  BuilderState& state;
  const std::unique_ptr<Op>& op;
  ~ForgetUnlessKept() {
    if (op) forget(state.module, *op);
  }
};

/// Private members of Tile for the builder's own functions.
struct Access {
  static std::shared_ptr<BuilderState>& state(Tile& t) { return t.state_; }
  static const std::shared_ptr<BuilderState>& state(const Tile& t) { return t.state_; }
  static Value& value(Tile& t) { return t.value_; }
  static Value value(const Tile& t) { return t.value_; }
  static int8_t& expand_axis(Tile& t) { return t.expand_axis_; }
  static int8_t expand_axis(const Tile& t) { return t.expand_axis_; }
};

inline Attrs with_axis(int axis) {
  Attrs attrs;
  attrs.set("axis", int64_t{axis});
  return attrs;
}

/// The first tile, or none where an op gave nothing.
inline Tile first(std::vector<Tile> tiles) { return tiles.empty() ? Tile() : std::move(tiles[0]); }

template <class Fn>
void BuilderState::inside(Block& block, Fn&& fn) {
  // A throw from the user's function leaves the stack as it was.
  struct Pop {
    std::vector<Block*>& blocks;
    ~Pop() { blocks.pop_back(); }
  };
  blocks.push_back(&block);
  Pop pop{blocks};
  fn();
}

template <class Fill>
void BuilderState::emit_with_regions(OpCode code, std::vector<Value> operands, Attrs attrs, const Location& at,
                                     Fill&& fill) {
  for (Value v : operands)
    if (v == no_value) return;
  auto op = module.make(code, std::move(operands), {}, std::move(attrs), module.add_location(at));
  const ForgetUnlessKept guard{*this, op};
  fill(*op);
  if (check(op, at)) blocks.back()->ops.push_back(std::move(op));
}

/// Removes variables that are never assigned and pure ops that nothing uses.
void promote_variables(Module& module);

TLXJIT_NAMESPACE_END
