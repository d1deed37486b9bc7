// src/runtime/options.cpp — options of an engine from the environment: each field read by its type.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "src/runtime/options_p.h"

#include <sys/auxv.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <limits>
#include <numeric>
#include <type_traits>
#include <utility>

TLXJIT_NAMESPACE_BEGIN
namespace runtime {

namespace {

using Folders = std::vector<std::string>;

bool read(std::string_view text, std::string& value) {
  value = text;
  return true;
}
bool read(std::string_view text, bool& value) {
  value = text == "1";
  return value || text == "0";
}
template <class Integer>
  requires std::is_integral_v<Integer>
bool read(std::string_view text, Integer& value) {
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() ||
      number > static_cast<uint64_t>(std::numeric_limits<Integer>::max()))
    return false;
  value = static_cast<Integer>(number);
  return true;
}
bool read(std::string_view text, std::chrono::milliseconds& value) {
  std::chrono::milliseconds::rep number = 0;
  if (!read(text, number)) return false;
  value = std::chrono::milliseconds(number);
  return true;
}

std::string written(const std::string& value) { return value; }
std::string written(const Folders&) { return {}; }
std::string written(bool value) { return value ? "1" : "0"; }
template <class Integer>
  requires std::is_integral_v<Integer>
std::string written(Integer value) {
  return std::to_string(value);
}
std::string written(std::chrono::milliseconds value) { return std::to_string(value.count()); }

template <class T>
void apply(T& option, const T& otherwise, const char* name, std::vector<std::string>& faults) {
  const char* text = std::getenv(name);
  if (!text || !*text) return;
  if constexpr (std::is_same_v<T, Folders>) {
    option.emplace_back(text);
  } else {
    if (option != otherwise) return;
    T value{};
    if (read(std::string_view(text), value))
      option = std::move(value);
    else
      faults.push_back(std::string(name) + " is '" + text + "', which is left out: " +
                       (std::is_same_v<T, bool> ? "it is 0 or 1" : "it is a number, 0 or more, of the option's type"));
  }
}

/// Letters to put in, take out or change until one name is the other (Levenshtein 1965).
size_t distance(std::string_view from, std::string_view to) {
  std::vector<size_t> row(to.size() + 1);  // of the part of `from` so far, by the length of that of `to`
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 0; i < from.size(); ++i) {
    size_t diagonal = std::exchange(row[0], i + 1);
    for (size_t j = 0; j < to.size(); ++j) {
      const size_t same_or_changed = diagonal + (from[i] == to[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({same_or_changed, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back();
}

/// Of variables that nobody reads for a slip in their names. Others of the prefix are left alone: they may be a
/// program's own.
void find_misspelt(std::vector<std::string>& faults) {
  const std::vector<OptionInfo> table = option_table();
  for (char** variable = environ; variable && *variable; ++variable) {
    const std::string_view line = *variable, name = line.substr(0, line.find('='));
    if (!name.starts_with("TLXJIT_")) continue;
    const auto nearest = std::ranges::min_element(
        table, {}, [&](const OptionInfo& option) { return distance(name, option.environment); });
    if (const size_t letters = distance(name, nearest->environment); letters == 1 || letters == 2)
      faults.push_back(std::string(name) + " is no option, and is left out; " + nearest->environment + " is one");
  }
}

}  // namespace

std::vector<OptionInfo> option_table() {
  const EngineOptions otherwise;
  return {
#define TLXJIT_OPTION(field, name, meaning) {#field, name, meaning, written(otherwise.field)},
#include "src/runtime/options.def"
#undef TLXJIT_OPTION
  };
}

void read_environment(EngineOptions& options, std::vector<std::string>& faults) {
  if (!options.read_environment || getauxval(AT_SECURE) != 0) return;
  const EngineOptions otherwise;
#define TLXJIT_OPTION(field, name, meaning) apply(options.field, otherwise.field, name, faults);
#include "src/runtime/options.def"
#undef TLXJIT_OPTION
  find_misspelt(faults);
}

}  // namespace runtime
TLXJIT_NAMESPACE_END
