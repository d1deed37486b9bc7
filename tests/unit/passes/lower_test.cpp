// tests/unit/passes/lower_test.cpp — what lowering makes of rings, schedules and stores, and what it refuses.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "src/passes/lower_p.h"

#include <gtest/gtest.h>

#include "tlxjit/ir/text.h"
#include "tlxjit/ir/verify.h"
#include "tlxjit/kernels/attention.h"
#include "tlxjit/kernels/gemm.h"

namespace tlxjit {
namespace {

Result<Module> lowered(const Kernel& kernel, const char* target) {
  auto module = kernel.module();
  if (!module) return module.error();
  return lower(*module, *find_target(target));
}

std::string refusal(const Kernel& kernel, const char* target = "sm_90a") {
  auto module = lowered(kernel, target);
  if (module) return "accepted";
  EXPECT_EQ(module.error().stage, Stage::lower);
  EXPECT_NE(module.error().location.line, 0u);
  return module.error().message;
}

int count(const Module& module, OpCode code) {
  int n = 0;
  walk(module.body, [&](const Op& op) { n += op.code == code; });
  return n;
}

TEST(Lower, NoPortableOpSurvives) {
  for (const char* target : {"cpu", "sm_90a"}) {
    auto module = lowered(gemm(gemm_config(target)), target);
    ASSERT_TRUE(module.ok()) << to_string(module.error());
    walk(module->body, [&](const Op& op) { EXPECT_NE(info(op.code).level, Level::portable) << info(op.code).text; });
    EXPECT_TRUE(verify(*module).empty());
    EXPECT_EQ(module->target, target);
  }
}

TEST(Lower, GemmForHopperIsStagedAndFitsTheChip) {
  auto module = lowered(gemm(gemm_config("sm_90a")), "sm_90a");
  ASSERT_TRUE(module.ok()) << to_string(module.error());
  EXPECT_EQ(module->attrs.integer("threads"), 384);
  EXPECT_LE(module->attrs.integer("shared_bytes"), 232448);
  EXPECT_EQ(count(*module, OpCode::copy_store), 4) << "four slabs";
  EXPECT_EQ(count(*module, OpCode::tile_store), 0);
  EXPECT_EQ(count(*module, OpCode::copy_load), 2);
}

TEST(Lower, TheCpuStoresElementByElement) {
  auto module = lowered(gemm(gemm_config("cpu")), "cpu");
  ASSERT_TRUE(module.ok()) << to_string(module.error());
  EXPECT_EQ(count(*module, OpCode::copy_store), 0);
  EXPECT_EQ(count(*module, OpCode::tile_store), 1);
}

TEST(Lower, BuffersAndBarriersDoNotOverlap) {
  auto module = lowered(attention(attention_config("sm_90a")), "sm_90a");
  ASSERT_TRUE(module.ok()) << to_string(module.error());
  std::vector<std::pair<int64_t, int64_t>> spans;
  for (const auto& op : module->body.ops) {
    if (op->code != OpCode::buffer && op->code != OpCode::barrier) continue;
    const Type& type = module->type(op->results[0]);
    const int64_t size =
        op->code == OpCode::barrier ? 8 * type.slots : type.slots * type.shape.elements() * bytes(type.elem);
    const int64_t at = op->attrs.integer("offset", -1);
    ASSERT_GE(at, 0);
    EXPECT_EQ(at % (op->code == OpCode::barrier ? 8 : op->attrs.integer("swizzle") ? 1024 : 16), 0);
    for (const auto& [begin, end] : spans) EXPECT_TRUE(at >= end || at + size <= begin);
    spans.emplace_back(at, at + size);
  }
  EXPECT_GE(spans.size(), 10u);
}

TEST(Lower, ADynamicScheduleHasACounterAndAHiddenRing) {
  auto module = lowered(attention(attention_config("sm_90a")), "sm_90a");
  ASSERT_TRUE(module.ok());
  EXPECT_EQ(count(*module, OpCode::workspace), 1);
  EXPECT_EQ(count(*module, OpCode::workspace_add), 2) << "take a tile; count finished programs";
  const std::string text = print(*module);
  EXPECT_NE(text.find("barrier [count = 1, name = \"tiles.full\""), std::string::npos);
  EXPECT_NE(text.find("barrier [count = 8, name = \"tiles.empty\""), std::string::npos)
      << "two consumers of four warps";
}

TEST(Lower, WindowsBecomeBounds) {
  AttentionOptions jagged;
  jagged.jagged = true;
  auto module = lowered(attention(attention_config("sm_90a", jagged)), "sm_90a");
  ASSERT_TRUE(module.ok()) << to_string(module.error());
  int ragged = 0;
  walk(module->body, [&](const Op& op) {
    if (op.code != OpCode::copy_load && op.code != OpCode::copy_store) return;
    EXPECT_EQ(op.attrs.integer("ragged"), 0);
    EXPECT_EQ(op.attrs.list("box").size(), 3u);
    ++ragged;
  });
  EXPECT_EQ(ragged, 6) << "q, k and v twice, out";
}

TEST(Lower, RefusalsNameTheWayOut) {
  GemmConfig large = gemm_config("sm_90a");
  large.stages = 8;
  EXPECT_EQ(
      refusal(gemm(large)),
      "buffer: the kernel needs 426112 bytes of shared memory, sm_90a has 232448; the largest part (262144 bytes) is "
      "made here: use fewer stages or smaller tiles");
  GemmConfig narrow = gemm_config("sm_90a");
  narrow.bk = 32;
  EXPECT_EQ(refusal(gemm(narrow)), "ring: field 'a' has rows of 64 bytes; sm_90a wants multiples of 128");
  GemmConfig hungry = gemm_config("sm_90a");
  hungry.mma_registers = 256;
  EXPECT_EQ(refusal(gemm(hungry)),
            "the tasks ask for 70656 registers together; a program of 384 threads has 64512: lower registers()");
  EXPECT_EQ(find_target("sm_30").error().message, "there is no target 'sm_30'; known are cpu and sm_90a");
}

TEST(Lower, SeveralFillersAreRefused) {
  Kernel k{"k"};
  const Index n = k.dim("N");
  const Tensor x = k.tensor<bf16>("x", {n, n});
  Ring ring = k.ring(2).slot<bf16>("a", {64, 64});
  k.grid(n);
  k.task("producer").warps(1).replicas(2).body([&] { ring.acquire().load("a", x, {0, 0}); });
  k.task("consumer").body([&] { (void)ring.wait(); });
  EXPECT_EQ(refusal(k), "ring: is filled by several instances; one can fill it");
}

TEST(Lower, LoweredModulesAreNotLoweredAgain) {
  auto module = lowered(gemm(gemm_config("cpu")), "cpu");
  ASSERT_TRUE(module.ok());
  auto again = lower(*module, *find_target("cpu"));
  ASSERT_FALSE(again.ok());
  EXPECT_EQ(again.error().message, "the module is lowered already, for cpu");
}

}  // namespace
}  // namespace tlxjit
