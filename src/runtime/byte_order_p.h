// src/runtime/byte_order_p.h — integers as they stand in files, the least significant byte first.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "tlxjit/core/export.h"

TLXJIT_NAMESPACE_BEGIN
namespace runtime {

/// Writes one after the other into bytes whose number is known.
class ByteWriter {
 public:
  explicit ByteWriter(size_t size) : bytes_(size) {}

  void integer(uint64_t value, int bytes) {
    for (int i = 0; i < bytes; ++i) bytes_[at_++] = static_cast<char>(value >> 8 * i);
  }
  void text(std::string_view text) {
    std::copy(text.begin(), text.end(), bytes_.begin() + static_cast<std::ptrdiff_t>(at_));
    at_ += text.size();
  }
  std::string_view written() const { return {bytes_.data(), at_}; }
  std::vector<char> take() { return std::move(bytes_); }

 private:
  std::vector<char> bytes_;
  size_t at_ = 0;
};

/// The caller knows that the bytes are there.
inline uint64_t get_integer(std::span<const char> from, size_t at, int bytes) {
  uint64_t value = 0;
  for (int i = 0; i < bytes; ++i)
    value |= uint64_t{static_cast<unsigned char>(from[at + static_cast<size_t>(i)])} << 8 * i;
  return value;
}
inline std::string_view get_text(std::span<const char> from, size_t at, size_t size) {
  return {from.data() + at, size};
}

}  // namespace runtime
TLXJIT_NAMESPACE_END
