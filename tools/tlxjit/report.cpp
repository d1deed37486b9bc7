// tools/tlxjit/report.cpp — errors and figures as JSON and as text.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tools/tlxjit/report.h"

#include <fmt/format.h>

#include <sstream>

namespace tlxjit::cli {

int exit_code(const Error& error) {
  if (error.code == ErrorCode::bad_content) return exit_refused;  // what was looked at
  switch (error.kind) {
    case ErrorKind::user: return exit_refused;
    case ErrorKind::environment: return exit_environment;
    case ErrorKind::internal: break;
  }
  return exit_internal;
}

namespace {

const char* word_of(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::user: return "user";
    case ErrorKind::environment: return "environment";
    case ErrorKind::internal: break;
  }
  return "internal";
}

}  // namespace

Json json_of(const Error& error) {
  Json json;
  json["kind"] = word_of(error.kind);
  json["stage"] = to_string(error.stage);
  json["code"] = to_string(error.code);
  json["message"] = error.message;
  if (error.location.known()) {
    json["file"] = error.location.file;
    json["line"] = error.location.line;
  }
  if (!error.log.empty()) json["log"] = lines_of(error.log);
  if (!error.key.empty()) json["key"] = error.key;
  return json;
}

Json json_of(const StageTimes& times) {
  return {{"verify", times.verify},   {"lower", times.lower}, {"emit", times.emit},
          {"compile", times.compile}, {"load", times.load},   {"look_up", times.look_up}};
}

Json json_of(const CompileReport& report) {
  return {{"registers", report.registers},
          {"spill_store_bytes", report.spill_store_bytes},
          {"spill_load_bytes", report.spill_load_bytes},
          {"stack_bytes", report.stack_bytes},
          {"barriers", report.barriers},
          {"diagnostics", report.diagnostics},
          {"remarks", report.remarks}};
}

Json json_of(const Parameter& parameter) {
  Json json{{"name", parameter.name},
            {"kind", parameter.is_tensor ? "tensor" : "scalar"},
            {"elem", to_string(parameter.elem)}};
  if (parameter.is_tensor) json["extents"] = parameter.extents;
  return json;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

std::string text_of(const Json& json) { return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n"; }

std::string bytes_text(uint64_t bytes) {
  if (bytes < 1024) return fmt::format("{} bytes", bytes);
  constexpr const char* units[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  double value = static_cast<double>(bytes) / 1024;
  size_t unit = 0;
  for (; value >= 1024; ++unit) value /= 1024;
  return fmt::format("{:.1f} {}", value, units[unit]);
}

std::string time_text(double milliseconds) {
  if (milliseconds >= 1000) return fmt::format("{:.3g} s", milliseconds / 1000);
  if (milliseconds >= 1) return fmt::format("{:.3g} ms", milliseconds);
  return fmt::format("{:.3g} us", milliseconds * 1000);
}

std::string count_text(uint64_t n, std::string_view noun) {
  if (n == 1) return fmt::format("1 {}", noun);
  const auto before = noun.size() < 2 ? '\0' : noun[noun.size() - 2];
  if (noun.ends_with('y') && std::string_view("aeiou").find(before) == std::string_view::npos)
    return fmt::format("{} {}ies", n, noun.substr(0, noun.size() - 1));
  return fmt::format("{} {}s", n, noun);
}

}  // namespace tlxjit::cli
