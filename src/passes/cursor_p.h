// src/passes/cursor_p.h — where an instance stands in a ring.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "src/passes/op_builder_p.h"

TLXJIT_NAMESPACE_BEGIN

/// Slot and phase of one side of a ring, as variables of the instance. Slot c mod stages, phase (c / stages) & 1
/// for a count c that starts at 0.
struct RingCursor {
  int stages = 1;
  Value slot = no_value;  ///< absent with one stage
  Value phase = no_value;

  static RingCursor make(OpBuilder& b, int stages) {
    RingCursor c;
    c.stages = stages;
    const Value zero = b.i32(0);
    if (stages > 1) c.slot = b.variable(zero);
    c.phase = b.variable(zero);
    return c;
  }
  Value slot_now(OpBuilder& b) const { return stages > 1 ? b.get(slot) : b.i32(0); }
  Value phase_now(OpBuilder& b) const { return b.get(phase); }
  /// The parity that a filler waits for: that of the phase before.
  Value former_phase(OpBuilder& b) const { return b.binary(OpCode::bit_xor, b.get(phase), b.i32(1)); }

  void advance(OpBuilder& b) const {
    const Value one = b.i32(1), p = b.get(phase);
    if (stages == 1) return b.set(phase, b.binary(OpCode::bit_xor, p, one));
    const Value next = b.binary(OpCode::add, b.get(slot), one);
    const Value wraps = b.compare("eq", next, b.i32(stages));
    b.set(slot, b.value(OpCode::select, {wraps, b.i32(0), next}, Type::scalar(Elem::i32)));
    b.set(phase, b.binary(OpCode::bit_xor, p, b.value(OpCode::cast, {wraps}, Type::scalar(Elem::i32))));
  }

  /// Passes over `count` slots.
  void skip(Value count, OpBuilder& b) const {
    const Value one = b.i32(1), p = b.get(phase);
    Value rounds = count;
    if (stages > 1) {
      const Value n = b.i32(stages), at = b.binary(OpCode::add, b.get(slot), count);
      rounds = b.binary(OpCode::div, at, n);
      b.set(slot, b.binary(OpCode::mod, at, n));
    }
    b.set(phase, b.binary(OpCode::bit_xor, p, b.binary(OpCode::bit_and, rounds, one)));
  }
};

TLXJIT_NAMESPACE_END
