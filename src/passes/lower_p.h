// src/passes/lower_p.h — portable IR to lowered IR for one target.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tlxjit/core/result.h"
#include "tlxjit/ir/module.h"

TLXJIT_NAMESPACE_BEGIN

/// What the passes need to know of a target.
struct Target {
  std::string name;
  bool tensor_maps = false;  ///< copies go through tensor maps: swizzled buffers, staged stores, limits on boxes
  int64_t shared_limit = 0;  ///< bytes of shared memory that a program may use
  int64_t registers = 0;     ///< of one multiprocessor; 0: a target without warps
  /// What ops may need (the `needs` column of the op table); `*`: all there is.
  std::vector<std::string_view> capabilities = {};
};

/// The tables of the known targets: `cpu`, `sm_90a`.
Result<Target> find_target(std::string_view name);

/// Lowers a verified portable module: schedules, accumulators, waits and releases, rings, stores, then
/// addresses in shared memory. The result passes verify(). Errors name the user's line.
Result<Module> lower(const Module& portable, const Target& target);

/// Refuses the first op of a module that needs what the target lacks, and names the targets that have it.
Result<void> check_capabilities(const Module& module, const Target& target);

/// An error of the lowering at an op.
Error lower_error(const Module& module, const Op& op, std::string message, ErrorCode code = ErrorCode::unsupported);

TLXJIT_NAMESPACE_END
