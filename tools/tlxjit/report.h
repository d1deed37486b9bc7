// tools/tlxjit/report.h — what a command gives back: a document for programs, text for people.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "tlxjit/core/result.h"
#include "tlxjit/runtime/executable.h"

namespace tlxjit::cli {

/// Members keep the order in which they were set.
using Json = nlohmann::ordered_json;

enum ExitCode : int {
  exit_done = 0,
  exit_refused = 1,      ///< the kernel, its arguments, or what was looked at
  exit_usage = 2,        ///< the command line
  exit_environment = 3,  ///< files, memory, devices, drivers, compilers
  exit_internal = 4,     ///< a fault of tlxjit
};

struct Report {
  Json json = Json::object();
  std::string text;   ///< for standard output
  std::string notes;  ///< for standard error, left out by --quiet
  int exit = exit_done;
};

int exit_code(const Error& error);

/// `{kind, stage, code, message, file, line, log, key}`; what there is none of is left out.
Json json_of(const Error& error);
Json json_of(const StageTimes& times);
Json json_of(const CompileReport& report);
Json json_of(const Parameter& parameter);

/// The document as text; bytes that are no UTF-8 become U+FFFD.
std::string text_of(const Json& json);

std::vector<std::string> lines_of(const std::string& text);

/// `12 bytes`, `1.5 KiB`, `3.0 GiB`.
std::string bytes_text(uint64_t bytes);
/// Three digits of a time in milliseconds, with its unit: `12.3 us`.
std::string time_text(double milliseconds);
/// `1 kernel`, `3 kernels`.
std::string count_text(uint64_t n, std::string_view noun);

}  // namespace tlxjit::cli
