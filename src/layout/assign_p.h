// src/layout/assign_p.h — gives every tile of a task its fragment.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <vector>

#include "src/layout/fragment_p.h"
#include "tlxjit/core/result.h"
#include "tlxjit/ir/module.h"

TLXJIT_NAMESPACE_BEGIN

/// Fragments by value; values that are no tiles have none. Accumulators have theirs too.
class TileLayouts {
 public:
  explicit TileLayouts(const Module& module) : module_(&module), kinds_(module.value_count()) {}
  FragmentKind kind(Value v) const { return kinds_[v]; }
  Fragment fragment(Value v) const { return {kinds_[v], module_->type(v).shape}; }
  void set(Value v, FragmentKind kind) { kinds_[v] = kind; }

 private:
  const Module* module_;
  std::vector<FragmentKind> kinds_;
};

/// Spreads fragments from the tiles that dots fix (sums read and written, operands held in registers)
/// through elementwise ops, variables, reductions and broadcasts, in both directions. Adds to `layouts`.
/// Refused with the op's location: a tile that no dot anchors, that two anchors want different, or that is spread
/// over the threads of an instance of other than `fragment_warps` warps.
Result<void> assign_fragments(const Module& module, const Op& task, TileLayouts& layouts);

TLXJIT_NAMESPACE_END
