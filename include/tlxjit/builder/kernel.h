// include/tlxjit/builder/kernel.h — building a kernel: tensors, rings, tasks, loops.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <array>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "tlxjit/builder/barrier.h"
#include "tlxjit/builder/buffer.h"
#include "tlxjit/builder/math.h"
#include "tlxjit/builder/reduce.h"
#include "tlxjit/builder/shape.h"
#include "tlxjit/builder/tile.h"
#include "tlxjit/core/result.h"

TLXJIT_NAMESPACE_BEGIN

class Flag;
class Task;
class Turn;

/// What a masked access leaves out, and what a load gives there: 0 unless `other` says something else.
struct Masked {
  OptionalOperand mask = {};   ///< a tile of b1; where it is false nothing is read or written
  OptionalOperand other = {};  ///< of loads: also where the tensor has no element
};

/// What an atomic op makes of the element and the value.
enum class Atomic { add, min, max, bit_and, bit_or, bit_xor, exchange };
/// How an atomic op is ordered with the other accesses of its instance, as seen by others.
enum class Order { relaxed, acquire, release, acq_rel };
struct AtomicOptions {
  OptionalOperand mask = {};
  Order order = Order::relaxed;
};

/// A global-memory parameter, or a view of one. The innermost axis has stride 1, the others any stride that
/// the call brings. Views are exact: loads outside give 0, stores outside are dropped.
class TLXJIT_API Tensor {
 public:
  /// The tensor without `axis`, at `index` (in range at run time). The last axis stays.
  Tensor at(int axis, Operand index) const;
  /// The tensor restricted along `axis` to [offset, offset + extent), 0 ≤ offset; it also ends where the tensor
  /// ends. Tiles of it begin at offsets ≥ 0: what lies behind a window is hidden, what lies before it is not.
  Tensor window(int axis, Operand offset, Operand extent) const;
  /// One element at `indices`, which must be inside: on the CPU a launch in which one is not ends with an error.
  Scalar load(std::initializer_list<Operand> indices, std::source_location at = std::source_location::current()) const;
  /// Writes a tile at `offsets`. May be in flight until the instance ends.
  void store(std::initializer_list<Operand> offsets, const Tile& tile,
             std::source_location at = std::source_location::current()) const;
  /// The same, elements for which the mask, a tile of b1, holds.
  void store(std::initializer_list<Operand> offsets, const Tile& tile, const Tile& mask,
             std::source_location at = std::source_location::current()) const;
  /// The box of `shape` at `offsets` as a tile; what is outside or masked is `other`, else 0.
  Tile load_tile(std::initializer_list<Operand> offsets, Shape shape, Masked masked = {},
                 std::source_location at = std::source_location::current()) const;

  /// One element for each of a tile. Indices, one per axis, are tiles (or expansions of them) and scalars, i32 or i64:
  /// `x.load_at({rows.expand(1), columns.expand(0)})`. One outside the tensor gives `other`, else 0.
  Tile load_at(std::initializer_list<Operand> indices, Masked masked = {},
               std::source_location at = std::source_location::current()) const;
  /// Writes each element of the tile to its place; indices outside are dropped. Where places are equal one is kept.
  void store_at(std::initializer_list<Operand> indices, const Operand& tile, OptionalOperand mask = {},
                std::source_location at = std::source_location::current()) const;
  /// Atomically makes the element at `indices` op(element, value) and gives its former value. Where an index or the
  /// value is a tile: once for each element of that tile; else once per instance. i32, u32, i64, u64; f32 and f64 for
  /// add, min, max and exchange. An index outside does nothing and gives 0.
  Tile atomic(Atomic op, std::initializer_list<Operand> indices, const Operand& value, AtomicOptions options = {},
              std::source_location at = std::source_location::current()) const;
  /// Puts `value` where the element equals `expected`; gives the former value.
  Tile compare_exchange(std::initializer_list<Operand> indices, const Operand& expected, const Operand& value,
                        AtomicOptions options = {}, std::source_location at = std::source_location::current()) const;
  /// The element at `indices` as a flag (builder/flag.h); of a whole tensor, not of a view.
  Flag flag(std::initializer_list<Operand> indices, std::source_location at = std::source_location::current()) const;
  /// Brings a tile at `offsets` nearer, to the second-level cache of a GPU; changes nothing.
  void prefetch(std::initializer_list<Operand> offsets, Shape shape,
                std::source_location at = std::source_location::current()) const;
  int rank() const;

 private:
  friend class Kernel;
  friend class Slot;
  friend class View;
  friend class BarrierSlot;
  Tile atomic(const char* kind, std::initializer_list<Operand> indices, const std::vector<const Operand*>& values,
              const AtomicOptions& options, std::source_location at) const;
  std::shared_ptr<BuilderState> state_;
  Value value_ = no_value;
};

/// A name and the place that gives it, for calls that cannot take the place as an argument of its own.
struct Name {
  std::string_view text;
  std::source_location at;
  template <class T>
    requires std::is_convertible_v<const T&, std::string_view>
  Name(const T& name, std::source_location where = std::source_location::current()) : text(name), at(where) {}
};

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
  std::shared_ptr<BuilderState> state_;
  Value value_ = no_value;
};

/// What arithmetic and functions of floats may do; docs/reference/numbers.md has the rules.
enum class MathMode {
  Fast,     ///< contract a product and a sum to one fma; flush subnormals and approximate where a GPU does
  Precise,  ///< IEEE: every op rounds once, subnormals stay
};

/// How exactly a dot of f32 or f8 multiplies and adds; docs/reference/numbers.md has the rules. Other types have one
/// way.
enum class DotPrecision {
  Default,  ///< Ieee of f32, Full of f8
  Ieee,     ///< f32: products and sums of f32
  Tf32x3,   ///< f32: three products of tf32, all but as exact
  Tf32,     ///< f32: operands are rounded to tf32, 10 bits of mantissa
  Full,     ///< f8: sums of at most 128 products are added up in f32
  Fast,     ///< f8: sums as exact as the device adds fastest
};

/// Sums of dots, M × N of f32 or i32, with identity: one per declaration and instance. Cleared where it is declared.
class TLXJIT_API Accumulator {
 public:
  void clear(std::source_location at = std::source_location::current()) const;
  /// acc += a · b, asynchronous; the waits are placed by the lowering. a is M × K and b K × N, of one element type, or
  /// each of one of the two of f8: i8 and u8 sum in i32, floats in f32.
  void dot(const View& a, const View& b, DotPrecision precision = DotPrecision::Default,
           std::source_location at = std::source_location::current()) const;
  void dot(const Tile& a, const View& b, DotPrecision precision = DotPrecision::Default,
           std::source_location at = std::source_location::current()) const;
  /// The sums as a tile, M × N. Waits for the dots on them.
  Tile read(std::source_location at = std::source_location::current()) const;
  /// Runs `fn(column, slab)` for slabs of `width` columns, the M × width sums from that column on; unrolled while the
  /// kernel is built. A fault unless `width` divides N.
  void slabs(int64_t width, const std::function<void(Index, Tile)>& fn,
             std::source_location at = std::source_location::current()) const;
  /// acc = fn(acc); `fn` gives a tile of the same type.
  void update(const std::function<Tile(Tile)>& fn, std::source_location at = std::source_location::current()) const;

 private:
  friend class Task;
  void dot(Value a, Value b, DotPrecision precision, std::source_location at) const;
  std::shared_ptr<BuilderState> state_;
  Value value_ = no_value;
};

/// Whether `fn` is a std::function or a pointer that holds nothing.
template <class Fn>
bool is_empty(const Fn& fn) {
  if constexpr (std::is_pointer_v<Fn> || requires { fn.operator bool(); })
    return !fn;
  else
    return false;
}

/// The sequence of tiles that a program works through; the same in every instance that iterates it.
class TLXJIT_API Tiles {
 public:
  /// `fn` takes as many indices as the schedule yields.
  template <class Fn>
  void each(Fn&& fn, std::source_location at = std::source_location::current()) const {
    if (is_empty(fn)) return run({}, -1, at);
    run([&](std::vector<Index>& i) { call(fn, i); }, wanted<Fn>(), at);
  }
  int indices() const;
  /// The tiles of which replica r of the task's n takes every n-th, from the r-th on.
  Tiles split(const Task& task, std::source_location at = std::source_location::current()) const;

 private:
  friend class Kernel;
  /// How many indices a function takes; -1: a list of any length.
  template <class Fn>
  static constexpr int wanted() {
    if constexpr (std::is_invocable_v<Fn&, std::vector<Index>&>)
      return -1;
    else if constexpr (std::is_invocable_v<Fn&, Index>)
      return 1;
    else if constexpr (std::is_invocable_v<Fn&, Index, Index>)
      return 2;
    else if constexpr (std::is_invocable_v<Fn&, Index, Index, Index>)
      return 3;
    else
      return 4;
  }
  template <class Fn>
  static void call(Fn& fn, std::vector<Index>& i) {
    if constexpr (std::is_invocable_v<Fn&, std::vector<Index>&>)
      fn(i);
    else if constexpr (std::is_invocable_v<Fn&, Index>)
      fn(std::move(i[0]));
    else if constexpr (std::is_invocable_v<Fn&, Index, Index>)
      fn(std::move(i[0]), std::move(i[1]));
    else if constexpr (std::is_invocable_v<Fn&, Index, Index, Index>)
      fn(std::move(i[0]), std::move(i[1]), std::move(i[2]));
    else
      fn(std::move(i[0]), std::move(i[1]), std::move(i[2]), std::move(i[3]));
  }
  void run(const std::function<void(std::vector<Index>&)>& fn, int wanted, std::source_location at) const;
  std::shared_ptr<BuilderState> state_;
  Value value_ = no_value;
  bool split_ = false;
};

/// What a schedule makes of tile number t: whether there is such a tile, and its indices.
struct TileAt {
  Tile taken;  ///< b1; tiles that are not taken are skipped
  std::vector<Index> indices;
};

/// A counted loop: `k.range(n).each([&](Index i) { … })`. It counts upwards: a step of a call that is below 1 ends the
/// launch with an error on the CPU, and is not looked at by a GPU, where the loop may not end.
class TLXJIT_API Range {
 public:
  template <class Fn>
  void each(Fn&& fn, std::source_location at = std::source_location::current()) const {
    if (is_empty(fn))
      run({}, at);
    else if constexpr (std::is_invocable_v<Fn&>)
      run([&](Index&) { fn(); }, at);
    else
      run([&](Index& i) { fn(std::move(i)); }, at);
  }

 private:
  friend class Kernel;
  void run(const std::function<void(Index&)>& fn, std::source_location at) const;
  std::shared_ptr<BuilderState> state_;
  Value low_ = no_value, high_ = no_value, step_ = no_value;
};

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

struct PersistentOptions {
  int group = 0;  ///< tiles of the first axis that are walked together for the sake of the cache; 0: row by row
};

/// A kernel under construction. Handles stay valid when it moves; a call on the Kernel that was moved away is a fault
/// in the one that it became.
class TLXJIT_API Kernel {
 public:
  explicit Kernel(std::string name, std::source_location at = std::source_location::current());
  ~Kernel();
  Kernel(Kernel&&) noexcept;
  Kernel& operator=(Kernel&&) noexcept;

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
  void fence(Fence what = Fence::Shared, std::source_location at = std::source_location::current());
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
  /// Tiles 0 ≤ t < total taken from a counter by whoever is free; `map` gives a tile its indices.
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
