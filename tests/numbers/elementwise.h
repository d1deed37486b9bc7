// tests/numbers/elementwise.h — runs an elementwise expression over many inputs and gives all bits.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "tests/support/seeds.h"
#include "tlxjit/tlxjit.h"

namespace numbers_test {

using namespace tlxjit;

/// With the CPU plug-in of this build.
Engine& engine();

inline constexpr Elem integers[] = {Elem::i8, Elem::i16, Elem::i32, Elem::i64,
                                    Elem::u8, Elem::u16, Elem::u32, Elem::u64};

/// Elements as codes: their bits, in the low end.
using Codes = std::vector<uint64_t>;
using Expression = std::function<Tile(const std::vector<Tile>&)>;

struct Draw {
  std::vector<Codes> in;  ///< by operand
  Codes out;
};

/// `fn` of `count` drawn elements per operand, in tiles. Floats are drawn from all bit patterns and, half of them, with
/// exponents near 0; integers with magnitudes of all lengths.
Draw draw(const std::vector<Elem>& in, Elem out, const Expression& fn, uint64_t seed, int64_t count = 1 << 14,
          MathMode mode = MathMode::fast);

/// `fn` of the elements given, computed as scalars and in tiles, which must agree. All lists are of one length.
Codes apply(const std::vector<Elem>& in, Elem out, const Expression& fn, const std::vector<Codes>& values);

/// Each of seeds(2), in the trace of what fails.
#define FOR_SEEDS(seed)                \
  for (const uint64_t seed : seeds(2)) \
    if (::testing::ScopedTrace trace(__FILE__, __LINE__, "TLXJIT_SEED=" + std::to_string(seed)); true)

/// The value of a code; exact.
double value_of(Elem elem, uint64_t code);
int64_t integer_of(Elem elem, uint64_t code);
uint64_t code_of(float x);
uint64_t code_of(double x);
bool is_nan(Elem elem, uint64_t code);

}  // namespace numbers_test
