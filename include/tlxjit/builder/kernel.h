// include/tlxjit/builder/kernel.h — building a kernel: declarations, schedules, tasks, control flow.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <array>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tlxjit/builder/accumulator.h"
#include "tlxjit/builder/barrier.h"
#include "tlxjit/builder/buffer.h"
#include "tlxjit/builder/loop.h"
#include "tlxjit/builder/math.h"
#include "tlxjit/builder/name.h"
#include "tlxjit/builder/reduce.h"
#include "tlxjit/builder/ring.h"
#include "tlxjit/builder/shape.h"
#include "tlxjit/builder/task.h"
#include "tlxjit/builder/tensor.h"
#include "tlxjit/builder/tile.h"
#include "tlxjit/core/result.h"

TLXJIT_NAMESPACE_BEGIN

/// What arithmetic and functions of floats may do; docs/reference/numbers.md has the rules.
enum class MathMode {
  fast,     ///< contract a product and a sum to one fma; flush subnormals and approximate where a GPU does
  precise,  ///< IEEE: every op rounds once, subnormals stay
};

/// A kernel under construction. Handles stay valid when it moves; a call on the Kernel that was moved away is a fault
/// in the one that it became.
class TLXJIT_API Kernel {
 public:
  explicit Kernel(std::string name, std::source_location at = std::source_location::current());
  ~Kernel();
  Kernel(Kernel&&) noexcept;
  Kernel& operator=(Kernel&&) noexcept;
  /// A kernel that a function writes for its caller: all that is said of it names `caller`, not the function's lines.
  static Kernel generated(std::string name, std::source_location caller);

  /// A symbolic dimension, bound from the tensors of a call; `at_least`, 0 or more, is a promise checked at launch.
  Index dim(std::string_view name, int64_t at_least = 0, std::source_location at = std::source_location::current());
  /// The same, refused by launch beyond `at_most` too.
  Index dim(std::string_view name, int64_t at_least, int64_t at_most,
            std::source_location at = std::source_location::current());
  std::array<Index, 1> dims(Name a) { return {dim(a.text, 0, a.at)}; }
  std::array<Index, 2> dims(Name a, Name b) { return dims_of<2>({a, b}); }
  std::array<Index, 3> dims(Name a, Name b, Name c) { return dims_of<3>({a, b, c}); }
  std::array<Index, 4> dims(Name a, Name b, Name c, Name d) { return dims_of<4>({a, b, c, d}); }
  std::array<Index, 5> dims(Name a, Name b, Name c, Name d, Name e) { return dims_of<5>({a, b, c, d, e}); }
  std::array<Index, 6> dims(Name a, Name b, Name c, Name d, Name e, Name f) { return dims_of<6>({a, b, c, d, e, f}); }
  /// A parameter in global memory, of 1 to 5 axes; its extents, outermost first, are scalars of i32.
  Tensor tensor(Elem elem, std::string_view name, std::initializer_list<Operand> extents,
                std::source_location at = std::source_location::current());
  template <Element T>
  Tensor tensor(std::string_view name, std::initializer_list<Operand> extents,
                std::source_location at = std::source_location::current()) {
    return tensor(elem_of<T>, name, extents, at);
  }
  /// A scalar parameter; `above` is a promise checked at launch: finite and greater than that.
  Scalar scalar(Elem elem, std::string_view name, std::optional<double> above = {},
                std::source_location at = std::source_location::current());
  template <Element T>
  Scalar scalar(std::string_view name, std::optional<double> above = {},
                std::source_location at = std::source_location::current()) {
    return scalar(elem_of<T>, name, above, at);
  }

  /// A ring of 1 to 64 slots.
  Ring ring(int stages, std::source_location at = std::source_location::current());

  /// Shared memory by hand: `slots` tiles.
  SharedBuffer buffer(Elem elem, int slots, Shape shape, const BufferOptions& options = {},
                      std::source_location at = std::source_location::current());
  template <Element T>
  SharedBuffer buffer(int slots, Shape shape, const BufferOptions& options = {},
                      std::source_location at = std::source_location::current()) {
    return buffer(elem_of<T>, slots, shape, options, at);
  }
  /// Barriers by hand, 1 to 4096 slots: a phase of a slot completes after `arrivals`, 1 or more, and when no expected
  /// byte is missing. The name stands in reports of deadlocks.
  Barrier barrier(int slots, int arrivals, std::string_view name = {},
                  std::source_location at = std::source_location::current());
  NamedBarrier named_barrier(int participants, std::string_view name = {},
                             std::source_location at = std::source_location::current());
  /// Slot and phase for `slots` slots, at the first. Inside a task.
  Cursor cursor(int slots, std::source_location at = std::source_location::current());
  void fence(Fence what = Fence::shared, std::source_location at = std::source_location::current());
  /// Waits until at most `pending` dots of this instance are in flight; more than the lowering asks for.
  void dots_wait(int pending = 0, std::source_location at = std::source_location::current());
  /// Waits until at most `pending` of this instance's copies to tensors are in flight, or only until the others have
  /// read their source.
  void copies_drain(int pending = 0, bool read_only = false, std::source_location at = std::source_location::current());
  /// Ends a group of per-lane copies; waits until at most `pending` groups are in flight.
  void lanes_commit(std::source_location at = std::source_location::current());
  void lanes_wait(int pending = 0, std::source_location at = std::source_location::current());

  /// Tiles (i, j) of a grid rows × columns, as many programs as run at once, each taking every n-th tile.
  Tiles persistent(Operand rows, Operand columns, PersistentOptions options = {});
  /// Tiles 0 ≤ t < total taken from a counter by whoever is free; `map` gives a tile its indices. Each program looks
  /// for one more beyond the last: `total` and twice the programs are below 2^31.
  Tiles dynamic(Operand total, const std::function<TileAt(Index)>& map);
  /// The same, each program taking every n-th tile.
  Tiles persistent(Operand total, const std::function<TileAt(Index)>& map);
  /// Tiles (i, j) of a grid rows × columns, one program each.
  Tiles tiles(Operand rows, Operand columns);
  /// A fixed number of programs, for kernels that do not iterate tiles.
  void grid(Operand programs);
  Index program_id(std::source_location at = std::source_location::current());
  Index num_programs(std::source_location at = std::source_location::current());

  /// All programs of a launch are live at once, so that they may wait for one another by flags. A launch with more of
  /// them than can be is refused: on the CPU, of more than 4096 instances.
  void resident(std::source_location at = std::source_location::current());
  /// Programs come in groups of so many, 1 to 16, that run together and reach into one another's shared memory. The
  /// grid counts programs, and is a multiple of it.
  void cluster(int programs, std::source_location at = std::source_location::current());
  /// Which program of its cluster this is.
  Index cluster_rank(std::source_location at = std::source_location::current());
  /// Waits until every instance of every program of the cluster is here. Where one task calls it, every task does.
  void cluster_sync(std::source_location at = std::source_location::current());

  /// How floats are computed element by element; said once, Fast if not at all.
  void math(MathMode mode, std::source_location at = std::source_location::current());

  TaskBuilder task(std::string_view name, std::source_location at = std::source_location::current());
  Range range(Operand high);
  Range range(Operand low, Operand high);
  Range range(Operand low, Operand high, Operand step);
  /// A new variable that begins with this value, literals of i32: `Index j = k.variable(i)` of a loop's index i. In a
  /// task.
  Tile variable(Operand value);
  void when(Operand condition, const std::function<void()>& then, const std::function<void()>& otherwise = {});
  /// While `condition` holds; both are run once, while the kernel is built.
  void loop(const std::function<Tile()>& condition, const std::function<void()>& body,
            std::source_location at = std::source_location::current());

  /// Tells EngineOptions::print a line when it runs, once per instance: each {} of the text is the next value, a scalar
  /// or a tile.
  void print(std::string_view text, std::initializer_list<Operand> values = {},
             std::source_location at = std::source_location::current());
  /// Ends the launch with an error of this message unless the condition, a b1 scalar or tile, holds.
  void require(Operand condition, std::string_view message);
  /// A counter of the device that goes on with time, i64.
  Scalar clock(std::source_location at = std::source_location::current());
  /// Text of one target (`cpu`: an assembly template with LLVM's constraints, `"add $2, $0", "=r,0,r"`) on scalars, or
  /// element by element on tiles. Nothing but the target's compiler looks into it.
  Tile inline_text(std::string_view target, std::string_view text, std::string_view constraints, Elem result,
                   std::initializer_list<Operand> operands, std::source_location at = std::source_location::current());

  /// Records a fault of the author's own, for generators that check their configuration.
  void fault(std::string message, std::source_location at = std::source_location::current());

  const std::string& name() const;
  /// What the builder has refused so far.
  const std::vector<Error>& faults() const;
  /// All faults: the builder's and the verifier's. With too little memory to verify, one that says so, where there is
  /// memory for it.
  std::vector<Error> verify() const;
  /// The kernel as portable IR; an error that lists all faults if there are any.
  Result<Module> module() const;

 private:
  friend class Task;
  friend class Turn;
  explicit Kernel(std::shared_ptr<BuilderState> state);
  /// Where a call writes: this kernel, unless it was moved away.
  BuilderState& use(const std::source_location& at);
  template <size_t n>
  std::array<Index, n> dims_of(const std::array<Name, n>& names) {
    std::array<Index, n> dims;
    for (size_t i = 0; i < n; ++i) dims[i] = dim(names[i].text, 0, names[i].at);
    return dims;
  }
  Tiles schedule(const char* kind, Operand total, const std::function<TileAt(Index)>& map);
  Tiles grid_of(const char* kind, const Operand& rows, const Operand& columns, PersistentOptions options);
  std::shared_ptr<BuilderState> state_;
  bool moved_ = false;
};

TLXJIT_NAMESPACE_END
