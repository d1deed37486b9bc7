// tests/unit/runtime/compile_only_test.cpp — the device that compiles for a GPU without one.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <gmock/gmock.h>

#include "backends/nvidia/device_p.h"
#include "src/passes/lower_p.h"
#include "tests/unit/nvidia/nvrtc_fixture.h"
#include "tlxjit/tlxjit.h"

namespace tlxjit::runtime_test {
namespace {

using CompileOnly = nvidia::WithNvrtc;

TEST_F(CompileOnly, MakesACubinAndAReport) {
  const Engine engine;  // finds NVRTC by the environment, as the fixture does
  const Device device = *engine.device("sm_90a");
  EXPECT_FALSE(device.can_launch());
  auto exe = engine.compile(gemm(gemm_config("sm_90a")), device);
  ASSERT_TRUE(exe) << to_string(exe.error());
  EXPECT_GT(exe->binary().size(), 1000u);
  EXPECT_THAT(exe->source(), testing::HasSubstr("__global__"));
  EXPECT_GT(exe->report().registers, 0);
  EXPECT_TRUE(exe->report().diagnostics.empty()) << exe->report().diagnostics[0];
  EXPECT_EQ(exe->resources().tensor_maps, 3);
  bf16 x[64];
  const TensorArg none = tensor<bf16>(nullptr, {8, 0});
  const auto launched = exe->launch({none, none, tensor<bf16>(x, {8, 8})});
  ASSERT_FALSE(launched);
  EXPECT_EQ(launched.error().message,
            "`gemm` was compiled for sm_90a, which only compiles; take a device of Engine::devices()");
  EXPECT_EQ(device.allocate(8).error().message, "sm_90a only compiles: it has no memory and no streams");
}

TEST_F(CompileOnly, ACompileThatIsLeftBehindIsGivenUp) {
  if (!nvrtc->can_cancel()) GTEST_SKIP() << "NOT RUN: this NVRTC cannot be stopped";
  const auto library = nvidia::device_library("", {nvidia::promised_nvrtc()});
  const auto device = *library->open("sm_90a");
  const Module module = lower(*gemm(gemm_config("sm_90a")).module(), *find_target("sm_90a")).value();
  const Abi abi = *make_abi(module);
  std::atomic<bool> abandoned{false};
  runtime::CompileInput input{module, abi};
  input.abandoned = &abandoned;
  EXPECT_TRUE(device->compile(input).ok());
  abandoned = true;
  const auto made = device->compile(input);
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.error().message, "the compile of `gemm` was cancelled");
}

}  // namespace
}  // namespace tlxjit::runtime_test
