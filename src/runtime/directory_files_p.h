// src/runtime/directory_files_p.h — keys, and names of the files in a directory of entries.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

#include "src/runtime/guard_p.h"

TLXJIT_NAMESPACE_BEGIN
namespace runtime {

/// Of files that are being written.
inline constexpr std::string_view temporary_prefix = "tmp-";

inline bool is_key(std::string_view name) {
  const auto digit = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); };
  return name.size() == 32 && std::all_of(name.begin(), name.end(), digit);
}

/// A key is a file's name: an Error unless it is 32 hexadecimal digits in lower case.
inline Result<void> check_key(std::string_view key) {
  if (is_key(key)) return {};
  return error_of(ErrorKind::user, Stage::cache, ErrorCode::bad_argument,
                  "a key is 32 hexadecimal digits in lower case, not '" + std::string(key.substr(0, 64)) + "'");
}

inline std::string entry_path(const std::string& top, std::string_view key) {
  return top + "/" + std::string(key.substr(0, 2)) + "/" + std::string(key);
}

}  // namespace runtime
TLXJIT_NAMESPACE_END
