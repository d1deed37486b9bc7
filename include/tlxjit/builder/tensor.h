// include/tlxjit/builder/tensor.h — parameters in global memory and views of them: loads, stores, atomics.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <memory>
#include <vector>

#include "tlxjit/builder/tile.h"

TLXJIT_NAMESPACE_BEGIN

class Flag;

struct LoadOptions {
  OptionalOperand mask = {};   ///< b1; where it is false nothing is read
  OptionalOperand other = {};  ///< a scalar: what the load gives there, and where the tensor has no element; else 0
};

struct StoreOptions {
  OptionalOperand mask = {};  ///< b1; where it is false nothing is written
};

/// What an atomic op makes of the element and the value.
enum class Atomic { add, min, max, bit_and, bit_or, bit_xor, exchange };
/// How an atomic op is ordered with the other accesses of its instance, as seen by others.
enum class Order { relaxed, acquire, release, acq_rel };
struct AtomicOptions {
  OptionalOperand mask = {};  ///< b1; where it is false nothing happens, and the former value is given as 0
  Order order = Order::relaxed;
};

/// A global-memory parameter, or a view of one. The innermost axis has stride 1, the others any stride that
/// the call brings. Loads outside the tensor give 0, stores outside are dropped.
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
  void store(std::initializer_list<Operand> offsets, const Tile& tile, const StoreOptions& options = {},
             std::source_location at = std::source_location::current()) const;
  /// The box of `shape` at `offsets` as a tile; what is outside or masked is `other`, else 0.
  Tile load_tile(std::initializer_list<Operand> offsets, Shape shape, const LoadOptions& options = {},
                 std::source_location at = std::source_location::current()) const;

  /// One element for each of a tile. Indices, one per axis, are tiles (or expansions of them) and scalars, i32 or i64:
  /// `x.load_at({rows.expand(1), columns.expand(0)})`. One outside the tensor gives `other`, else 0.
  Tile load_at(std::initializer_list<Operand> indices, const LoadOptions& options = {},
               std::source_location at = std::source_location::current()) const;
  /// Writes each element of the tile, or one number, to its place; indices outside are dropped. Where places are equal
  /// one is kept.
  void store_at(std::initializer_list<Operand> indices, const Operand& value, const StoreOptions& options = {},
                std::source_location at = std::source_location::current()) const;
  /// Atomically makes the element at `indices` op(element, value) and gives its former value. Where an index or the
  /// value is a tile: once for each element of that tile; else once per instance. i32, u32, i64, u64; f32 and f64 for
  /// add, min, max and exchange. An index outside does nothing and gives 0.
  Tile atomic(Atomic op, std::initializer_list<Operand> indices, const Operand& value,
              const AtomicOptions& options = {}, std::source_location at = std::source_location::current()) const;
  /// Puts `value` where the element equals `expected`; gives the former value.
  Tile compare_exchange(std::initializer_list<Operand> indices, const Operand& expected, const Operand& value,
                        const AtomicOptions& options = {},
                        std::source_location at = std::source_location::current()) const;
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

TLXJIT_NAMESPACE_END
