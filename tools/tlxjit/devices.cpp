// tools/tlxjit/devices.cpp — `tlxjit devices`: what can be opened, and why others cannot.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fmt/format.h>

#include "src/runtime/registry_p.h"
#include "tools/tlxjit/commands.h"

namespace tlxjit::cli {

Result<Report> devices(const CommonOptions& common) {
  std::vector<std::string> refused;
  EngineOptions options = common.engine();
  options.log = [&](std::string_view line) { refused.emplace_back(line); };
  runtime::Registry registry(std::move(options));
  auto opened = registry.open_all();
  auto compiler = registry.open("sm_90a");
  if (!compiler) return compiler.error();
  opened.push_back(*compiler);

  Report report;
  report.json["devices"] = Json::array();
  for (const auto& device : opened) {
    const runtime::DeviceFacts& facts = device->facts();
    const auto compiles = device->can_compile();
    Json json{{"name", facts.name}, {"target", facts.target},         {"description", facts.description},
              {"units", facts.sms}, {"can_launch", facts.can_launch}, {"can_compile", compiles.ok()}};
    report.text += fmt::format("{:<8} {:<8} {}{}\n", facts.name, facts.target, facts.description,
                               compiles.ok() ? "" : "; compiles nothing:");
    if (!compiles) {
      json["error"] = json_of(compiles.error());
      report.text += "  " + compiles.error().message + "\n";
    }
    report.json["devices"].push_back(std::move(json));
  }
  report.json["refused"] = refused;
  if (!refused.empty()) report.text += "\nnot there:\n";
  for (const std::string& line : refused) {
    report.text += "  ";
    for (const char c : line) report.text += c == '\n' ? "\n    " : std::string(1, c);
    report.text += '\n';
  }
  return report;
}

}  // namespace tlxjit::cli
