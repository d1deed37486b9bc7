// tests/unit/codegen/by_hand_emit_test.cpp — kernels by hand as CUDA C++: what is emitted, what is refused by its line.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <gmock/gmock.h>

#include "backends/nvidia/emit/emit_p.h"
#include "samples/common/kernels.h"
#include "src/passes/lower_p.h"

using namespace tlxjit;
using nvidia::emit_cuda;
using testing::HasSubstr;

namespace {

Result<std::string> source_of(const Kernel& kernel) {
  auto module = kernel.module();
  if (!module) return module.error();
  auto lowered = lower(*module, *find_target("sm_90a"));
  if (!lowered) return lowered.error();
  auto emitted = emit_cuda(*lowered);
  if (!emitted) return emitted.error();
  return emitted->source;
}

TEST(ByHandEmit, BuffersBarriersAndCopies) {
  auto source = source_of(samples::matmul_barriers({}));
  ASSERT_TRUE(source.ok()) << to_string(source.error());
  for (const char* part : {"mbar_wait", "mbar_expect", "mbar_arrive", "tma_load_2d", "wgmma"})
    EXPECT_THAT(*source, HasSubstr(part));
  for (const Kernel& kernel : {samples::matmul_tiles({}), samples::matmul_ring({}), samples::flash_attention(64)})
    EXPECT_TRUE(source_of(kernel).ok()) << kernel.name();
}

TEST(ByHandEmit, WhatTheBackEndLacksIsRefusedByItsLine) {
  struct Fixture {
    Kernel k{"k"};
    Index n = k.dim("N");
    Tensor x = k.tensor<bf16>("x", {n, n});
    SharedBuffer buf = k.buffer<bf16>(2, {64, 64});
    NamedBarrier met = k.named_barrier(2);
  };
  using Body = std::function<uint32_t(Fixture&, Accumulator&)>;
  const std::pair<const char*, Body> cases[] = {
      {"barrier.sync: sm_90a has no meetings; targets that have it: cpu",
       [](Fixture& f, Accumulator&) -> uint32_t { return f.met.wait(), __LINE__; }},
      {"copy.lanes: sm_90a has no lane_copies; targets that have it: cpu",
       [](Fixture& f, Accumulator&) -> uint32_t { return f.buf[0].copy_lanes(f.x, {0, 0}), __LINE__; }},
      {"copy.commit: sm_90a has no lane_copies; targets that have it: cpu",
       [](Fixture& f, Accumulator&) -> uint32_t { return f.k.lanes_commit(), __LINE__; }},
      {"copy.wait: sm_90a has no lane_copies; targets that have it: cpu",
       [](Fixture& f, Accumulator&) -> uint32_t { return f.k.lanes_wait(), __LINE__; }},
      {"copy.prefetch: sm_90a has no prefetch; targets that have it: cpu",
       [](Fixture& f, Accumulator&) -> uint32_t { return f.x.prefetch({0, 0}, {64, 64}), __LINE__; }},
      {"copy.store: a store that reduces is not supported by the NVIDIA back end",
       [](Fixture& f, Accumulator&) -> uint32_t { return f.buf[0].copy_to(f.x, {0, 0}, Reduce::add), __LINE__; }},
      {"fence: a fence of this scope is not supported by the NVIDIA back end",
       [](Fixture& f, Accumulator&) -> uint32_t { return f.k.fence(Fence::gpu), __LINE__; }},
      {"view.load: sm_90a has no view_access; targets that have it: cpu",
       [](Fixture& f, Accumulator& acc) -> uint32_t {
         Tile x = f.buf[0].load();
         acc.update([&](Tile) { return x.to<float>(); });
         return __LINE__ - 2;
       }},
      {"view.slice: sm_90a has no view_access; targets that have it: cpu",
       [](Fixture& f, Accumulator& acc) -> uint32_t {
         View a = f.buf[0].slice({0, 0}, {64, 32});
         acc.dot(a, a.t());
         return __LINE__ - 2;
       }},
      {"view.store: sm_90a has no view_access; targets that have it: cpu",
       [](Fixture& f, Accumulator& acc) -> uint32_t {
         acc.dot(f.buf[0], f.buf[0].t());
         f.buf[0].part(0, 64).store(acc.read().to<bf16>());
         return __LINE__ - 1;
       }},
  };
  for (const auto& [message, body] : cases) {
    Fixture f;
    uint32_t line = 0;
    f.k.grid(f.n);
    f.k.task("t").warps(4).body([&](Task& t) {
      auto acc = t.accumulator<float>({64, 64});
      line = body(f, acc);
    });
    auto source = source_of(f.k);
    ASSERT_FALSE(source.ok()) << message;
    EXPECT_EQ(source.error().message, message);
    EXPECT_EQ(source.error().location.line, line) << message;
  }
}

}  // namespace
