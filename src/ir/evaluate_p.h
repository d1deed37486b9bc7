// src/ir/evaluate_p.h — integer arithmetic of the IR on known numbers.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <optional>

#include "src/ir/words_p.h"
#include "tlxjit/ir/module.h"

TLXJIT_NAMESPACE_BEGIN

/// Why arithmetic gives no number.
enum class Lack : uint8_t { none, overflow, division_by_zero };

struct Evaluated {
  int64_t value = 0;
  Lack lack = Lack::none;
  bool ok() const { return lack == Lack::none; }
};

/// Whether an integer type or b1 has this number. Of u64 only numbers below 2^63 are known here.
bool fits(int64_t number, Elem elem);

/// The integer that the low bits of a scalar argument's pattern stand for; of a u64 of 2^63 or more, 2^64 less.
int64_t integer_of(uint64_t pattern, Elem elem);

/// The number that an integer or b1 scalar is known to be: a constant, or a dim or parameter promised to be one number.
std::optional<int64_t> known_number(const Module& module, Value v);

/// Whether `evaluate` knows the op: arithmetic, comparisons and casts of integers and b1.
bool evaluates(OpCode code);
/// An op of such scalars, but select, on known operands: `elem` is the result's type, `pred` that of a cmp, y counts
/// where there are two operands. Exact: a result that the type has not is an overflow, where a kernel would wrap.
Evaluated evaluate(OpCode code, Elem elem, Predicate pred, int64_t x, int64_t y);

TLXJIT_NAMESPACE_END
