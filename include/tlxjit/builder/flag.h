// include/tlxjit/builder/flag.h — flags: elements of tensors by which the programs of a launch wait for one another.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <memory>
#include <vector>

#include "tlxjit/builder/tile.h"
#include "tlxjit/ir/op.h"

TLXJIT_NAMESPACE_BEGIN

/// How the element of a flag compares with a value.
enum class Compare { equal, not_equal, less, less_equal, greater, greater_equal };

/// One element of a tensor of i32, u32, i64 or u64, from Tensor::flag. The call brings it with the value that it
/// begins with. On an index outside the tensor the launch ends with an error.
class TLXJIT_API Flag {
 public:
  /// Waits until the element compares so with `value`. What came before the `set` or `add` that made it so comes before
  /// what follows. Only in kernels marked resident: the program that sets the flag must have begun.
  void wait(Compare how, Operand value, std::source_location at = std::source_location::current()) const;
  /// Writes the element, after all earlier accesses of this instance, stores in flight included.
  void set(Operand value, std::source_location at = std::source_location::current()) const;
  /// Adds to the element in one step, in the same order.
  void add(Operand value, std::source_location at = std::source_location::current()) const;

 private:
  friend class Tensor;
  void emit(OpCode op, Operand value, Attrs attrs, const std::source_location& at) const;
  std::shared_ptr<BuilderState> state_;
  std::vector<Value> place_;  // the tensor and the indices
};

TLXJIT_NAMESPACE_END
