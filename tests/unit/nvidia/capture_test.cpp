// tests/unit/nvidia/capture_test.cpp — functions that are called while a stream is captured.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <gmock/gmock.h>

#include "backends/nvidia/launch_p.h"
#include "tlxjit/tlxjit.h"

namespace tlxjit::nvidia {
namespace {

using testing::HasSubstr;

/// d = a · bᵀ of ones, so that every element is K.
class CaptureTest : public testing::Test {
 protected:
  static constexpr int64_t m = 128, n = 64, k = 96;

  void SetUp() override {
    auto found = engine.device("cuda:0");
    if (!found) GTEST_SKIP() << "NOT RUN: " << to_string(found.error());
    device = *found;
    driver = *Driver::load();
    context = *Context::open(driver);
    if (!driver->cuStreamBeginCapture || !driver->cuGraphInstantiateWithFlags)
      GTEST_SKIP() << "NOT RUN: the driver has no graphs";
    stream = *device.stream();
    a = *device.upload(std::vector<bf16>(m * k, bf16(1.f)));
    b = *device.upload(std::vector<bf16>(n * k, bf16(1.f)));
    d = *device.allocate(m * n * 2);
  }
  JitFunction function(Tier tier) {
    JitOptions options;
    options.numbers = {{"K", Policy::exact()}};
    options.tier = tier;
    return {engine, device, "gemm", [](const Signature& s, const Config&) { return gemm(gemm_config(s.target)); },
            options};
  }
  std::vector<Argument> arguments() { return {a.tensor<bf16>({m, k}), b.tensor<bf16>({n, k}), d.tensor<bf16>({m, n})}; }
  void expect_product() {
    std::vector<bf16> result(m * n, bf16(-1.f));
    ASSERT_TRUE(d.download(result).ok());
    for (const bf16& x : result) ASSERT_EQ(float(x), float(k));
  }
  CuStream handle() const { return static_cast<CuStream>(stream.handle()); }
  void begin() {
    const CurrentContext current(*context);
    ASSERT_EQ(driver->cuStreamBeginCapture(handle(), cu_capture_mode_global), cu_success);
  }
  /// The captured graph, run twice; false where the capture was spoilt.
  bool end_and_replay() {
    const CurrentContext current(*context);
    CuGraph graph = nullptr;
    CuGraphExec exec = nullptr;
    if (driver->cuStreamEndCapture(handle(), &graph) != cu_success) return false;
    bool good = driver->cuGraphInstantiateWithFlags(&exec, graph, 0) == cu_success;
    for (int i = 0; i < 2 && good; ++i) good = driver->cuGraphLaunch(exec, handle()) == cu_success;
    good = good && device.synchronize(stream).ok();
    if (exec) driver->cuGraphExecDestroy(exec);
    if (graph) driver->cuGraphDestroy(graph);
    return good;
  }

  std::string told;  // by the log
  Engine engine{[this] {
    EngineOptions options;
    options.log = [this](std::string_view text) { told.append(text) += '\n'; };
    return options;
  }()};
  Device device;
  std::shared_ptr<Driver> driver;
  std::shared_ptr<Context> context;
  tlxjit::Stream stream;
  Buffer a, b, d;
};

TEST_F(CaptureTest, BL_226_AMissIsAnErrorAndTheCaptureStaysValid) {
  for (const Tier tier : {Tier::Wait, Tier::Background}) {
    const JitFunction f = function(tier);
    begin();
    const auto refused = f.launch(stream, arguments());
    EXPECT_FALSE(refused.ok());
    if (!refused) {
      EXPECT_EQ(refused.error().code, ErrorCode::capturing);
      EXPECT_THAT(refused.error().key, HasSubstr("\"function\":\"gemm\""));
    }
    EXPECT_EQ(f.counters().compiles, 0u);
    EXPECT_TRUE(end_and_replay());
  }
}

TEST_F(CaptureTest, WhatIsLoadedIsCapturedAndReplayed) {
  const JitFunction f = function(Tier::Background);
  ASSERT_TRUE(f.prepare(arguments()).ok());
  ASSERT_TRUE(d.fill(0xff).ok());
  begin();
  const auto done = f.launch(stream, arguments());
  EXPECT_TRUE(done.ok()) << (done.ok() ? "" : to_string(done.error()));
  EXPECT_TRUE(end_and_replay());
  expect_product();
}

TEST_F(CaptureTest, VersionsAreLoadedBesideACapture) {
  const JitFunction f = function(Tier::Background);
  ASSERT_TRUE(f.prepare(arguments()).ok());
  ASSERT_TRUE(f.launch(stream, arguments()).ok());  // puts its own version into the queue
  begin();
  f.wait();  // loaded by another thread, while this one captures
  EXPECT_EQ(f.counters().versions, 1u) << told;
  const auto done = f.launch(stream, arguments());
  EXPECT_TRUE(done.ok()) << (done.ok() ? "" : to_string(done.error()));
  EXPECT_TRUE(end_and_replay());
  expect_product();
}

}  // namespace
}  // namespace tlxjit::nvidia
