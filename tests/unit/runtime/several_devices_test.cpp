// tests/unit/runtime/several_devices_test.cpp — one engine with two GPUs and the CPU.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// With TLXJIT_TEST_GPU the GPUs are the machine's; else the driver is one that runs nothing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <thread>
#include <vector>

#include "tests/support/steps_kernel.h"
#include "tests/unit/runtime/temporary_directory.h"
#ifndef TLXJIT_TEST_GPU
#include "tests/unit/nvidia/nvrtc_fixture.h"
#endif

namespace tlxjit::runtime_test {
namespace {

using ::testing::HasSubstr;

constexpr int64_t size = 4096;

class SeveralDevices : public ::testing::Test {
 protected:
  EngineOptions options() const {
    EngineOptions o;
    o.cache_directory = place / "cache";
    o.read_environment = false;  // which says that nothing is kept on disk
#ifdef TLXJIT_TEST_GPU
    if (const char* folder = std::getenv("TLXJIT_NVRTC_DIR")) o.nvrtc_directories = {folder};
#else
    o.nvrtc_directories = {nvidia::promised_nvrtc()};
    o.libcuda = TLXJIT_QUIET_LIBCUDA;
#endif
#ifdef TLXJIT_TEST_PLUGIN
    o.cpu_plugin = TLXJIT_TEST_PLUGIN;
#endif
    return o;
  }
  void SetUp() override {
#ifndef TLXJIT_TEST_GPU
    if (nvidia::promised_nvrtc().empty()) GTEST_SKIP() << "NOT RUN: no TLXJIT_NVRTC_DIR";
#endif
    engine = Engine(options());
    for (const char* name : {"cuda:0", "cuda:1"}) {
      auto found = engine.device(name);
      if (!found) GTEST_SKIP() << "NOT RUN: " << to_string(found.error());
      gpus.push_back(*found);
    }
  }
  JitFunction function(const Device& device) { return {engine, device, "steps", steps, {.tier = Tier::wait}}; }

  TemporaryDirectory place;
  Engine engine;
  std::vector<Device> gpus;
};

/// The message of an error, or "success".
std::string message(const Result<void>& result) { return result ? "success" : result.error().message; }

TEST_F(SeveralDevices, BL_222_ABufferOfAnotherDeviceIsRefused) {
  const auto zero = gpus[0].allocate(size * 4), one = gpus[1].allocate(size * 4);
  ASSERT_TRUE(zero.ok() && one.ok());
  const JitFunction f = function(gpus[0]);
  EXPECT_EQ(message(f.launch({zero->tensor<float>({size}), int32_t{1}})), "success");
  EXPECT_EQ(message(f.launch({one->tensor<float>({size}), int32_t{1}})),
            "argument `out` is in memory of cuda:1, and the kernel runs on cuda:0: copy the tensor to a buffer of "
            "cuda:0");
  const auto exe = engine.compile(steps({}, {}), gpus[1]);
  ASSERT_TRUE(exe.ok()) << to_string(exe.error());
  EXPECT_THAT(message(exe->launch({zero->tensor<float>({size}), int32_t{1}})), HasSubstr("is in memory of cuda:0"));
  EXPECT_EQ(message(exe->launch({one->tensor<float>({size}), int32_t{1}})), "success");
  TensorArg unknown = one->tensor<float>({size});  // memory of the caller's own, whose place nobody knows
  unknown.device = {};
  EXPECT_EQ(message(exe->launch({unknown, int32_t{1}})), "success");
  EXPECT_EQ(message(exe->launch({zero->tensor<float>({0}), int32_t{1}})), "success") << "nothing is touched";
  TensorArg dangling;
  {
    const Engine other(options());
    dangling = other.device("cuda:1")->allocate(size * 4)->tensor<float>({0});
  }
  EXPECT_EQ(message(exe->launch({dangling, int32_t{1}})), "success");
  for (const Device& gpu : gpus) EXPECT_EQ(message(gpu.synchronize()), "success");
}

#ifdef TLXJIT_TEST_PLUGIN
TEST_F(SeveralDevices, BL_222_TheCpuRefusesMemoryOfAGpuAndAGpuThatOfTheCpu) {
  const Device cpu = *engine.device("cpu");
  const auto here = cpu.allocate(size * 4), there = gpus[0].allocate(size * 4);
  ASSERT_TRUE(here.ok() && there.ok());
  EXPECT_THAT(message(function(cpu).launch({there->tensor<float>({size}), int32_t{1}})),
              HasSubstr("is in memory of cuda:0, and the kernel runs on cpu"));
  EXPECT_THAT(message(function(gpus[0]).launch({here->tensor<float>({size}), int32_t{1}})),
              HasSubstr("is in memory of cpu, and the kernel runs on cuda:0"));
  const Engine other(options());
  const auto equal = other.device("cpu")->allocate(size * 4);
  ASSERT_TRUE(equal.ok());
  EXPECT_EQ(message(function(cpu).launch({equal->tensor<float>({size}), int32_t{1}})), "success")
      << "one device, whichever engine opened it";
}
#endif

TEST_F(SeveralDevices, WhatIsCompiledForOneIsLoadedOnItsLike) {
  ASSERT_EQ(gpus[0].target(), gpus[1].target());
  const auto first = engine.compile(steps({}, {}), gpus[0]), second = engine.compile(steps({}, {}), gpus[1]);
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_EQ(engine.counters().compiles, 1u);
  EXPECT_EQ(engine.counters().disk.user_hits, 1u);
  EXPECT_EQ(first->device().name(), "cuda:0");
  EXPECT_EQ(second->device().name(), "cuda:1");
}

#ifdef TLXJIT_TEST_GPU
TEST_F(SeveralDevices, EachRunsItsOwnCallsAtOnce) {
  std::vector<JitFunction> functions;
  for (const Device& gpu : gpus) functions.push_back(function(gpu));
  const auto calls = [&](size_t which, int32_t salt) {
    const Device& gpu = gpus[which];
    const Stream stream = *gpu.stream();
    const Buffer out = *gpu.allocate(size * sizeof(float));
    std::vector<float> result(size);
    for (int32_t n = salt; n < salt + 30; ++n) {
      ASSERT_TRUE(out.fill(0xff).ok());
      ASSERT_EQ(message(functions[which].launch(stream, {out.tensor<float>({size}), n % 4})), "success");
      ASSERT_EQ(message(gpu.synchronize(stream)), "success");
      ASSERT_TRUE(out.download(result).ok());
      for (size_t i = 0; i < result.size(); ++i) ASSERT_EQ(result[i], static_cast<float>(3 * (i / 64) + size_t(n % 4)));
    }
  };
  std::vector<std::thread> threads;
  for (int32_t t = 0; t < 4; ++t) threads.emplace_back(calls, static_cast<size_t>(t) % 2, 10 * t);
  for (std::thread& t : threads) t.join();
  // A thread may go from one to the other with each call.
  for (int32_t n = 0; n < 6; ++n) calls(static_cast<size_t>(n) % 2, n);
}
#endif

}  // namespace
}  // namespace tlxjit::runtime_test
