// tools/tlxjit/summary.cpp — figures of a tensor; its elements as text and as a file.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tools/tlxjit/summary.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "src/runtime/key_p.h"
#include "tools/tlxjit/element.h"
#include "tools/tlxjit/files.h"

namespace tlxjit::cli {

Json summary_of(const TensorInput& tensor, std::span<const char> elements) {
  Json json{{"name", tensor.name},
            {"elem", to_string(tensor.elem)},
            {"dims", tensor.dims},
            {"bytes", elements.size()},
            {"checksum", runtime::key_text({elements.data(), elements.size()})}};
  if (!has_numbers(tensor.elem)) return json;
  double least = std::numeric_limits<double>::infinity(), most = -least, sum = 0;
  uint64_t finite = 0, others = 0;
  const auto width = static_cast<size_t>(bytes(tensor.elem));
  for (size_t at = 0; at + width <= elements.size(); at += width) {
    const double value = real_of(get(tensor.elem, elements.data() + at));
    if (!std::isfinite(value)) {
      ++others;
      continue;
    }
    ++finite;
    sum += value;
    least = std::min(least, value);
    most = std::max(most, value);
  }
  if (finite > 0) {
    json["min"] = least;
    json["max"] = most;
    json["mean"] = sum / static_cast<double>(finite);
  }
  json["non_finite"] = others;
  return json;
}

std::string summary_text(const Json& summary) {
  std::string text =
      fmt::format("{}: {}[{}]  checksum {}", summary["name"].get<std::string>(), summary["elem"].get<std::string>(),
                  fmt::join(summary["dims"].get<std::vector<int64_t>>(), ", "), summary["checksum"].get<std::string>());
  if (summary.contains("min"))
    text += fmt::format("  min {:.6g}  max {:.6g}  mean {:.6g}", summary["min"].get<double>(),
                        summary["max"].get<double>(), summary["mean"].get<double>());
  if (summary.value("non_finite", uint64_t{0}) > 0)
    text += fmt::format("  {} not finite", summary["non_finite"].get<uint64_t>());
  return text;
}

namespace {

constexpr size_t most_shown = 1024;

void show(const TensorInput& tensor, std::span<const char> elements, size_t axis, size_t& next, std::string& out) {
  if (axis == tensor.dims.size()) {
    const Number number = get(tensor.elem, elements.data() + next++ * static_cast<size_t>(bytes(tensor.elem)));
    out += std::visit([](auto value) { return fmt::format("{}", value); }, number);
    return;
  }
  out += '[';
  for (int64_t i = 0; i < tensor.dims[axis]; ++i) {
    if (i > 0) out += ", ";
    if (next >= most_shown) {
      out += "…";
      break;
    }
    show(tensor, elements, axis + 1, next, out);
  }
  out += ']';
}

}  // namespace

std::string elements_text(const TensorInput& tensor, std::span<const char> elements) {
  if (!has_numbers(tensor.elem)) return "?";
  std::string text;
  size_t next = 0;
  // Rows without elements would be counted, and there may be 2^31 of them.
  if (!elements.empty()) show(tensor, elements, 0, next, text);
  return elements.empty() ? "[]" : text;
}

Result<void> write_tensor(const std::string& path, const TensorInput& tensor, std::span<const char> elements) {
  if (!path.ends_with(".npy")) return write_file(path, elements);
  if (!has_numbers(tensor.elem))
    return bad_argument(fmt::format("{}: NumPy has no type for {}; write the bytes, to a file of another ending", path,
                                    to_string(tensor.elem)));
  const Elem kept = npy_elem(tensor.elem);
  const std::string header = npy_header(kept, tensor.dims);
  std::vector<char> file(header.begin(), header.end());
  if (kept == tensor.elem) {
    file.insert(file.end(), elements.begin(), elements.end());
    return write_file(path, file);
  }
  const auto from = static_cast<size_t>(bytes(tensor.elem)), to = static_cast<size_t>(bytes(kept));
  const size_t count = elements.size() / from;
  file.resize(header.size() + count * to);
  for (size_t i = 0; i < count; ++i)
    put(kept, get(tensor.elem, elements.data() + i * from), file.data() + header.size() + i * to);
  return write_file(path, file);
}

}  // namespace tlxjit::cli
