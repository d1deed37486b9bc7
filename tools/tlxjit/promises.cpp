// tools/tlxjit/promises.cpp — reads the parameters of a module.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tools/tlxjit/promises.h"

#include <fmt/format.h>

namespace tlxjit::cli {

std::string promises_of(const Module& module) {
  std::string out;
  const auto say = [&](const std::string& what) { out += (out.empty() ? "" : ", ") + what; };
  for (const auto& op : module.body.ops) {
    const std::string_view name = op->attrs.text("name");
    if (op->code == OpCode::dim || op->code == OpCode::scalar) {
      const bool least = op->attrs.find("min"), most = op->attrs.find("max");
      const int64_t multiple = op->attrs.integer("multiple", 1);
      if (least && most && op->attrs.integer("min") == op->attrs.integer("max")) {
        say(fmt::format("{} = {}", name, op->attrs.integer("min")));
        continue;
      }
      if (least) say(fmt::format("{} >= {}", name, op->attrs.integer("min")));
      if (most) say(fmt::format("{} <= {}", name, op->attrs.integer("max")));
      if (multiple != 1) say(fmt::format("{} % {} = 0", name, multiple));
    } else if (op->code == OpCode::tensor) {
      if (const int64_t align = op->attrs.integer("align", 1); align > 1)
        say(fmt::format("{} aligned to {}", name, align));
      if (op->attrs.integer("narrow", 0)) say(fmt::format("{} narrow", name));
      const auto strides = op->attrs.list("strides");
      for (size_t axis = 0; axis < strides.size(); ++axis)
        if (strides[axis] >= 0) say(fmt::format("{} stride {} = {}", name, axis, strides[axis]));
    }
  }
  return out.empty() ? "nothing" : out;
}

}  // namespace tlxjit::cli
