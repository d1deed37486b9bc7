// src/runtime/json_p.h — JSON that others wrote.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <nlohmann/json.hpp>
#include <string_view>

#include "tlxjit/core/export.h"

TLXJIT_NAMESPACE_BEGIN
namespace runtime {

/// Lists and objects within each other of what parse_json accepts.
inline constexpr int deepest_json = 32;

/// The value, or a discarded one of what is no JSON, or is nested too deep: values are copied and written by recursion,
/// which has only a thread's stack.
inline nlohmann::ordered_json parse_json(std::string_view text) {
  int depth = 0;
  bool quoted = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '"') quoted = !quoted;
    if (c == '\\') ++i;
    if (quoted) continue;
    depth += c == '[' || c == '{' ? 1 : c == ']' || c == '}' ? -1 : 0;
    if (depth > deepest_json) return nlohmann::ordered_json::value_t::discarded;
  }
  return nlohmann::ordered_json::parse(text, nullptr, false);
}

}  // namespace runtime
TLXJIT_NAMESPACE_END
