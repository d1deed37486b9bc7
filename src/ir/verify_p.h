// src/ir/verify_p.h — parts of the verifier.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <functional>
#include <string>

#include "tlxjit/ir/module.h"

TLXJIT_NAMESPACE_BEGIN

using Report = std::function<void(const Op&, std::string)>;

/// The life of ring slots in portable modules (design: slot life): every field of an acquired slot is filled
/// exactly once, in the block that acquired; nothing uses a slot after publish or release; each ring is
/// filled and drained.
void verify_slots(const Module& module, const Report& report);

/// How a launch's programs run: flags are waited for in resident kernels only; what belongs to clusters stands in
/// kernels that have them; a constant grid is whole clusters.
void verify_launch(const Module& module, const Report& report);

/// Barriers of the cluster stand under no condition and in no loop that replicas of a task go through differently
/// often.
void verify_cluster(const Module& portable, const Report& report);

/// What a call binds: no more parameters than it can have, every dim by a tensor, extents and grid by what the host
/// computes.
void verify_signature(const Module& module, const Report& report);

/// Tiles of a counter: one replica takes them, and each task iterates them once, directly.
void verify_schedule(const Module& portable, const Report& report);

/// Memory that lowered modules name: words of the workspace; for devices, where in shared memory all is, apart.
void verify_lowered(const Module& lowered, const Report& report);

/// Boxes of tensor views: in one window at most, not before it; copies end whole rows.
void verify_views(const Module& portable, const Report& report);

/// Partial reductions: until `finish`, which has their kind, sums are added to and subtracted from one another and
/// scaled, maxima are joined by `max` and shifted; nothing else is done with them.
void verify_unfinished(const Module& module, const Report& report);

TLXJIT_NAMESPACE_END
