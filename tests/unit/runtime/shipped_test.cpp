// tests/unit/runtime/shipped_test.cpp — a bundle that a plug-in of another build reads.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <algorithm>

#include "src/runtime/build_id_p.h"
#include "tests/unit/runtime/child.h"
#include "tests/unit/runtime/engine_fixture.h"
#include "tests/unit/runtime/entries.h"
#include "tests/unit/runtime/numbers_kernel.h"
#include "tests/unit/runtime/shipped.h"
#include "tests/unit/runtime/temporary_directory.h"

namespace tlxjit::runtime_test {
namespace {

/// What an engine of its own does to run the kernel; compiles are -1 where the numbers are wrong.
EngineCounters run(const EngineOptions& o, int salt) {
  const Engine engine(o);
  EngineCounters wrong;
  wrong.compiles = UINT64_MAX;
  auto exe = engine.compile(numbers(salt), *engine.device("cpu"));
  std::vector<int32_t> x(32, -1);
  if (!exe || !exe->launch({tensor<int32_t>(x.data(), {32})})) return wrong;
  for (int32_t p = 0; p < 32; ++p)
    if (x[static_cast<size_t>(p)] != p + salt) return wrong;
  return engine.counters();
}

/// The plug-in with another build-id, as one around another LLVM has.
void write_other_build(const std::string& file) {
  const std::string id = runtime::build_id_of_file(TLXJIT_TEST_PLUGIN);
  std::vector<char> bytes = read_file(TLXJIT_TEST_PLUGIN), id_bytes;
  for (size_t i = 0; i < id.size(); i += 2)
    id_bytes.push_back(static_cast<char>(std::stoi(id.substr(i, 2), nullptr, 16)));
  const auto at = std::search(bytes.begin(), bytes.end(), id_bytes.begin(), id_bytes.end());
  ASSERT_NE(at, bytes.end());
  *at = static_cast<char>(*at ^ 1);
  write_file(file, bytes);
}

TEST(Shipped, APlugInOfAnotherBuildFindsItInABundleAndNotInADirectory) {
  const TemporaryDirectory place;
  EngineOptions here = options();
  here.cache_directory = place / "cache";
  EXPECT_EQ(run(here, 3).compiles, 1u);
  EXPECT_EQ(ship(place / "cache", place / "bundle").size(), 1u);
  EngineOptions there = options();
  there.cpu_plugin = place / "libother.so";
  write_other_build(there.cpu_plugin);
  EXPECT_TRUE(in_child([&] {
    EngineOptions o = there;
    o.cache_directory = place / "cache";
    return run(o, 3).compiles == 1;
  })) << "a directory's entries are of one compiler";
  EXPECT_TRUE(in_child([&] {
    EngineOptions o = there;
    o.cache_bundles = {place / "bundle"};
    const EngineCounters c = run(o, 3);
    return c.compiles == 0 && c.disk.bundle_hits == 1 && run(o, 4).compiles == 1;
  }));
  EXPECT_TRUE(in_child([&] {
    EngineOptions o = there;
    o.store = *bundle_store(place / "bundle");
    const EngineCounters c = run(o, 3), other = run(o, 4);
    return c.compiles == 0 && c.disk.store_hits == 1 && other.compiles == 1 && other.disk.errors == 0;
  })) << "a store that is a bundle is asked like one, and nothing is put into it";
  EXPECT_TRUE(in_child([&] {
    EngineOptions o = there;
    o.cache_bundles = {place / "bundle"};
    o.cpu_without_features = "avx512f";
    return run(o, 3).compiles == 1;
  })) << "the processor's features stay in the key";
}

}  // namespace
}  // namespace tlxjit::runtime_test
