// include/tlxjit/ir/verify.h — is a module well formed?
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <vector>

#include "tlxjit/core/result.h"
#include "tlxjit/ir/module.h"

TLXJIT_NAMESPACE_BEGIN

/// All faults of a module, in program order, each with the line of the op concerned: operand and result
/// types, where ops may stand and how deep, values used where they are not defined, the life of ring slots. Empty when
/// there are none. Works on any module, also one read from text.
TLXJIT_API std::vector<Error> verify(const Module& module);

/// One error out of many: the first, with the others in `log`; success when there are none.
TLXJIT_API Result<void> first_of(const std::vector<Error>& faults);

TLXJIT_NAMESPACE_END
