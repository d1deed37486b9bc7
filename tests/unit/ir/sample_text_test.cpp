// tests/unit/ir/sample_text_test.cpp — the kernels of the samples print and parse back, at both levels.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <gtest/gtest.h>

#include "samples/common/kernels.h"
#include "src/passes/lower_p.h"
#include "tlxjit/ir/text.h"

namespace tlxjit {
namespace {

void expect_round_trip(const Module& module) {
  for (const bool located : {false, true}) {
    const std::string text = print(module, located);
    auto parsed = parse(text);
    ASSERT_TRUE(parsed.ok()) << to_string(parsed.error());
    EXPECT_EQ(print(*parsed, located), text);
  }
}

/// `everywhere`: as for the GPU too, whether or not its back end has code for each op.
void check(const Kernel& kernel, bool everywhere) {
  SCOPED_TRACE(kernel.name());
  auto module = kernel.module();
  ASSERT_TRUE(module.ok()) << to_string(module.error());
  expect_round_trip(*module);
  for (const char* target : {"cpu", "sm_90a"}) {
    Target facts = *find_target(target);
    facts.capabilities = {"*"};
    auto lowered = lower(*module, facts);
    if (std::string(target) != "cpu" && !everywhere) {
      // What a target lacks is refused by the line that asks for it.
      if (!lowered.ok()) {
        EXPECT_NE(lowered.error().location.line, 0u);
      }
      continue;
    }
    ASSERT_TRUE(lowered.ok()) << to_string(lowered.error());
    expect_round_trip(*lowered);
  }
}

TEST(SampleText, EveryKernelRoundTrips) {
  check(samples::vector_add(), false);
  check(samples::softmax_rows(640), false);
  check(samples::matmul_tiles({}), true);
  check(samples::matmul_ring({}), true);
  check(samples::matmul_barriers({}), true);
  check(samples::matmul_persistent({}), true);
  check(samples::gemm(), true);
  check(samples::flash_attention(64), true);
}

/// The ladder's matmuls are the same product: the one by hand has the ring's buffers, barriers and counts.
TEST(SampleText, ByHandIsWhatTheRingBecomes) {
  const auto counts = [](const Kernel& kernel) {
    auto module = lower(*kernel.module(), *find_target("sm_90a"));
    EXPECT_TRUE(module.ok()) << to_string(module.error());
    std::map<std::string, int> n;
    walk(module->body, [&](const Op& op) {
      switch (op.code) {
        case OpCode::wait:
        case OpCode::arrive:
        case OpCode::expect:
        case OpCode::copy_load:
        case OpCode::dot:
        case OpCode::dot_wait:
        case OpCode::barrier:
        case OpCode::buffer: ++n[std::string(info(op.code).text)]; break;
        default: break;
      }
    });
    n["shared bytes"] = static_cast<int>(module->attrs.integer("shared_bytes"));
    return n;
  };
  EXPECT_EQ(counts(samples::matmul_barriers({})), counts(samples::matmul_ring({})));
}

}  // namespace
}  // namespace tlxjit
