// bench/gpu/data.h — normally distributed bf16 numbers, each a function of seed and index.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <span>
#include <vector>

#include "tlxjit/core/numeric.h"
#include "tlxjit/runtime/device.h"

namespace tlxjit::bench {

/// Standard normal numbers rounded to bf16, so that a reference needs no copy of what the device has.
class NormalData {
 public:
  NormalData();
  /// Numbers `first` … of the sequence `seed`.
  void fill(std::span<bf16> out, uint64_t seed, uint64_t first) const;
  /// Fills a buffer with numbers 0 … of the sequence.
  Result<void> upload(const Buffer& buffer, uint64_t seed) const;

 private:
  std::vector<bf16> quantiles_;  ///< of (i + ½) / 65536
};

/// Bits of bf16 in the order of the numbers, so that a difference counts representable values in between.
int ordered(bf16 value);
bool is_nan(bf16 value);

}  // namespace tlxjit::bench
