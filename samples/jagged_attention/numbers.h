// samples/jagged_attention/numbers.h — lists of floats as a tensor holds them.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <vector>

#include "tlxjit/ir/type.h"

/// Rounds each number to bf16, f16 or f32, in place too, so that both sides compute with the same.
std::vector<char> encode(std::vector<float>& numbers, tlxjit::Elem elem);
std::vector<float> decode(const std::vector<char>& bytes, tlxjit::Elem elem);
