// tests/unit/runtime/loaded_kernel_test.cpp — parameters and workspaces of a generated kernel's launch.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/nvidia/loaded_kernel_p.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/passes/lower_p.h"
#include "src/runtime/call_plan_p.h"
#include "tests/support/allocations.h"
#include "tests/unit/nvidia/fake_driver.h"
#include "tlxjit/kernels/attention.h"

namespace tlxjit::nvidia {
namespace {

int allocated = 0, filled = 0;
CuDevicePtr last_filled = 0;
bool capturing = false, broken = false;

std::shared_ptr<Driver> driver_with_memory() {
  auto d = fake_driver();
  allocated = filled = 0;
  capturing = broken = false;
  d->cuMemAlloc = [](CuDevicePtr* p, size_t) {
    return *p = 0x100000u * static_cast<unsigned>(++allocated), cu_success + 0;
  };
  d->cuMemFree = [](CuDevicePtr) { return cu_success + 0; };
  d->cuMemsetD8Async = [](CuDevicePtr p, unsigned char, size_t, CuStream) {
    return ++filled, last_filled = p, cu_success + 0;
  };
  d->cuStreamSynchronize = [](CuStream) { return broken ? 719 : cu_success + 0; };
  d->cuStreamIsCapturing = [](CuStream, int* is) { return *is = capturing ? 1 : 0, cu_success + 0; };
  d->cuOccupancyMaxActiveBlocksPerMultiprocessor = [](int* n, CuFunction, int, size_t) {
    return *n = 2, cu_success + 0;
  };
  return d;
}

struct LoadedKernelTest : ::testing::Test {
  // Four maps, two tensors by address (one with a stride), three dims, a float, the workspace.
  static constexpr size_t params_size = 4 * 128 + 16 + 8 + 3 * 4 + 4 + 8;
  std::shared_ptr<Context> context = *Context::open(driver_with_memory());
  tlxjit::Module module =
      lower(*attention(attention_config("sm_90a", {.head = 64, .jagged = true})).module(), *find_target("sm_90a"))
          .value();
  Abi abi = *make_abi(module);
  runtime::CallPlan plan = *runtime::CallPlan::make(module, abi);
  std::unique_ptr<runtime::LoadedKernel> kernel =
      load_kernel(context, std::vector<char>{'x'}, "tlx_attention", abi).value();

  Result<void> launch(int64_t rows, void* stream = nullptr) {
    char* const at = reinterpret_cast<char*>(0x4000000);
    const TensorArg x = tensor<bf16>(at, {rows, 2, 64});
    const Argument arguments[] = {
        x, x, x, x, tensor<float>(at + 0x1000, {2, rows}), tensor<int32_t>(at + 0x2000, {4}), 0.5f};
    runtime::CallFrame frame;
    TLXJIT_TRY(plan.bind(arguments, kernel->programs_at_once(), frame));
    frame.grid = std::max(frame.grid, 1);
    fake_log().expected_param_bytes = params_size;
    return kernel->launch(plan.view(frame), stream);
  }
  template <class T>
  T param(size_t at) const {
    T value;
    std::memcpy(&value, fake_log().params.data() + at, sizeof value);
    return value;
  }
};

TEST_F(LoadedKernelTest, ParametersAreThoseOfTheAbi) {
  EXPECT_EQ(kernel->programs_at_once(), 2 * 132);
  const auto done = launch(1000);
  ASSERT_TRUE(done) << to_string(done.error());
  EXPECT_EQ(fake_log().encoded, 4) << "q, k, v to load and out to store";
  size_t at = 4 * 128;
  EXPECT_EQ(param<uint64_t>(at), 0x4001000u) << "lse";
  EXPECT_EQ(param<int64_t>(at + 8), 1000) << "its row stride";
  EXPECT_EQ(param<uint64_t>(at + 16), 0x4002000u) << "offsets";
  EXPECT_EQ(param<int32_t>(at + 24), 4) << "B+1";
  EXPECT_EQ(param<int32_t>(at + 28), 1000) << "T";
  EXPECT_EQ(param<int32_t>(at + 32), 2) << "H";
  EXPECT_EQ(param<float>(at + 36), 0.5f) << "scale";
  EXPECT_EQ(param<uint64_t>(at + 40), 0x100000u * unsigned(allocated)) << "workspace";
  EXPECT_EQ(params_size, at + 48);
  EXPECT_EQ(fake_log().config.block_x, static_cast<unsigned>(abi.threads));
  // Row blocks: 1000 / 128 + 3 for each of two heads, fewer than the programs that run at once.
  EXPECT_EQ(fake_log().config.grid_x, 20u);
}

TEST_F(LoadedKernelTest, OneWorkspaceAStreamAllocatedOnce) {
  const int before = allocated;
  void* const stream = reinterpret_cast<void*>(0x77);
  ASSERT_TRUE(launch(1000));
  ASSERT_TRUE(launch(1000, stream));
  EXPECT_EQ(allocated, before + 2);
  const uint64_t second = param<uint64_t>(4 * 128 + 40);
  const int allocations = allocations_so_far();
  for (int i = 0; i < 5; ++i) {
    ASSERT_TRUE(launch(1000 + i));
    ASSERT_TRUE(launch(500, stream));
  }
  EXPECT_EQ(allocations_so_far() - allocations, 0) << "the launch path allocates";
  EXPECT_EQ(allocated, before + 2);
  EXPECT_EQ(param<uint64_t>(4 * 128 + 40), second);
}

TEST_F(LoadedKernelTest, ACaptureNeedsAWorkspaceFromBefore) {
  capturing = true;
  const auto refused = launch(1000);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, ::testing::HasSubstr("launch once on this stream before the capture begins"));
  capturing = false;
  ASSERT_TRUE(launch(1000));
  capturing = true;
  EXPECT_TRUE(launch(1000));
}

TEST_F(LoadedKernelTest, AFailedLaunchLeavesAClearWorkspace) {
  ASSERT_TRUE(launch(1000));
  const auto words = param<uint64_t>(4 * 128 + 40);
  const int before = filled;
  fake_log().next = 1;
  EXPECT_FALSE(launch(1000));
  EXPECT_EQ(filled, before + 1);
  EXPECT_EQ(last_filled, words);
  // Nothing can be done while the stream captures, nor once the device has failed.
  capturing = true;
  EXPECT_FALSE(launch(1000));
  capturing = false;
  broken = true;
  EXPECT_FALSE(launch(1000));
  EXPECT_EQ(filled, before + 1);
}

TEST_F(LoadedKernelTest, TensorsWithoutElements) {
  ASSERT_TRUE(launch(0));
  EXPECT_EQ(fake_log().launches, 1);
  EXPECT_THAT(fake_log().dims, ::testing::Each(1u));
}

}  // namespace
}  // namespace tlxjit::nvidia
