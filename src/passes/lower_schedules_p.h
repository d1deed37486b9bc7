// src/passes/lower_schedules_p.h — pass lower_schedules.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "tlxjit/ir/module.h"

TLXJIT_NAMESPACE_BEGIN

/// Replaces schedules and each-loops: static ones by counted loops, dynamic ones by a counter in the workspace
/// and a hidden ring through which the first filling task passes the indices to the others.
void lower_schedules(Module& module);

TLXJIT_NAMESPACE_END
