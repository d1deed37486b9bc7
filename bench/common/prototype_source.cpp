// bench/common/prototype_source.cpp — runs the prototypes' gen.py.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "bench/common/prototype_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>

namespace tlxjit::bench {
namespace {

Error fault(const std::string& message) {
  Error error;
  error.kind = ErrorKind::environment;
  error.stage = Stage::build;
  error.code = ErrorCode::library_missing;
  error.message = message;
  return error;
}

std::string shell_quoted(const std::string& text) {
  std::string out = "'";
  for (const char c : text) c == '\'' ? out += "'\\''" : out += c;
  return out + "'";
}

}  // namespace

Macros gemm_macros() { return {{"CLM", 1}, {"CLN", 1}, {"GR", 16}, {"WAITN", 0}}; }

Macros attention_macros(bool causal, bool pingpong, int sequence) {
  Macros macros = {{"CAUSAL", causal}, {"PP", pingpong}, {"DYN", 1}};
  if (causal) macros.push_back({"HS", std::max((32 << 20) / (sequence * 512), 1)});
  return macros;
}

Result<PrototypeSource> prototype_source(const std::string& folder, const std::string& kind, const Macros& macros) {
  const std::string text = kind + ".in";
  for (const char* file : {"gen.py", "common.inc", text.c_str()})
    if (!std::filesystem::exists(std::filesystem::path(folder) / file))
      return fault(fmt::format("the prototypes' folder '{}' has no {}", folder, file));
  std::string dict, label;
  for (const auto& [name, value] : macros) {
    dict += fmt::format("\"{}\":{},", name, value);
    label += fmt::format(" {}={}", name, value);
  }
  const std::string program = fmt::format(
      "import sys; sys.path.insert(0,\".\"); import gen; d={{{}}}; "
      "sys.stdout.write(str(gen.{}_smem(d))+\"\\n\"+gen.{}(d))",
      dict, kind, kind);
  const std::string command =
      fmt::format("cd {} && PYTHONDONTWRITEBYTECODE=1 python3 -c {}", shell_quoted(folder), shell_quoted(program));
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(command.c_str(), "r"), [](FILE*) { return 0; });
  if (!pipe) return fault("popen failed for: " + command);
  std::string output;
  char chunk[4096];
  for (size_t n; (n = std::fread(chunk, 1, sizeof chunk, pipe.get())) > 0;) output.append(chunk, n);
  if (const int status = pclose(pipe.get()); status != 0)
    return fault(fmt::format("python3 gave {} for: {}", status, command));
  const size_t line = output.find('\n');
  if (line == std::string::npos) return fault("gen.py gave no source for: " + command);
  PrototypeSource made;
  made.name = fmt::format("prototype {}{}", kind, label);
  made.entry = kind == "gemm" ? "gemm_bf16" : "fa_fwd";
  made.shared_bytes = static_cast<unsigned>(std::atoi(output.c_str()));
  made.source = output.substr(line + 1);
  return made;
}

}  // namespace tlxjit::bench
