// backends/cpu/emit/math_p.h — mathematical functions as LLVM IR.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "backends/cpu/emit/emitter_p.h"

TLXJIT_NAMESPACE_BEGIN
namespace cpu {

/// An op of the family math; `elem` is the operands' element type. f16 and bf16 are computed in f32 and rounded once.
Node math(Elements& e, const Op& op, llvm::ArrayRef<Node> in, Elem elem);

// Of f32, in vectors.
Node exp2_f32(Elements& e, Node x);
Node exp_f32(Elements& e, Node x);
Node log2_f32(Elements& e, Node x);
Node log_f32(Elements& e, Node x);
Node tanh_f32(Elements& e, Node x);

}  // namespace cpu
TLXJIT_NAMESPACE_END
