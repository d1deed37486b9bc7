// tools/sass.cpp — tlxjit-sass: opcode counts of a cubin, in all and in its main loops.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fmt/format.h>

#include <fstream>
#include <iterator>
#include <string_view>

#include "backends/nvidia/sass_p.h"

using namespace tlxjit;

namespace {

constexpr const char* usage =
    "usage: tlxjit-sass [--json] FILE.cubin [KERNEL]\n"
    "Counts the SASS opcodes of each kernel of an sm_90 cubin, and those within the\n"
    "innermost loops that hold a warp-group MMA (the main loops).\n";

std::string json_of(const std::map<std::string, int>& counts) {
  std::string text;
  for (const auto& [name, n] : counts) text += fmt::format("{}\"{}\": {}", text.empty() ? "" : ", ", name, n);
  return "{" + text + "}";
}

std::string json_string(std::string_view raw) {
  std::string text = "\"";
  for (char c : raw) {
    if (c == '"' || c == '\\') text += '\\';
    if (static_cast<unsigned char>(c) < 0x20)
      text += fmt::format("\\u{:04x}", int(c));
    else
      text += c;
  }
  return text + "\"";
}

void print_json(const nvidia::SassReport& r, bool last) {
  fmt::print(
      "  {{\"kernel\": {}, \"instructions\": {}, \"registers\": {}, \"mma_loops\": {}, \"indirect\": {},\n"
      "   \"counts\": {},\n   \"in_mma_loops\": {}}}{}\n",
      json_string(r.kernel), r.instructions, r.registers, r.mma_loops, r.indirect, json_of(r.counts),
      json_of(r.in_mma_loops), last ? "" : ",");
}

void print_table(const nvidia::SassReport& r) {
  fmt::print("{}: {} instructions, {} registers, {} main loop{}\n", r.kernel, r.instructions, r.registers, r.mma_loops,
             r.mma_loops == 1 ? "" : "s");
  if (r.indirect) fmt::print("  note: it has indirect branches, so main loops may be incomplete\n");
  fmt::print("  {:<20} {:>8} {:>14}\n", "opcode", "all", "in main loops");
  for (const auto& [name, n] : r.counts) {
    const auto inside = r.in_mma_loops.find(name);
    fmt::print("  {:<20} {:>8} {:>14}\n", name, n, inside == r.in_mma_loops.end() ? 0 : inside->second);
  }
}

}  // namespace

int main(int argc, char** argv) {
  bool json = false;
  std::string file, kernel;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word == "--help" || word == "-h") return fmt::print("{}", usage), 0;
    if (word == "--json")
      json = true;
    else if (file.empty())
      file = word;
    else
      kernel = word;
  }
  if (file.empty()) return fmt::print(stderr, "{}", usage), 2;
  std::ifstream stream(file, std::ios::binary);
  if (!stream) return fmt::print(stderr, "tlxjit-sass: cannot open {}\n", file), 1;
  const std::vector<char> bytes{std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};

  auto reports = nvidia::inspect_kernels(bytes);
  if (!reports) return fmt::print(stderr, "tlxjit-sass: {}: {}\n", file, reports.error().message), 1;
  if (!kernel.empty()) std::erase_if(*reports, [&](const auto& r) { return r.kernel != kernel; });
  if (reports->empty()) return fmt::print(stderr, "tlxjit-sass: {} has no kernel {}\n", file, kernel), 1;
  if (json) fmt::print("[\n");
  for (const auto& report : *reports) json ? print_json(report, &report == &reports->back()) : print_table(report);
  if (json) fmt::print("]\n");
  return 0;
}
