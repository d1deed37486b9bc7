// tests/unit/runtime/kept_cubins_test.cpp — cubins on disk: found without NVRTC.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <gmock/gmock.h>

#include "tests/unit/nvidia/nvrtc_fixture.h"
#include "tests/unit/runtime/keep_kernels.h"
#include "tests/unit/runtime/temporary_directory.h"
#include "tlxjit/tlxjit.h"

namespace tlxjit::runtime_test {
namespace {

using KeptCubins = nvidia::WithNvrtc;

TEST_F(KeptCubins, AreFoundWithoutLoadingNvrtc) {
  if (nvidia::promised_nvrtc().empty()) GTEST_SKIP() << "NOT RUN: no TLXJIT_NVRTC_DIR";
  const TemporaryDirectory place;
  const Told first = KeepKernels(place / "cache", "sm_90a", 3).wait();
  EXPECT_EQ(first.compiles, 3);
  EXPECT_EQ(first.nvrtc, 1) << "the program sees what is loaded";
  const Told second = KeepKernels(place / "cache", "sm_90a", 3).wait();
  EXPECT_EQ(second.compiles, 0);
  EXPECT_EQ(second.disk_hits, 3);
  EXPECT_EQ(second.nvrtc, 0);
  const Told on_cpu = KeepKernels(place / "cache", "cpu", 3).wait();
  EXPECT_EQ(on_cpu.compiles, 3) << "another device's are not taken";
}

TEST_F(KeptCubins, AreWhatWasCompiled) {
  const TemporaryDirectory place;
  EngineOptions options;
  options.cache_directory = place / "cache";
  options.read_environment = false;
  if (!nvidia::promised_nvrtc().empty()) options.nvrtc_directories = {nvidia::promised_nvrtc()};
  std::vector<Executable> all;
  for (int i = 0; i < 2; ++i) {
    const Engine engine(options);
    auto exe = engine.compile(gemm(gemm_config("sm_90a")), *engine.device("sm_90a"));
    ASSERT_TRUE(exe) << to_string(exe.error());
    all.push_back(*exe);
    EXPECT_EQ(engine.counters().compiles, i == 0 ? 1u : 0u);
    EXPECT_EQ(engine.counters().disk_hits, i == 0 ? 0u : 1u);
  }
  EXPECT_THAT(all[1].binary(), testing::ElementsAreArray(all[0].binary()));
  EXPECT_GT(all[1].binary().size(), 1000u);
  EXPECT_EQ(all[1].source(), all[0].source());
  EXPECT_EQ(all[1].signature(), all[0].signature());
  EXPECT_EQ(all[1].lowered_text(true), all[0].lowered_text(true));
  EXPECT_EQ(all[1].report().log, all[0].report().log);
  EXPECT_EQ(all[1].report().registers, all[0].report().registers);
  EXPECT_EQ(all[1].report().remarks, all[0].report().remarks);
  EXPECT_EQ(all[1].resources().tensor_maps, all[0].resources().tensor_maps);
  EXPECT_EQ(all[1].resources().shared_bytes, all[0].resources().shared_bytes);
}

}  // namespace
}  // namespace tlxjit::runtime_test
