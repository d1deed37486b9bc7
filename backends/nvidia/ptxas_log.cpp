// backends/nvidia/ptxas_log.cpp — reads the lines of `ptxas -v`.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/nvidia/ptxas_log_p.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>

TLXJIT_NAMESPACE_BEGIN
namespace nvidia {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// The number that stands before `unit`: "1888 bytes stack frame, …" with " bytes stack frame" is 1888. -1 if absent.
int number_before(std::string_view line, std::string_view unit) {
  const size_t end = line.find(unit);
  if (end == std::string_view::npos) return -1;
  size_t begin = end;
  while (begin > 0 && is_digit(line[begin - 1])) --begin;
  int value = -1;
  std::from_chars(line.data() + begin, line.data() + end, value);
  return value;
}

void keep_largest(int& field, int value) { field = std::max(field, value); }
void add(int& field, int value) { field += std::max(value, 0); }

// "(C7510) Potential …" with a code of digits, wherever it stands in the line; empty if there is none.
std::string remark_in(std::string_view line) {
  for (size_t at = line.find("(C"); at != std::string_view::npos; at = line.find("(C", at + 1)) {
    size_t end = at + 2;
    while (end < line.size() && is_digit(line[end])) ++end;
    if (end == at + 2 || end >= line.size() || line[end] != ')') continue;
    std::string remark(line.substr(at + 1, end - at - 1));
    auto text = line.substr(end + 1);
    while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
    return remark + " " + std::string(text);
  }
  return {};
}

}  // namespace

bool PtxasReport::has_remark(std::string_view code) const {
  return std::any_of(remarks.begin(), remarks.end(), [&](const std::string& r) {
    return r.size() > code.size() && r.starts_with(code) && r[code.size()] == ' ';
  });
}

PtxasReport parse_ptxas_log(std::string_view log) {
  PtxasReport report;
  while (!log.empty()) {
    const size_t end = std::min(log.find('\n'), log.size());
    auto line = log.substr(0, end);
    log.remove_prefix(std::min(end + 1, log.size()));
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    // The front end quotes source lines, which may say anything; ptxas begins each of its lines with its name.
    if (!line.starts_with("ptxas")) continue;

    keep_largest(report.stack_bytes, number_before(line, " bytes stack frame"));
    keep_largest(report.stack_bytes, number_before(line, " bytes cumulative stack size"));
    add(report.spill_store_bytes, number_before(line, " bytes spill stores"));
    add(report.spill_load_bytes, number_before(line, " bytes spill loads"));
    keep_largest(report.registers, number_before(line, " registers"));
    keep_largest(report.barriers, number_before(line, " barriers"));
    constexpr std::string_view time = "Compile time = ";
    if (const size_t at = line.find(time); at != std::string_view::npos)
      report.ptxas_ms += std::strtod(std::string(line.substr(at + time.size())).c_str(), nullptr);

    // The words rather than the codes: each has several codes, and newer releases add some.
    if (line.find("'setmaxnreg' ignored") != std::string_view::npos) report.setmaxnreg_ignored = true;
    if (line.find("wgmma") != std::string_view::npos && line.find("serialized") != std::string_view::npos)
      report.wgmma_serialized = true;
    if (auto remark = remark_in(line); !remark.empty()) report.remarks.push_back(std::move(remark));
  }
  return report;
}

}  // namespace nvidia
TLXJIT_NAMESPACE_END
