// src/builder/elementwise_p.h — elementwise ops from operands: tiles, scalars that repeat, literals.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <initializer_list>

#include "src/builder/state_p.h"

TLXJIT_NAMESPACE_BEGIN

/// Appends an elementwise op: literals take the element type of the tiles, scalars and expansions their shape.
/// `first_value` is the first operand that decides the element type (1 for select); `result` the element type of the
/// result, none: that of the operands.
Tile elementwise(OpCode code, std::initializer_list<const Operand*> operands, Attrs attrs = {}, size_t first_value = 0,
                 Elem result = Elem::none);

TLXJIT_NAMESPACE_END
