// include/tlxjit/core/location.h — a place in the user's source.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>
#include <source_location>
#include <string>

#include "tlxjit/core/export.h"

TLXJIT_NAMESPACE_BEGIN

/// File and line of the call that made an op or met an error. Line 0 means "unknown".
struct Location {
  std::string file;
  uint32_t line = 0;

  Location() = default;
  Location(std::string f, uint32_t l) : file(std::move(f)), line(l) {}
  Location(const std::source_location& s) : file(s.file_name()), line(s.line()) {}

  bool known() const { return line != 0; }
  bool operator==(const Location&) const = default;
};

/// `file:line`, or `<unknown>`.
TLXJIT_API std::string to_string(const Location& location);

TLXJIT_NAMESPACE_END
