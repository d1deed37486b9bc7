// src/passes/lower_stages_p.h — pass lower_stages.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "src/passes/lower_p.h"

TLXJIT_NAMESPACE_BEGIN

/// Makes each end of a stage a meeting of all replicas of its task. In a staggered task replica r of n meets the others
/// r times before its body and n − 1 − r times after it, so that it stays r stages behind replica 0.
Result<void> lower_stages(Module& module);

TLXJIT_NAMESPACE_END
