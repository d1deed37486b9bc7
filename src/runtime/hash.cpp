// src/runtime/hash.cpp — XXH3.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "src/runtime/hash_p.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

TLXJIT_NAMESPACE_BEGIN
namespace runtime {

std::string hash_of(std::string_view bytes) {
  XXH128_canonical_t canonical;
  static_assert(sizeof canonical.digest == hash_bytes);
  XXH128_canonicalFromHash(&canonical, XXH3_128bits(bytes.data(), bytes.size()));
  return {reinterpret_cast<const char*>(canonical.digest), hash_bytes};
}

}  // namespace runtime
TLXJIT_NAMESPACE_END
