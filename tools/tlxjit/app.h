// tools/tlxjit/app.h — the command line as CLI11 describes it: parsed, helped with and completed from one description.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <memory>
#include <string>

#include "tools/tlxjit/options.h"
#include "tools/tlxjit/report.h"

namespace tlxjit::cli {

/// What a command line asks for.
struct Invocation {
  CommonOptions common;
  std::string command;  ///< `cache ls`
  std::function<Result<Report>()> run;
};

/// `to` is written by parsing, and outlives the app.
std::unique_ptr<CLI::App> make_app(Invocation& to);

/// Scripts that complete the app's commands, options and their words; `shell` is bash or zsh.
std::string completion(const CLI::App& app, const std::string& shell);

}  // namespace tlxjit::cli
