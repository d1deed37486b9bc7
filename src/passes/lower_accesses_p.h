// src/passes/lower_accesses_p.h — pass lower_accesses.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "tlxjit/ir/module.h"

TLXJIT_NAMESPACE_BEGIN

/// Turns loads, masked stores and atomics on views of tensors into those on the tensors themselves. What lies outside
/// a window is outside for them too.
void lower_accesses(Module& module);

TLXJIT_NAMESPACE_END
