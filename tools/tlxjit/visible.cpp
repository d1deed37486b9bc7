// tools/tlxjit/visible.cpp — text of others for a terminal: what would steer it is written out.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tools/tlxjit/visible.h"

#include <fmt/format.h>

#include <bit>
#include <cstdint>

namespace tlxjit::cli {

namespace {

struct Character {
  uint32_t code = 0;
  size_t bytes = 0;  ///< 0: no UTF-8
};

/// The first of the text, which has one.
Character first_of(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const auto bytes = static_cast<size_t>(std::countl_one(byte(0)));
  if (bytes == 0) return {byte(0), 1};
  if (bytes == 1 || bytes > 4 || text.size() < bytes) return {};
  uint32_t code = byte(0) & (0x7fu >> bytes);
  for (size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return {};
    code = code << 6 | (byte(i) & 0x3fu);
  }
  constexpr uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
  return code < least[bytes] || code > 0x10ffff ? Character() : Character{code, bytes};
}

bool steers(uint32_t code) {
  return code < 0x20 || (code >= 0x7f && code < 0xa0) || code == 0x61c || code == 0x200e || code == 0x200f ||
         (code >= 0x202a && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069);
}

}  // namespace

std::string visible(std::string_view text, std::string_view kept) {
  std::string shown;
  while (!text.empty()) {
    const auto [code, bytes] = first_of(text);
    if (bytes == 0)
      shown += fmt::format("\\x{:02x}", static_cast<unsigned char>(text.front()));
    else if (!steers(code) || kept.find(text.front()) != std::string_view::npos)
      shown += text.substr(0, bytes);
    else
      shown += code < 0x80 ? fmt::format("\\x{:02x}", code) : fmt::format("\\u{:04x}", code);
    text.remove_prefix(bytes == 0 ? 1 : bytes);
  }
  return shown;
}

}  // namespace tlxjit::cli
