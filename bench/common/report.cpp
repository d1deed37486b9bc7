// bench/common/report.cpp — writes result files.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "bench/common/report.h"

#include <fmt/format.h>

#include <cctype>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "provenance.inc"

namespace tlxjit::bench {
namespace {

std::string json_text(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\')
      (out += '\\') += c;
    else if (static_cast<unsigned char>(c) < 0x20)
      out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    else
      out += c;
  }
  return out + '"';
}

/// The environment's word where the programs were built without git or elsewhere.
std::string provenance(const char* variable, const char* baked) {
  const char* value = std::getenv(variable);
  return value && *value ? value : baked;
}

}  // namespace

double Row::ratio() const {
  const bool less_is_better = unit == "ms" || unit == "us" || unit == "ns" || unit == "s" || unit == "MB";
  const double below = less_is_better ? ours : peer;
  return below > 0 ? (less_is_better ? peer : ours) / below : 0;
}

std::string Report::json() const {
  std::string text = fmt::format(
      "{{\n  \"device\": {},\n  \"driver\": {},\n  \"compiler\": {},\n  \"commit\": {},\n  \"tree\": {},\n"
      "  \"dirty\": {},\n{}  \"rows\": [",
      json_text(device), json_text(driver), json_text(compiler),
      json_text(provenance("TLXJIT_COMMIT", TLXJIT_BENCH_COMMIT)),
      json_text(provenance("TLXJIT_TREE", TLXJIT_BENCH_TREE)),
      provenance("TLXJIT_DIRTY", TLXJIT_BENCH_DIRTY ? "true" : "false") == "false" ? "false" : "true",
      data.empty() ? "" : fmt::format("  \"data\": {},\n", json_text(data)));
  const char* separator = "\n";
  for (const Row& row : rows) {
    text += fmt::format(
        "{}    {{\"case\": {}, \"unit\": {}, \"ours\": {:.5g}, \"peer\": {:.5g}, \"peer_name\": {}, "
        "\"ratio\": {:.4f}, \"code\": {}}}",
        separator, json_text(row.name), json_text(row.unit), row.ours, row.peer, json_text(row.peer_name), row.ratio(),
        json_text(row.code));
    separator = ",\n";
  }
  return text + "\n  ]\n}\n";
}

std::string Report::path(const Options& options) const {
  std::filesystem::path at = options.out.empty() ? "bench/results" : options.out;
  if (at.extension() != ".json")
    at /= fmt::format("{}-{}{}.json", bench, slug(device), options.partial() ? "-partial" : "");
  return at.string();
}

bool Report::write(const Options& options) const {
  const std::filesystem::path at = path(options);
  std::error_code error;
  if (at.has_parent_path()) std::filesystem::create_directories(at.parent_path(), error);
  std::ofstream file(at, std::ios::trunc);
  file << json();
  file.close();
  if (file) return true;
  fmt::print(stderr, "results: {} cannot be written\n", at.string());
  return false;
}

std::string code_hash(std::string_view source, const Resources& resources) {
  uint64_t hash = 0xcbf29ce484222325u;  // FNV-1a
  const auto mix = [&](std::string_view text) {
    for (const unsigned char c : text) hash = (hash ^ c) * 0x100000001b3u;
    hash = (hash ^ 0xff) * 0x100000001b3u;
  };
  mix(source);
  mix(fmt::format("threads={} shared={} workspace={}", resources.threads, resources.shared_bytes,
                  resources.workspace_words));
  return fmt::format("{:016x}", hash);
}

std::string cpu_name() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);)
    if (line.starts_with("model name")) return line.substr(line.find(':') + 2);
  return "unknown";
}

std::string driver_name(int cuda) {
  std::string name = fmt::format("CUDA {}.{}", cuda / 1000, cuda % 1000 / 10);
  std::ifstream file("/proc/driver/nvidia/version");
  std::string line;
  std::getline(file, line);
  std::istringstream words(line);
  for (std::string word; words >> word;)
    if (word.find_first_not_of("0123456789.") == word.npos && word.find('.') != word.npos) return word + ", " + name;
  return name;
}

std::string slug(std::string_view device) {
  std::string name;
  int depth = 0;  // "(R)" says nothing
  for (const char c : device) {
    if (c == '(')
      ++depth;
    else if (c == ')')
      --depth;
    else if (depth > 0)
      continue;
    else if (std::isalnum(static_cast<unsigned char>(c)))
      name += static_cast<char>(std::tolower(c));
    else if (c == '@')
      break;
    else if (!name.empty() && name.back() != '-')
      name += '-';
  }
  for (const std::string_view word : {"nvidia-", "-processor", "-cpu"})
    if (const size_t at = name.find(word); at != std::string::npos) name.erase(at, word.size());
  while (!name.empty() && name.back() == '-') name.pop_back();
  return name.empty() ? "unknown" : name;
}

}  // namespace tlxjit::bench
