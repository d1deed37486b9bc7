// src/ir/ranges_p.h — bounds of integer scalars, to prove that plain or unsigned arithmetic is exact.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <unordered_map>

#include "tlxjit/ir/module.h"

TLXJIT_NAMESPACE_BEGIN

/// Wide enough for a sum or a difference of any two integers, and for a product of all but u64.
using Bound = __int128;

struct NumberRange {
  Bound low;
  Bound high;
  bool within(const NumberRange& other) const { return low >= other.low && high <= other.high; }
};

/// All values of an integer type or b1; of other types nothing is known, and the widest range is given.
NumberRange range_of(Elem elem);

class Ranges {
 public:
  explicit Ranges(const Module& module) : module_(module) {}
  /// Bounds of a scalar value; the whole type where nothing is known.
  NumberRange of(Value v);
  /// Bounds of an add, sub or mul before it wraps. Where they cannot be told, a range that is within no type's.
  NumberRange exact(const Op& op);
  bool non_negative(Value v) { return of(v).low >= 0; }
  /// A loop's variable: from `low` up to below `high`.
  void set_loop(Value variable, Value low, Value high);

 private:
  NumberRange compute(const Op& op, const NumberRange& all);
  const Module& module_;
  std::unordered_map<Value, NumberRange> known_;
  int depth_ = 0;  // of compute() inside compute()
};

TLXJIT_NAMESPACE_END
