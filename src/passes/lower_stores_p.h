// src/passes/lower_stores_p.h — pass lower_stores.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "src/passes/lower_p.h"

TLXJIT_NAMESPACE_BEGIN

/// Replaces stores of tiles: through staging buffers and tensor maps where the target has them and the tile
/// allows it, else element by element.
Result<void> lower_stores(Module& module, const Target& target);

TLXJIT_NAMESPACE_END
