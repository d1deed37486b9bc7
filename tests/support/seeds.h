// tests/support/seeds.h — seeds of random tests: those that stay, those that once failed, and one of the day.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <iostream>
#include <string>
#include <vector>

namespace tlxjit {

/// A seed with which a test failed joins this list, for all tests.
inline constexpr std::array<uint64_t, 0> failed_once = {};

/// TLXJIT_SEED, or a number that changes with the date. It is printed where it is first asked for.
inline uint64_t seed_of_today() {
  static const uint64_t seed = [] {
    const char* given = std::getenv("TLXJIT_SEED");
    const uint64_t n = given ? std::strtoull(given, nullptr, 10) : static_cast<uint64_t>(std::time(nullptr)) / 86400;
    std::cout << "repeat with TLXJIT_SEED=" << n << "\n";
    return n;
  }();
  return seed;
}

/// 1 … `count`, those that once failed and that of the day; TLXJIT_SEED alone where it is set.
inline std::vector<uint64_t> seeds(int count) {
  if (std::getenv("TLXJIT_SEED")) return {seed_of_today()};
  std::vector<uint64_t> all(failed_once.begin(), failed_once.end());
  for (int i = 1; i <= count; ++i) all.push_back(static_cast<uint64_t>(i));
  all.push_back(seed_of_today());
  return all;
}

/// Calls `one(seed)` for each of seeds(count) until one fails; the seed is in the trace.
template <class One>
void for_seeds(int count, One&& one) {
  for (const uint64_t seed : seeds(count)) {
    SCOPED_TRACE("repeat with TLXJIT_SEED=" + std::to_string(seed));
    one(seed);
    if (::testing::Test::HasFailure()) return;
  }
}

}  // namespace tlxjit
