// src/runtime/entry_p.h — a compiled kernel as bytes that stand for themselves.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tlxjit/core/result.h"

TLXJIT_NAMESPACE_BEGIN
namespace runtime {

/// What is kept of a compile. The bytes are described in docs/reference/cache-format.md.
struct Entry {
  std::string kernel;       ///< its name, for people
  std::string target;       ///< the full name of what the image runs on, for people
  std::string material;     ///< all that the image depends on; its hash is the key
  std::string module;       ///< lowered IR, as text
  std::vector<char> image;  ///< what the device loads
  std::string report;       ///< what the compile told of itself

  bool operator==(const Entry&) const = default;
};

std::vector<char> encode(const Entry& entry);

/// ErrorCode::bad_content for all bytes but those that `encode` gives: one that is changed, missing or too many.
Result<Entry> decode(std::span<const char> bytes);

/// The same of an entry of this key.
Result<Entry> decode(std::span<const char> bytes, std::string_view key);

/// Bytes of an entry that tell how long it is.
inline constexpr size_t entry_length_bytes = 24;
/// Whether they are those of an entry of this length.
bool begins_entry(std::span<const char> bytes, uint64_t length);

Error bad_content(std::string why);

}  // namespace runtime
TLXJIT_NAMESPACE_END
