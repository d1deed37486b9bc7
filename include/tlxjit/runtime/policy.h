// include/tlxjit/runtime/policy.h — which calls of a JitFunction share a version.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <bit>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tlxjit/core/export.h"

TLXJIT_NAMESPACE_BEGIN

/// How a number of a call, a dim or an integer parameter, picks a version: numbers of one class share it, and its code
/// is made for all of them. Of 0, 1, 15, 16 and 17 there are, with
///
///     any()              1 class                  the code knows nothing of the number
///     exact()            5                        it is a constant
///     divisible(16)      2: 0 16 | 1 15 17        of the first the code knows that 16 divides it
///     powers_of_two()    3: 0 1 | 15 16 | 17      it knows 2^(i−1) < n ≤ 2^i
///     buckets({16, 64})  2: 0 1 15 16 | 17        it knows the bounds; what is beyond the last has one class more
///
/// Of a u64 parameter, numbers of 2^63 and more are one class besides, of which the code knows nothing, whatever the
/// policy.
class TLXJIT_API Policy {
 public:
  Policy() = default;  ///< any()
  static Policy any() { return {}; }
  static Policy exact() { return Policy(Kind::exact); }
  /// Multiples of n, 1 or more, and others.
  static Policy divisible(int64_t n) { return Policy(Kind::divisible, {n}); }
  static Policy powers_of_two() { return Policy(Kind::powers_of_two); }
  /// Up to each bound, which ascend: 1 to 64 of them.
  static Policy buckets(std::vector<int64_t> bounds) { return Policy(Kind::buckets, std::move(bounds)); }

  /// The number of a number's class. A policy with a fault() has one class.
  int64_t class_of(int64_t n) const {
    switch (kind_) {
      case Kind::any: return 0;
      case Kind::exact: return n;
      case Kind::divisible: return numbers_[0] > 0 && n % numbers_[0] == 0;
      case Kind::powers_of_two: return n < 0 ? -1 : n == 0 ? 0 : std::bit_width(static_cast<uint64_t>(n - 1));
      case Kind::buckets: break;
    }
    int64_t i = 0;
    for (int64_t bound : numbers_) {
      if (n <= bound) return i;
      ++i;
    }
    return i;
  }
  /// What all numbers of a class keep: least and greatest, and what divides them.
  struct Class {
    int64_t least = INT64_MIN, most = INT64_MAX, multiple = 1;
  };
  Class class_at(int64_t number) const;
  bool is_any() const { return kind_ == Kind::any; }
  /// `divisible(16)`.
  std::string text() const;
  /// What is wrong with its numbers, or an empty string.
  std::string fault() const;

 private:
  enum class Kind : uint8_t { any, exact, divisible, powers_of_two, buckets };
  explicit Policy(Kind kind, std::vector<int64_t> numbers = {}) : kind_(kind), numbers_(std::move(numbers)) {}
  Kind kind_ = Kind::any;
  std::vector<int64_t> numbers_;
};

/// How the memory of a tensor picks a version.
struct TensorPolicy {
  bool aligned = true;   ///< whether its address is a multiple of 16 bytes
  bool narrow = true;    ///< whether all its elements lie less than 2^31 elements from the first
  bool strides = false;  ///< its strides, each a constant
};

TLXJIT_NAMESPACE_END
