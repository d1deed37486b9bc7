// tests/unit/nvidia/ptxas_log_test.cpp — logs as NVRTC 13.0.88 wrote them, and what is read from them.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/nvidia/ptxas_log_p.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace tlxjit::nvidia;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::StartsWith;

namespace {

TEST(PtxasLog, CleanGemm) {
  const auto report =
      parse_ptxas_log(R"(gemm.cu(97): warning #177-D: function "desc_mn128" was declared but never referenced
  DEV u64 desc_mn128(u32 a, u32 lbo) { return (u64)((a & 0x3FFFF) >> 4) | ((u64)(lbo >> 4) << 16); }
          ^

Remark: The warnings can be suppressed with "-diag-suppress <warning-number>"

ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'gemm_bf16' for 'sm_90a'
ptxas info    : Function properties for gemm_bf16
ptxas         .     0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 168 registers, used 16 barriers
ptxas info    : Compile time = 109.463 ms)");
  EXPECT_EQ(report.registers, 168);
  EXPECT_EQ(report.barriers, 16);
  EXPECT_EQ(report.stack_bytes, 0);
  EXPECT_EQ(report.spill_store_bytes, 0);
  EXPECT_EQ(report.spill_load_bytes, 0);
  EXPECT_DOUBLE_EQ(report.ptxas_ms, 109.463);
  EXPECT_THAT(report.remarks, IsEmpty());
  EXPECT_TRUE(report.clean());
}

TEST(PtxasLog, BenignRemarkIsKeptAndClean) {
  const auto report = parse_ptxas_log(
      "ptxas info    : (C7519) warpgroup.arrive is injected in around line 1332 by compiler to allow use of registers "
      "in GMMA in function "
      "'fa_fwd'\n"
      "ptxas info    : Used 168 registers, used 16 barriers\n");
  EXPECT_THAT(report.remarks, ElementsAre(StartsWith("C7519 warpgroup.arrive is injected")));
  EXPECT_TRUE(report.has_remark("C7519"));
  EXPECT_FALSE(report.has_remark("C751"));
  EXPECT_TRUE(report.clean());
}

TEST(PtxasLog, BL_144_SpillsAndSetmaxnregIgnored) {
  const auto report = parse_ptxas_log(
      R"(ptxas info    : (C7508) Potential Performance Loss: 'setmaxnreg' ignored; unable to determine register count at entry.
ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'k2' for 'sm_90a'
ptxas info    : Function properties for k2
ptxas         .     0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 8 registers, used 0 barriers
ptxas info    : Compile time = 1.903 ms
ptxas info    : Compiling entry function 'k' for 'sm_90a'
ptxas info    : Function properties for k
ptxas         .     1888 bytes stack frame, 1772 bytes spill stores, 1668 bytes spill loads
ptxas info    : Used 64 registers, used 0 barriers, 1888 bytes cumulative stack size
ptxas info    : Compile time = 152.641 ms
)");
  EXPECT_EQ(report.registers, 64);
  EXPECT_EQ(report.stack_bytes, 1888);
  EXPECT_EQ(report.spill_store_bytes, 1772);
  EXPECT_EQ(report.spill_load_bytes, 1668);
  EXPECT_TRUE(report.setmaxnreg_ignored);
  EXPECT_FALSE(report.wgmma_serialized);
  EXPECT_FALSE(report.clean());
  EXPECT_DOUBLE_EQ(report.ptxas_ms, 154.544);
}

TEST(PtxasLog, SerializedWgmma) {
  const auto report = parse_ptxas_log(
      R"(ptxas info    : (C7506) Potential Performance Loss: 'setmaxnreg' ignored to maintain compatibility into 'extern' call.
ptxas info    : (C7510) Potential Performance Loss: wgmma.mma_async instructions are serialized due to wgmma pipeline crossing function boundary at a function call in the function 'm'
ptxas info    : Used 24 registers, used 1 barriers)");
  EXPECT_TRUE(report.wgmma_serialized);
  EXPECT_TRUE(report.setmaxnreg_ignored);
  EXPECT_EQ(report.barriers, 1);
  EXPECT_THAT(report.remarks, ElementsAre(StartsWith("C7506 Potential"), StartsWith("C7510 Potential")));
}

TEST(PtxasLog, QuotedSourceIsNotRead) {
  const auto report =
      parse_ptxas_log("k.cu(3): warning: 'setmaxnreg' ignored (C7508) Used 255 registers, 16 bytes stack frame\n");
  EXPECT_EQ(report.registers, 0);
  EXPECT_TRUE(report.clean());
  EXPECT_THAT(report.remarks, IsEmpty());
}

TEST(PtxasLog, EmptyAndBroken) {
  EXPECT_TRUE(parse_ptxas_log("").clean());
  EXPECT_EQ(parse_ptxas_log("ptxas info    :  registers").registers, 0);
  EXPECT_THAT(parse_ptxas_log("ptxas (C (C) (C12 (Cx)").remarks, IsEmpty());
}

}  // namespace
