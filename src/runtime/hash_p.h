// src/runtime/hash_p.h — the hash of keys and checksums.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "tlxjit/core/export.h"

TLXJIT_NAMESPACE_BEGIN
namespace runtime {

constexpr size_t hash_bytes = 16;

/// 128 bits of XXH3, seed 0, the most significant byte first. It finds damage; it is no signature.
std::string hash_of(std::string_view bytes);

}  // namespace runtime
TLXJIT_NAMESPACE_END
