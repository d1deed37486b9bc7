// src/passes/specialize_p.h — a kernel made special for calls that have something in common.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "tlxjit/core/result.h"
#include "tlxjit/ir/module.h"

TLXJIT_NAMESPACE_BEGIN

/// What all calls keep of a dim or an integer parameter; as made it says nothing.
struct NumberPromise {
  int64_t least = INT64_MIN, most = INT64_MAX, multiple = 1;

  static NumberPromise exact(int64_t number) { return {number, number, 1}; }
  bool keeps(int64_t number) const { return number >= least && number <= most && number % multiple == 0; }
  bool operator==(const NumberPromise&) const = default;
};

/// What all calls keep of a tensor; as made it says nothing.
struct MemoryPromise {
  static constexpr size_t outer_axes = 4;
  std::array<int64_t, outer_axes> strides = {-1, -1, -1, -1};  ///< in elements, but the innermost; −1: any
  int64_t align = 1;                                           ///< of the address, bytes, a power of two
  bool narrow = false;                                         ///< offsets of elements fit i32
  bool operator==(const MemoryPromise&) const = default;
};

/// In the order of the declarations in the module.
struct Promises {
  std::vector<NumberPromise> dims, scalars;
  std::vector<MemoryPromise> tensors;
  bool say_nothing() const {
    const auto nothing = [](const auto& promises) {
      return std::all_of(promises.begin(), promises.end(),
                         [](const auto& p) { return p == std::decay_t<decltype(p)>(); });
    };
    return nothing(dims) && nothing(scalars) && nothing(tensors);
  }
  bool operator==(const Promises&) const = default;
};

/// The verified portable module with the promises written into its parameters, so that a launch checks them, and with
/// what follows from them folded (simplify). Promises that no call can keep beside the module's own are an error.
Result<Module> specialize(const Module& generic, const Promises& promises);

TLXJIT_NAMESPACE_END
