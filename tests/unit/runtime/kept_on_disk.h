// tests/unit/runtime/kept_on_disk.h — engines that keep what they compile in a directory of the test.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "tests/unit/runtime/engine_fixture.h"
#include "tests/unit/runtime/entries.h"
#include "tests/unit/runtime/numbers_kernel.h"
#include "tests/unit/runtime/temporary_directory.h"

namespace tlxjit::runtime_test {

inline bool right(const Executable& exe, int salt = 0) {
  std::vector<int32_t> x(32, -1);
  if (!exe.launch({tensor<int32_t>(x.data(), {32})})) return false;
  for (int32_t p = 0; p < 32; ++p)
    if (x[static_cast<size_t>(p)] != p + salt) return false;
  return true;
}

struct KeptOnDisk : ::testing::Test {
  TemporaryDirectory place;
  std::vector<std::string> lines;

  EngineOptions with_cache() {
    EngineOptions o = options();
    o.cache_directory = place / "cache";
    o.log = [this](std::string_view line) { lines.emplace_back(line); };
    return o;
  }
  /// What an engine of its own made of the kernels, one after the other.
  EngineCounters counted(const EngineOptions& o, std::span<const Kernel> kernels, const CompileOptions& how = {}) {
    const Engine engine(o);
    const Device device = *engine.device("cpu");
    for (const Kernel& kernel : kernels) {
      auto exe = engine.compile(kernel, device, how);
      EXPECT_TRUE(exe.ok()) << to_string(exe.error());
    }
    engine.settle();  // what is published counts, too
    return engine.counters();
  }
  EngineCounters counted(const EngineOptions& o, const Kernel& kernel, const CompileOptions& how = {}) {
    return counted(o, std::span(&kernel, 1), how);
  }
  uint64_t compiles_of(const Kernel& kernel, const CompileOptions& how = {}) {
    return counted(with_cache(), kernel, how).compiles;
  }
  std::vector<std::filesystem::path> entries() const {
    std::vector<std::filesystem::path> all;
    for (const auto& file : std::filesystem::recursive_directory_iterator(place.path()))
      if (file.is_regular_file() && file.path().filename().string().size() == 32) all.push_back(file.path());
    return all;
  }
};

}  // namespace tlxjit::runtime_test
