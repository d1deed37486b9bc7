// tests/support/text_module.h — modules from text, for tests.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>

#include "tlxjit/ir/text.h"

namespace tlxjit {

inline Module module_of(const std::string& text) {
  auto module = parse(text);
  EXPECT_TRUE(module) << to_string(module.error());
  return module ? std::move(*module) : Module();
}

/// A lowered module with this body.
inline Module lowered(const std::string& body, int threads = 128) {
  return module_of("tlx 1 lowered sm_90a\nkernel \"k\" [threads = " + std::to_string(threads) +
                   ", shared_bytes = 65536] {\n" + body + "}\n");
}

/// One of the texts in tests/ir.
inline Module module_file(const std::string& name) {
  std::ifstream file(std::string(TLXJIT_IR_TEXTS) + "/" + name);
  std::stringstream text;
  text << file.rdbuf();
  return module_of(text.str());
}

}  // namespace tlxjit
