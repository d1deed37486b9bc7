// src/passes/allocate_shared_p.h — pass allocate_shared.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "src/passes/lower_p.h"

TLXJIT_NAMESPACE_BEGIN

/// Gives buffers and barriers their offsets in shared memory; fails when the kernel needs more than
/// the target has.
Result<void> allocate_shared(Module& module, const Target& target);

TLXJIT_NAMESPACE_END
