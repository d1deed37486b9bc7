// src/passes/lower_rings_p.h — pass lower_rings.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "src/passes/lower_p.h"

TLXJIT_NAMESPACE_BEGIN

/// Replaces rings by buffers, barriers with counts, and cursors.
Result<void> lower_rings(Module& module, const Target& target);

TLXJIT_NAMESPACE_END
