// src/passes/simplify_p.h — what is known of integers, folded into the ops that use it.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "tlxjit/ir/module.h"

TLXJIT_NAMESPACE_BEGIN

/// Folds scalar integer and b1 arithmetic of a verified module by constants, by the bounds and multiples that dims and
/// parameters are promised, and by the identities of 0 and 1; keeps the taken branch of an `if` whose condition is
/// known; drops loops without a round, and pure ops that nothing uses. Never changes what a call that keeps the
/// promises computes, by a single bit: floats are left alone. Dims, parameters and tensors stay as they are.
void simplify(Module& module);

TLXJIT_NAMESPACE_END
