// tests/unit/builder/faults.h — kernels with one task, and what the builder says of them.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "tlxjit/builder/flag.h"
#include "tlxjit/builder/kernel.h"
#include "tlxjit/ir/text.h"

namespace tlxjit {

struct BuilderFixture {
  Kernel k{"k"};
  Index n = k.dim("N");
  Tensor x = k.tensor<float>("x", {n, n});
  Tensor y = k.tensor<float>("y", {n});
  SharedBuffer buf = k.buffer<float>(1, {4, 6});
  BuilderFixture() { k.grid(n); }
};

/// Runs `body` in a task; it must record one fault, at the line it returns of the file that calls this.
inline void expect_builder_fault(const std::string& message,
                                 const std::function<uint32_t(BuilderFixture&, Task&)>& body,
                                 std::source_location at = std::source_location::current()) {
  BuilderFixture f;
  uint32_t line = 0;
  f.k.task("t").body([&](Task& t) { line = body(f, t); });
  ASSERT_EQ(f.k.faults().size(), 1u) << message << (f.k.faults().size() ? "\n" + to_string(f.k.faults()[0]) : "");
  EXPECT_EQ(f.k.faults()[0].message, message);
  EXPECT_EQ(f.k.faults()[0].location, Location(at.file_name(), line));
}

/// The kernel's text, or the error where as many faults are expected.
inline std::string builder_text(const std::function<void(BuilderFixture&, Task&)>& body, size_t faults = 0) {
  BuilderFixture f;
  f.k.task("t").body([&](Task& t) { body(f, t); });
  auto module = f.k.module();
  EXPECT_EQ(f.k.faults().size(), faults);
  EXPECT_EQ(module.ok(), faults == 0) << (module ? "" : to_string(module.error()));
  return module ? print(*module) : module.error().message;
}

}  // namespace tlxjit
