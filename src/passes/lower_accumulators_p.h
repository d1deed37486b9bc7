// src/passes/lower_accumulators_p.h — pass lower_accumulators.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "src/passes/lower_p.h"

TLXJIT_NAMESPACE_BEGIN

/// Removes acc.clear: each dot learns whether it overwrites (always, never, or unless a flag says that
/// something was summed), and reads of sums that may be clear see zeros.
Result<void> lower_accumulators(Module& module);

TLXJIT_NAMESPACE_END
