// src/builder/state_p.h — what the handles of one kernel share.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "tlxjit/builder/buffer.h"
#include "tlxjit/builder/tile.h"
#include "tlxjit/core/error.h"
#include "tlxjit/ir/module.h"

TLXJIT_NAMESPACE_BEGIN

/// Operands as values of one shape.
struct Fitted {
  std::vector<Value> values;
  Shape shape;           ///< rank 0: all are scalars
  uint8_t expanded = 0;  ///< axes, as in TileRef, along which all repeat; `shape` is without them
};

/// How operands are fitted.
struct FitOptions {
  static constexpr size_t none = SIZE_MAX;
  Elem literals = Elem::none;  ///< the type of literals; none: that of the first tile or scalar from `repeat_from` on
  size_t repeat_from = none;   ///< scalars from this operand on repeat as tiles, those before it stay scalars
  bool may_expand = false;     ///< the result may repeat along axes of which no operand has the extent
  Shape shape = {};            ///< where the caller knows it
};

/// A task that was declared, and whether its body was given.
struct DeclaredTask {
  std::string name;
  Location at;
  bool has_body = false;
};

/// The kernel under construction. Handles point here, so they survive moves of Kernel.
struct BuilderState : std::enable_shared_from_this<BuilderState> {
  Module module;
  std::vector<Block*> blocks;  ///< the innermost is last; the first is the module's body
  int task = 0;                ///< number of the task being written, 0 outside tasks
  int task_warps = 0;
  std::vector<DeclaredTask> tasks;                         ///< task n is tasks[n − 1]
  Location at;                                             ///< of the kernel
  std::optional<Location> caller;                          ///< for whom a function writes it (Kernel::generated)
  std::set<std::pair<Value, std::string>> refused_fields;  ///< of rings: uses of them say nothing
  bool discarded = false;                                  ///< takes what is written to a kernel that was moved away
  std::shared_ptr<BuilderState> leftovers;                 ///< one such, made when it is wanted
  int barriers = 0;                                        ///< declared by hand, for names of those that have none
  std::vector<std::function<void()>> at_task_end;          ///< what handles add to the end of the task being written
  bool elements = false;  ///< in a region that joins elements: handles are values, as outside tasks
  std::vector<Error> faults;

  BuilderState(std::string name, const Location& at);

  bool in_task() const { return task != 0; }
  /// Whether handles are plain values here, which an assignment replaces.
  bool plain_handles() const { return blocks.size() == 1 || elements; }

  static Error fault_of(std::string message, const Location& at);
  void fault(std::string message, const Location& at);
  /// Whether an enumerator is one of those up to the last; a fault if not.
  template <class E>
  bool knows(E e, E last, const char* type, const Location& at) {
    const auto number = static_cast<int64_t>(e);
    if (number >= 0 && number <= static_cast<int64_t>(last)) return true;
    fault(std::to_string(number) + " is no " + type, at);
    return false;
  }
  /// Of a kernel that a function writes for its caller, the caller; else the place itself.
  Location told_at(const Location& place) const { return caller ? *caller : place; }
  uint32_t add_location(const Location& place) { return module.add_location(told_at(place)); }

  /// Appends an op and returns its first result. When an operand is poison, nothing happens and the result
  /// is poison; when the op's rules refuse it, the fault is recorded and the kernel stays as it was.
  Value emit(OpCode code, std::vector<Value> operands, const std::vector<Type>& results, Attrs attrs,
             const Location& at);
  /// The same, with all results; poison is an empty list.
  std::vector<Value> emit_all(OpCode code, std::vector<Value> operands, const std::vector<Type>& results, Attrs attrs,
                              const Location& at);
  /// The same for an op with regions: `fill` gets the op, not yet in a block, and writes its regions. Where it gives
  /// false, for a value is poison that the op needs, the op is dropped.
  template <class Fill>
  void emit_with_regions(OpCode code, std::vector<Value> operands, Attrs attrs, const Location& at, Fill&& fill);

  /// Runs `fn` with `block` as the place where ops go.
  template <class Fn>
  void inside(Block& block, Fn&& fn);

  /// A handle for a value: a new variable inside tasks.
  Tile handle(Value value, const Location& at);
  /// A handle for a value that no one can assign, such as a loop index.
  Tile constant_handle(Value value);
  /// What a call gives that failed.
  Tile poison() { return constant_handle(no_value); }
  /// A new variable with the present value of another handle; its expansion stays to be carried out.
  Tile copy(const TileRef& tile, const Location& at);
  /// The present value of a handle. A fault where it repeats along an axis whose extent is not known.
  Value read(const TileRef& tile, const Location& at);
  Value read(const Tile& tile, const Location& at);
  /// The same, without the repetition.
  Value read_unexpanded(const TileRef& tile, const Location& at);
  void assign(Tile& target, const Tile& source);

  /// Nothing when an operand is poison or the shape does not follow, which is then a fault.
  std::optional<Fitted> fit(const std::vector<const Operand*>& operands, const FitOptions& how, const Location& at);
  /// Carries out an expansion.
  Value broadcast(Value value, uint8_t expanded, const Shape& shape, const Location& at);

  Value literal(const Operand& operand, Elem elem);
  /// The present value of an operand, a literal as one of `elem`.
  Value value(const Operand& operand, Elem elem);
  /// An operand as an index (i32).
  Value index(const Operand& operand);
  std::vector<Value> indices(const std::vector<Operand>& operands);

  bool check(std::unique_ptr<Op>& op, const Location& at);

  /// The kind (sum, max) of an unfinished reduction that a value holds, or an empty text.
  std::string_view unfinished(Value v) const;
  std::map<Value, std::string> unfinished_variables;

  std::unordered_map<Value, const Block*> homes;  ///< of variables: where they are declared
  /// Whether a value is a variable that was declared outside the region being written.
  bool of_outer_region(Value v) const {
    const auto home = homes.find(v);
    return home != homes.end() && home->second != blocks.back();
  }

  /// All faults, also those that show when the kernel is complete; where there are none, the kernel in `out`.
  std::vector<Error> finished(Module& out) const;
};

/// What a kernel is told that meets a handle of nothing.
inline constexpr const char* no_tile = "a tile that has no value is used here: never given one, or moved away";
inline constexpr const char* no_handle = "a handle that has no value is used here: never given one, or moved away";

/// The kernel in which a call on these handles acts. Null, with a fault in the first one's, if another has no value or
/// a different kernel; null if none has one.
BuilderState* kernel_of(std::initializer_list<const std::shared_ptr<BuilderState>*> handles, const Location& at);
/// The kernel in which a call on one handle acts. Null if it has none, with a fault in that of the operands.
BuilderState* kernel_of(const std::shared_ptr<BuilderState>& handle, const std::vector<const Operand*>& operands,
                        const Location& at);
/// The kernel of the first of the operands that has one, or null.
BuilderState* kernel_of(const std::vector<const Operand*>& operands);
/// What a call gives that belongs to no kernel: a Tile that tells the first kernel that it meets what is wrong with the
/// operands, else `fault`.
Tile of_no_kernel(const std::vector<const Operand*>& operands, const char* fault, const std::source_location& at);
std::vector<const Operand*> pointers(std::initializer_list<Operand> operands);

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
  static TileRef& ref(Tile& t) { return t.ref_; }
  static const TileRef& ref(const Tile& t) { return t.ref_; }
  static Value value(const Tile& t) { return t.ref_.value; }
  static const std::shared_ptr<BuilderState>& state(const Tile& t) { return t.ref_.state; }
};

inline Attrs with_axis(int axis) {
  Attrs attrs;
  attrs.set("axis", int64_t{axis});
  return attrs;
}

inline Attrs named(std::string_view name) {
  Attrs attrs;
  attrs.set("name", std::string(name));
  return attrs;
}

/// `first` and the operands, or a list with a poison value, which emit() drops silently.
inline std::vector<Value> prepend(std::initializer_list<Value> first, const std::vector<Value>& rest) {
  std::vector<Value> all(first);
  all.insert(all.end(), rest.begin(), rest.end());
  return all;
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
  auto op = module.make(code, std::move(operands), {}, std::move(attrs), add_location(at));
  const ForgetUnlessKept guard{*this, op};
  if constexpr (std::is_same_v<decltype(fill(*op)), bool>) {
    if (!fill(*op)) return;
  } else {
    fill(*op);
  }
  if (check(op, at)) blocks.back()->ops.push_back(std::move(op));
}

/// Removes variables that are never assigned and pure ops that nothing uses.
void promote_variables(Module& module);

TLXJIT_NAMESPACE_END
