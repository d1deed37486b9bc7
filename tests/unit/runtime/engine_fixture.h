// tests/unit/runtime/engine_fixture.h — an engine with the CPU plug-in of this build.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "tlxjit/tlxjit.h"

namespace tlxjit::runtime_test {

#define TLXJIT_MUST(result) ASSERT_TRUE((result).ok()) << ::tlxjit::to_string((result).error())

inline EngineOptions options(int threads = 2) {
  EngineOptions o;
  o.cpu_plugin = TLXJIT_TEST_PLUGIN;
  o.cpu_threads = threads;
  o.read_environment = false;
  return o;
}

/// The message of a result that must be an error.
inline std::string message(const Result<void>& result) { return result ? "success" : result.error().message; }

struct EngineTest : ::testing::Test {
  Engine engine{options()};
  Device device = *engine.device("cpu");

  Executable compile(const Kernel& kernel, const char* as = "") {
    CompileOptions o;
    o.as = as;
    auto exe = engine.compile(kernel, device, o);
    if (!exe) ADD_FAILURE() << to_string(exe.error());
    return std::move(*exe);
  }
};

}  // namespace tlxjit::runtime_test
