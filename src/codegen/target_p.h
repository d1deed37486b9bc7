// src/codegen/target_p.h — what the C-family emitter asks of a GPU back end.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <string>

#include "tlxjit/ir/module.h"

TLXJIT_NAMESPACE_BEGIN

class Emitter;

/// Elementwise functions that C has not, or only slowly.
enum class Math : uint8_t { exp2, log2, rcp, abs, div, min, max, to_i32, pack_bf16, pack_f16, f16_low, f16_high };

class GpuTarget {
 public:
  virtual ~GpuTarget() = default;

  /// Text before the kernel: types and the helpers that were used. Asked for last.
  virtual std::string prelude() = 0;
  /// `extern "C" … name(parameters)`, without the brace.
  virtual std::string signature(Emitter& e, const std::string& name) = 0;
  /// Start of the program, by all threads: names of warps, shared memory, barriers.
  virtual void setup(Emitter& e) = 0;
  /// First statement of a group of warps: its share of the register file.
  virtual void registers(Emitter& e, int count) = 0;
  /// A condition that holds on one thread of a warp whose threads are all here.
  virtual std::string elect() = 0;

  /// Statement: `dest = fn(a, b)`; `dest` is declared already.
  virtual std::string math(Math fn, const std::string& dest, const std::string& a, const std::string& b = {}) = 0;
  /// Expression: `value` of the lane whose number differs by the bits of `mask`.
  virtual std::string shuffle_xor(const std::string& value, int mask) = 0;
  /// Expressions for program_id and num_programs, i32.
  virtual std::string program_id() = 0;
  virtual std::string num_programs() = 0;

  /// Every op that is neither pure nor control: barriers, copies, dots, memory. Faults go to e.fail.
  virtual void hardware(Emitter& e, const Op& op) = 0;
};

TLXJIT_NAMESPACE_END
