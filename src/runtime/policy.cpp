// src/runtime/policy.cpp — classes of numbers, in words and as promises.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tlxjit/runtime/policy.h"

TLXJIT_NAMESPACE_BEGIN

Policy::Class Policy::class_at(int64_t i) const {
  Class c;
  switch (kind_) {
    case Kind::any: break;
    case Kind::exact: c.least = c.most = i; break;
    case Kind::divisible:
      if (i == 1) c.multiple = numbers_[0];
      break;
    case Kind::powers_of_two:
      if (i < 0 || i > 62) break;
      c.least = i == 0 ? 0 : (int64_t{1} << (i - 1)) + 1;
      c.most = int64_t{1} << i;
      break;
    case Kind::buckets: {
      const auto n = static_cast<int64_t>(numbers_.size());
      if (i < 0 || i > n) break;
      if (i > 0) c.least = numbers_[static_cast<size_t>(i - 1)] + 1;
      if (i < n) c.most = numbers_[static_cast<size_t>(i)];
      break;
    }
  }
  return c;
}

std::string Policy::text() const {
  switch (kind_) {
    case Kind::any: return "any";
    case Kind::exact: return "exact";
    case Kind::divisible: return "divisible(" + std::to_string(numbers_[0]) + ")";
    case Kind::powers_of_two: return "powers_of_two";
    case Kind::buckets: break;
  }
  std::string out = "buckets(";
  for (size_t i = 0; i < numbers_.size(); ++i) out += (i ? ", " : "") + std::to_string(numbers_[i]);
  return out + ")";
}

std::string Policy::fault() const {
  if (kind_ == Kind::divisible && (numbers_[0] < 1 || numbers_[0] > INT32_MAX))
    return "divisible(n) has n from 1 to 2^31 − 1, not " + std::to_string(numbers_[0]);
  if (kind_ != Kind::buckets) return {};
  if (numbers_.empty() || numbers_.size() > 64) return "buckets are 1 to 64 bounds";
  for (size_t i = 1; i < numbers_.size(); ++i)
    if (numbers_[i] <= numbers_[i - 1]) return "the bounds of buckets ascend";
  return numbers_.back() == INT64_MAX ? "a bound of 2^63 − 1 says nothing" : "";
}

TLXJIT_NAMESPACE_END
