// include/tlxjit/builder/name.h — a name with the place that gives it.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <source_location>
#include <string_view>
#include <type_traits>

#include "tlxjit/core/export.h"

TLXJIT_NAMESPACE_BEGIN

/// A name and the place that gives it, for calls that cannot take the place as an argument of its own.
struct Name {
  std::string_view text;
  std::source_location at;
  template <class T>
    requires std::is_convertible_v<const T&, std::string_view>
  Name(const T& name, std::source_location where = std::source_location::current()) : text(name), at(where) {}
};

TLXJIT_NAMESPACE_END
