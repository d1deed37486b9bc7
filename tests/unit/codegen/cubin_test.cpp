// tests/unit/codegen/cubin_test.cpp — generated kernels through NVRTC: as good in SASS as hand-written ones.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <gmock/gmock.h>

#include <algorithm>

#include "backends/nvidia/emit/emit_p.h"
#include "backends/nvidia/ptxas_log_p.h"
#include "backends/nvidia/sass_p.h"
#include "samples/common/kernels.h"
#include "src/passes/lower_p.h"
#include "tests/kernels/order_kernels.h"
#include "tests/support/text_module.h"
#include "tests/unit/nvidia/nvrtc_fixture.h"
#include "tlxjit/kernels/attention.h"
#include "tlxjit/kernels/gemm.h"

using namespace tlxjit;
using namespace tlxjit::nvidia;

namespace {

class CubinTest : public WithNvrtc {
 protected:
  /// Compiles a lowered module; fails on spills, stack and every remark about slow pipelines.
  SassReport compile(const Module& lowered) {
    auto kernel = emit_cuda(lowered);
    EXPECT_TRUE(kernel) << to_string(kernel.error());
    if (!kernel) return {};
    auto result = nvrtc->compile(kernel->source, kernel->entry, "sm_90a");
    EXPECT_TRUE(result) << to_string(result.error());
    if (!result) return {};
    const PtxasReport log = parse_ptxas_log(result->log);
    EXPECT_TRUE(log.clean()) << result->log;
    for (const char* code : {"C7504", "C7508", "C7509", "C7510", "C7511", "C7512", "C7513", "C7514", "C7520"})
      EXPECT_FALSE(log.has_remark(code)) << result->log;
    auto sass = inspect_cubin(result->cubin, kernel->entry);
    EXPECT_TRUE(sass) << to_string(sass.error());
    if (!sass) return {};
    RecordProperty("compile_cpu_ms", static_cast<int>(result->cpu_ms));
    RecordProperty("instructions", sass->instructions);
    RecordProperty("R2UR", sass->count("R2UR"));
    EXPECT_EQ(sass->count("USETMAXREG"), asked_registers(lowered) ? 2 : 0);
    EXPECT_EQ(sass->count("CALL"), 0);
    EXPECT_EQ(sass->count_in_mma_loops("MEMBAR"), 0);
    return *sass;
  }

  static bool asked_registers(const Module& lowered) {
    return std::ranges::any_of(lowered.body.ops, [](const auto& op) { return op->attrs.integer("registers", 0) > 0; });
  }

  SassReport compile(const Kernel& kernel) {
    auto module = kernel.module();
    EXPECT_TRUE(module) << to_string(module.error());
    auto lowered = lower(*module, *find_target("sm_90a"));
    EXPECT_TRUE(lowered) << to_string(lowered.error());
    return compile(*lowered);
  }
};

// The figures of the hand-written kernels are 4 HGMMA, 7 R2UR and 32 HGMMA, 12 R2UR (CUDA 13.0.88).

TEST_F(CubinTest, Gemm) {
  const SassReport sass = compile(module_file("gemm_sm_90a.tlx"));
  EXPECT_EQ(sass.count("HGMMA"), 4);
  EXPECT_LE(sass.registers, 168);
  // No value crosses into the uniform registers inside the main loop: descriptors stay there.
  EXPECT_LE(sass.count("R2UR"), 7);
  EXPECT_EQ(sass.count_in_mma_loops("R2UR"), 0);
  EXPECT_EQ(sass.count_in_mma_loops("BAR"), 0);
}

TEST_F(CubinTest, Attention) {
  const SassReport sass = compile(module_file("attention_sm_90a.tlx"));
  EXPECT_EQ(sass.count("HGMMA"), 32);
  EXPECT_LE(sass.registers, 168);
  EXPECT_LE(sass.count("R2UR"), 12);
  EXPECT_EQ(sass.count_in_mma_loops("HGMMA"), 16);
}

TEST_F(CubinTest, LibraryGemm) {
  const SassReport sass = compile(gemm(gemm_config("sm_90a")));
  EXPECT_EQ(sass.count("HGMMA"), 4);
  EXPECT_LE(sass.count("R2UR"), 7);
  EXPECT_EQ(sass.count_in_mma_loops("R2UR"), 0);
}

TEST_F(CubinTest, LibraryAttention) {
  for (const int head : {64, 128})
    for (const bool causal : {false, true})
      for (const bool jagged : {false, true}) {
        SCOPED_TRACE(testing::Message() << "head " << head << " causal " << causal << " jagged " << jagged);
        const SassReport sass =
            compile(attention(attention_config("sm_90a", {.head = head, .causal = causal, .jagged = jagged})));
        // Scores twice (first block, loop) in steps of 16 of the head, values twice in steps of 16 keys.
        EXPECT_EQ(sass.count("HGMMA"), 2 * head / 16 + 2 * 128 / 16);
        EXPECT_EQ(sass.count_in_mma_loops("HGMMA"), head / 16 + 128 / 16);
        EXPECT_LE(sass.count("R2UR"), causal ? 20 : 12);
        EXPECT_EQ(sass.count_in_mma_loops("R2UR"), 0);
        EXPECT_LE(sass.registers, 168);
      }
}

TEST_F(CubinTest, LibraryAttentionWithOptions) {
  for (const AttentionOptions& o : std::initializer_list<AttentionOptions>{
           {.head = 128, .causal = true, .jagged = true, .self = false, .group = 8, .lse = false},
           {.head = 64, .jagged = true, .left = 127, .right = 0, .offsets = Elem::i64},
           {.head = 128, .self = false, .left = 100, .right = 3, .corner = Corner::top_left},
           {.head = 192, .causal = true, .jagged = true, .value_head = 128},
           {.head = 256, .causal = true, .group = 2}}) {
    SCOPED_TRACE(testing::Message() << "head " << o.head << " group " << o.group << " left " << o.left);
    EXPECT_EQ(compile(attention(attention_config("sm_90a", o))).count_in_mma_loops("R2UR"), 0);
  }
}

/// With barriers by hand as with a ring: no slower loop, no more registers.
TEST_F(CubinTest, BarriersByHand) {
  const SassReport by_hand = compile(samples::matmul_barriers({})), ring = compile(samples::matmul_ring({}));
  EXPECT_GT(by_hand.count("HGMMA"), 0);
  EXPECT_EQ(by_hand.count("HGMMA"), ring.count("HGMMA"));
  EXPECT_LE(by_hand.registers, ring.registers);
}

/// What an instance does by hand is ordered by meetings of its threads and fences, and costs no more.
TEST_F(CubinTest, OrderByHand) {
  const SassReport dots = compile(kernels_test::stores_then_dots(false));
  EXPECT_EQ(dots.count("HGMMA"), 8);
  EXPECT_EQ(dots.count("BAR"), compile(kernels_test::stores_then_dots(true)).count("BAR"));
  EXPECT_GE(compile(kernels_test::puts_then_gets()).count("BAR"), 3);
  EXPECT_GE(compile(kernels_test::copies_then_stores(false)).count("BAR"), 2);
  // Each warp of the second task: a barrier's initialisation apart, one arrival for each task.
  EXPECT_GE(compile(kernels_test::arrivals_of_warps()).count("SYNCS"), 4);
}

}  // namespace
