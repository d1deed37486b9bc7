// src/ir/ring_barriers_p.h — which barriers of a lowered module are those of its rings.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <optional>
#include <vector>

#include "tlxjit/ir/module.h"

TLXJIT_NAMESPACE_BEGIN

/// The two sides of a ring. A program that ends has completed as many phases of the one as of the other, slot by slot.
struct RingBarriers {
  const Op* full = nullptr;
  const Op* empty = nullptr;
};

/// The module's attribute `rings` lists rings: of all barriers, counted from 0 as they are declared, the number of the
/// ring's full one; the next is its empty one. Nothing if the attribute is not of that form.
std::optional<std::vector<RingBarriers>> ring_barriers(const Module& lowered);

TLXJIT_NAMESPACE_END
