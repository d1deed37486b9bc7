// src/ir/signature_p.h — what a call binds before a kernel runs: parameters, and the numbers that the host makes of
// them.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <string>

#include "tlxjit/ir/module.h"

TLXJIT_NAMESPACE_BEGIN

/// Limits of a signature, so that a call needs no memory but its stack.
inline constexpr size_t max_tensors = 32, max_dims = 64, max_scalars = 32;
/// Ops of the expressions for extents and grid, as lowered.
inline constexpr size_t max_host_ops = 256;

/// Why the host cannot compute an op that an extent or the grid is made of, or an empty string.
std::string check_host_op(const Module& module, const Op& op);

TLXJIT_NAMESPACE_END
