// src/runtime/key_p.h — cache keys as errors tell them.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <string>
#include <string_view>

#include "src/runtime/hash_p.h"
#include "src/runtime/hex_p.h"

TLXJIT_NAMESPACE_BEGIN
namespace runtime {

/// The hash of `material` as 32 hexadecimal digits.
inline std::string key_text(std::string_view material) { return hex(hash_of(material)); }

}  // namespace runtime
TLXJIT_NAMESPACE_END
