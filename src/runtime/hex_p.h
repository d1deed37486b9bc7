// src/runtime/hex_p.h — bytes as hexadecimal digits.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <span>
#include <string>

#include "tlxjit/core/export.h"

TLXJIT_NAMESPACE_BEGIN
namespace runtime {

/// Two digits a byte, in lower case.
inline std::string hex(std::span<const char> bytes) {
  constexpr char digits[] = "0123456789abcdef";
  std::string text;
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    text += digits[byte >> 4];
    text += digits[byte & 15];
  }
  return text;
}

}  // namespace runtime
TLXJIT_NAMESPACE_END
