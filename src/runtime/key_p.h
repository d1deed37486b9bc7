// src/runtime/key_p.h — cache keys as errors tell them.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <string>
#include <string_view>

#include "tlxjit/core/export.h"

TLXJIT_NAMESPACE_BEGIN
namespace runtime {

/// 128 bits of FNV-1a over `material` as 32 hexadecimal digits.
inline std::string key_text(std::string_view material) {
  using Word = unsigned __int128;
  constexpr Word prime = (Word{1} << 88) + 0x13b;
  Word hash = (Word{0x6c62272e07bb0142} << 64) + 0x62b821756295c58d;
  for (const char c : material) hash = (hash ^ static_cast<unsigned char>(c)) * prime;
  std::string text(32, '0');
  for (size_t i = text.size(); i-- > 0; hash >>= 4) text[i] = "0123456789abcdef"[static_cast<unsigned>(hash) & 15u];
  return text;
}

}  // namespace runtime
TLXJIT_NAMESPACE_END
