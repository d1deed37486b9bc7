// tools/tlxjit/main.cpp — tlxjit: parses the command line, runs a command, tells how it went.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <string>
#include <string_view>

#include "src/runtime/file_io_p.h"
#include "src/runtime/guard_p.h"
#include "tools/tlxjit/app.h"
#include "tools/tlxjit/files.h"
#include "tools/tlxjit/visible.h"

using namespace tlxjit;
using namespace tlxjit::cli;

namespace {

/// The standard descriptors that a parent has closed: reads and writes of these fail, and no file gets their numbers.
void reserve_standard_descriptors() {
  for (int number = STDIN_FILENO; number <= STDERR_FILENO; ++number)
    if (fcntl(number, F_GETFD) == -1 && open("/dev/null", number == STDIN_FILENO ? O_WRONLY : O_RDONLY) == -1) return;
}

/// Writes to standard error; where that takes nothing, the exit code alone tells.
void tell(std::string_view text) { static_cast<void>(runtime::write_bytes(STDERR_FILENO, visible(text))); }

/// Writes to standard output, to whose reader alone all bytes go as they are; a failure is told and is the exit code.
int show(std::string_view text, int exit) {
  std::string escaped;
  if (isatty(STDOUT_FILENO)) text = escaped = visible(text);
  const int number = runtime::write_bytes(STDOUT_FILENO, text);
  if (number == 0) return exit;
  tell(fmt::format("tlxjit: cannot write to standard output: {}\n", std::strerror(number)));
  return exit_environment;
}

/// Both of a command that failed and of a command line that makes no sense.
int show_failure(const std::string& command, const Error& error, int exit, bool json) {
  if (!json) {
    tell(fmt::format("tlxjit: {}\n", exit == exit_usage ? error.message + "\n" + error.log : to_string(error)));
    return exit;
  }
  Json document{{"command", command}, {"ok", false}, {"exit_code", exit}, {"error", json_of(error)}};
  return show(text_of(document), exit);
}

int show_report(const std::string& command, const Report& report, const CommonOptions& common) {
  if (common.json) {
    Json document{{"command", command}, {"ok", report.exit == exit_done}, {"exit_code", report.exit}};
    document.update(report.json);
    return show(text_of(document), report.exit);
  }
  if (!common.quiet) tell(report.notes);
  return show(report.text, report.exit);
}

/// Of a word that should be a command, CLI11 says that a command is missing.
std::string message_of(const CLI::ParseError& error, const CLI::App& app, int argc, char** argv) {
  if (error.get_exit_code() != static_cast<int>(CLI::ExitCodes::RequiredError)) return error.what();
  const CLI::App* place = &app;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word.starts_with('-')) continue;
    const auto commands = place->get_subcommands({});
    const auto found = std::ranges::find(commands, word, [](const CLI::App* command) { return command->get_name(); });
    if (commands.empty()) break;
    if (found == commands.end()) return "there is no command '" + word + "'";
    place = *found;
  }
  return error.what();
}

/// Of a command line whose parse ended at --help or --version.
Json done_document(const CLI::App& app) {
  std::string command;
  for (const CLI::App* place = &app; !place->get_subcommands().empty();) {
    place = place->get_subcommands().front();
    command += (command.empty() ? "" : " ") + place->get_name();
  }
  return {{"command", command}, {"ok", true}, {"exit_code", exit_done}};
}

int run(const Invocation& invocation) {
  auto report = runtime::guarded(Stage::run, invocation.run);
  if (report) return show_report(invocation.command, *report, invocation.common);
  return show_failure(invocation.command, report.error(), exit_code(report.error()), invocation.common.json);
}

}  // namespace

int main(int argc, char** argv) try {
  reserve_standard_descriptors();
  std::signal(SIGPIPE, SIG_IGN);
  bool json = false;  // also of a command line that cannot be parsed
  for (int i = 1; i < argc; ++i) json |= std::string_view(argv[i]) == "--json";
  Invocation invocation;
  const auto app = make_app(invocation);
  try {
    app->parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    const std::string help = app->help();
    if (!json) return show(help, exit_done);
    Json document = done_document(*app);
    document["help"] = help;
    return show(text_of(document), exit_done);
  } catch (const CLI::CallForVersion&) {
    if (!json) return show("tlxjit " TLXJIT_VERSION "\n", exit_done);
    Json document = done_document(*app);
    document["version"] = TLXJIT_VERSION;
    return show(text_of(document), exit_done);
  } catch (const CLI::ParseError& error) {
    Error fault =
        runtime::error_of(ErrorKind::user, Stage::parse, ErrorCode::bad_argument, message_of(error, *app, argc, argv));
    fault.log = "`tlxjit --help`, or `tlxjit COMMAND --help`, says what there is";
    return show_failure("", fault, exit_usage, json);
  }
  return run(invocation);
} catch (...) {  // no memory, while something was told
  const Error error = runtime::caught(Stage::run);
  return show_failure("", error, exit_code(error), false);
}
