// tests/guide/functions_test.cpp — the code of docs/guide/functions.md.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "tests/unit/runtime/temporary_directory.h"
#include "tlxjit/tlxjit.h"

using namespace tlxjit;

namespace {

Kernel scaled(const Signature& signature, const Config&) {
  const Elem elem = signature.arguments.empty() ? Elem::f32 : signature.arguments[0].elem;
  Kernel k{"scaled"};
  auto [rows, columns] = k.dims("M", "N");
  auto in = k.tensor(elem, "in", {rows, columns});
  auto out = k.tensor(elem, "out", {rows, columns});
  auto factor = k.scalar<int32_t>("factor");
  k.grid(rows);
  k.task("main").body([&](Task&) {
    k.range(ceil_div(columns, 64)).each([&](Index j) {
      out.store({k.program_id(), j * 64}, in.load_tile({k.program_id(), j * 64}, {1, 64}) * factor.to(elem));
    });
  });
  return k;
}

TEST(GuideFunctions, ACallWithoutArgumentsIsAnError) {
  EngineOptions with_plugin;
  with_plugin.cpu_plugin = TLXJIT_TEST_PLUGIN;
  Engine engine{with_plugin};
  auto device = engine.device("cpu");
  ASSERT_TRUE(device.ok());
  const JitFunction f(engine, *device, "scaled", scaled);
  const auto done = f.launch({});
  ASSERT_FALSE(done.ok());
  EXPECT_EQ(done.error().code, ErrorCode::bad_argument);
}

TEST(GuideFunctions, WarmedAndSealed) {
  EngineOptions with_plugin;
  with_plugin.cpu_plugin = TLXJIT_TEST_PLUGIN;
  Engine engine{with_plugin};
  auto opened = engine.device("cpu");
  ASSERT_TRUE(opened.ok());
  const Device device = *opened;
  float x[400], y[400] = {};
  for (int i = 0; i < 400; ++i) x[i] = static_cast<float>(i);

  JitOptions options;
  options.numbers = {{"M", Policy::any()}, {"N", Policy::exact()}, {"factor", Policy::exact()}};
  options.tier = Tier::wait;
  JitFunction f(engine, device, "scaled", scaled, options);
  auto done = f.launch({tensor<float>(x, {4, 100}), tensor<float>(y, {4, 100}), int32_t{3}});
  ASSERT_TRUE(done.ok()) << to_string(done.error());
  for (int i = 0; i < 400; ++i) ASSERT_EQ(y[i], 3 * x[i]);

  std::string manifest = f.manifest();
  JitFunction g(engine, device, "scaled", scaled, options);
  auto report = g.warm(manifest, {.threads = 2});
  g.set_tier(Tier::sealed);
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report->compiled, 1u);
  EXPECT_TRUE(g.launch({tensor<float>(x, {2, 100}), tensor<float>(y, {2, 100}), int32_t{3}}).ok());
  const auto refused = g.launch({tensor<float>(x, {2, 99}), tensor<float>(y, {2, 99}), int32_t{3}});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::not_compiled);
}

TEST(GuideFunctions, TheTextOfAKernelIsWhatItsManifestNames) {
  EngineOptions engine_options;
  engine_options.cpu_plugin = TLXJIT_TEST_PLUGIN;
  Engine engine{engine_options};
  const Device device = *engine.device("cpu");
  JitOptions options;
  options.numbers = {{"M", Policy::any()}, {"N", Policy::exact()}, {"factor", Policy::exact()}};
  const JitFunction f(engine, device, "scaled", scaled, options);
  float x[400] = {}, y[400] = {};
  ASSERT_TRUE(f.version({tensor<float>(x, {4, 100}), tensor<float>(y, {4, 100}), int32_t{3}}).ok());

  const runtime_test::TemporaryDirectory place;
  const std::string folder = place.path();
  Signature signature;
  signature.arguments = {{true, Elem::f32, 2, ""}, {true, Elem::f32, 2, ""}, {false, Elem::i32, 0, ""}};
  signature.target = device.target();  // or JitOptions::compile.as
  Result<Module> module = scaled(signature, {}).module();
  ASSERT_TRUE(module.ok());
  std::ofstream(folder + "/scaled.tlx") << tlxjit::print(*module);

  std::ostringstream text;
  text << std::ifstream(folder + "/scaled.tlx").rdbuf();
  const auto read = parse(text.str());
  ASSERT_TRUE(read.ok());
  const auto report = JitFunction(engine, device, "scaled", *read, options).warm(f.manifest());
  ASSERT_TRUE(report.ok());
  EXPECT_TRUE(report->errors.empty()) << to_string(report->errors.at(0));
  EXPECT_EQ(report->compiled, 1u);
}

}  // namespace
