// tests/unit/passes/allocate_shared_test.cpp — where buffers begin in shared memory.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <gtest/gtest.h>

#include "tests/unit/passes/lowering.h"

namespace tlxjit {
namespace {

// A tensor map's copy wants its address in shared memory on a multiple of 128 bytes.
TEST(AllocateShared, BuffersThatCopiesReachAreAligned) {
  Kernel k{"k"};
  const Index n = k.dim("N");
  const Tensor x = k.tensor<int32_t>("x", {n});
  auto first = k.buffer<int32_t>(1, {4}), words = k.buffer<int32_t>(1, {32}), last = k.buffer<int32_t>(1, {4});
  auto full = k.barrier(1, 1);
  k.grid(n);
  k.task("t").warps(1).body([&] {
    first.put(0, 0, 1);
    last.put(0, 0, 1);
    full[0].expect(words.bytes());
    full[0].load(words[0], x, {0});
    full[0].wait(0);
  });
  auto module = lowered(k, "sm_90a");
  ASSERT_TRUE(module) << to_string(module.error());
  std::vector<int64_t> offsets;
  for (const auto& op : module->body.ops)
    if (op->code == OpCode::buffer) offsets.push_back(op->attrs.integer("offset"));
  EXPECT_EQ(offsets, (std::vector<int64_t>{0, 128, 256}));
}

}  // namespace
}  // namespace tlxjit
