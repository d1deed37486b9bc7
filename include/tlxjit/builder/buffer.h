// include/tlxjit/builder/buffer.h — shared memory by hand: buffers of tiles and views into them.
//
//     auto buf = k.buffer<bf16>(4, {128, 64});     // 4 slots, outside tasks
//     Tile x = buf[i].load();                      // inside: slot i as a tile
//     acc.dot(buf[i].part(t), other[i].t());
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "tlxjit/builder/tile.h"

TLXJIT_NAMESPACE_BEGIN

class BarrierSlot;
class Task;
class Tensor;

/// What a store from a view does with the elements that are there.
enum class Reduce { none, add, min, max, bit_and, bit_or, bit_xor };

/// A window into one slot of a buffer, or into a field of a ring's slot. Ops of one instance on it act in program
/// order; between instances, barriers order them.
class TLXJIT_API View {
 public:
  /// This replica's share of the rows, of which all have equally many: else it is a fault.
  View part(const Task& task, std::source_location at = std::source_location::current()) const;
  /// Rows [index · rows, (index + 1) · rows), in range at run time; `rows` divides those of the view.
  View part(Operand index, int64_t rows) const;
  /// The view with its two axes exchanged; no data moves.
  View t(std::source_location at = std::source_location::current()) const;
  /// The part of `extents` that begins at `offsets`.
  View slice(std::initializer_list<int64_t> offsets, Shape extents,
             std::source_location at = std::source_location::current()) const;
  /// The same elements, row by row, under another shape. Of whole slots and rows cut from them.
  View reshape(Shape shape, std::source_location at = std::source_location::current()) const;
  /// The same bytes as elements of another type; the last extent scales. Of whole slots and rows cut from them.
  View reinterpret(Elem elem, std::source_location at = std::source_location::current()) const;
  template <Element T>
  View reinterpret(std::source_location at = std::source_location::current()) const {
    return reinterpret(elem_of<T>, at);
  }

  Tile load(std::source_location at = std::source_location::current()) const;
  void store(const Tile& tile, std::source_location at = std::source_location::current()) const;
  /// Stores a tile to this slot, a whole one, in the program of that rank of the cluster (k.cluster), asynchronous; its
  /// bytes count on `full` there, which that program expects.
  void store_remote(Operand rank, const Tile& tile, const BarrierSlot& full) const;
  /// result[…, i, …] = view[…, indices[…, i, …], …] along `axis`; indices are in range.
  Tile gather(const Tile& indices, int axis, std::source_location at = std::source_location::current()) const;
  /// The inverse; where indices meet, one of the elements stays.
  void scatter(const Tile& indices, int axis, const Tile& tile,
               std::source_location at = std::source_location::current()) const;

  /// Copies a whole slot to `tensor` at `offsets`, asynchronous, one group: k.copies_drain() waits. What another
  /// instance stored there it must have made visible by k.fence(). Elements outside are dropped.
  void copy_to(const Tensor& tensor, std::initializer_list<Operand> offsets, Reduce reduce = Reduce::none,
               std::source_location at = std::source_location::current()) const;
  /// Fills a whole slot from `tensor` by copies that all lanes issue; part of the group that the next
  /// k.lanes_commit() ends. Elements outside are 0.
  void copy_lanes(const Tensor& tensor, std::initializer_list<Operand> offsets,
                  std::source_location at = std::source_location::current()) const;

  bool valid() const;
  Type type() const;

 private:
  friend class Slot;
  friend class Accumulator;
  friend class SharedBuffer;
  friend class BarrierSlot;
  friend struct ViewAccess;
  View step(OpCode code, const Type& type, Attrs attrs, const Location& at) const;
  std::shared_ptr<BuilderState> state_;
  Value value_ = no_value;
};

/// `slots` tiles in shared memory; declared outside tasks.
class TLXJIT_API SharedBuffer {
 public:
  /// A slot, in range at run time.
  View operator[](Operand slot) const;
  /// One element of a buffer of rank 1. `put` is done once per instance.
  Scalar get(Operand slot, Operand element) const;
  void put(Operand slot, Operand element, Operand value) const;
  int slots() const;
  /// Bytes of one slot: what a copy into it brings.
  int64_t bytes() const;
  bool valid() const;

 private:
  friend class Kernel;
  friend class BarrierSlot;
  std::shared_ptr<BuilderState> state_;
  Value value_ = no_value;
};

struct BufferOptions {
  SharedBuffer alias = {};  ///< shares this buffer's storage; what is in it is the author's affair
  int64_t offset = 0;       ///< bytes into that storage, a multiple of 16 (of 1024 where the lowering swizzles)
  int swizzle = -1;         ///< 0, 32, 64 or 128 bytes; −1 leaves it to the lowering
};

TLXJIT_NAMESPACE_END
