// tests/unit/runtime/loaded_kernel_test.cpp — parameters and workspaces of a generated kernel's launch.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/nvidia/loaded_kernel_p.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <functional>
#include <future>
#include <set>
#include <thread>
#include <utility>

#include "backends/nvidia/emit/emit_p.h"
#include "backends/nvidia/workspaces_p.h"
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
int waits = 0;  // for the device
std::function<void()> during_wait;
int spoilt = 0;  // captures that other threads have begun
thread_local int capture_mode = cu_capture_mode_global;

CuResult memory_call() { return spoilt += capture_mode != cu_capture_mode_relaxed, cu_success + 0; }

std::shared_ptr<Driver> driver_with_memory() {
  auto d = fake_driver();
  allocated = filled = waits = spoilt = 0;
  capturing = broken = false;
  d->cuThreadExchangeStreamCaptureMode = [](int* mode) { return std::swap(*mode, capture_mode), cu_success + 0; };
  d->cuCtxSynchronize = [] {
    if (during_wait) std::exchange(during_wait, nullptr)();
    return ++waits, cu_success + 0;
  };
  d->cuMemAlloc = [](CuDevicePtr* p, size_t) {
    return *p = 0x100000u * static_cast<unsigned>(++allocated), memory_call();
  };
  d->cuMemFree = [](CuDevicePtr) { return memory_call(); };
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
  std::shared_ptr<CapturedCode> captured = std::make_shared<CapturedCode>();
  std::unique_ptr<runtime::LoadedKernel> kernel =
      load_kernel(context, std::vector<char>{'x'}, "tlx_attention", abi, captured).value();

  Result<void> launch(int64_t rows, void* stream = nullptr) {
    char* const at = reinterpret_cast<char*>(0x4000000);
    const TensorArg x = tensor<bf16>(at, {rows, 2, 64});
    const Argument arguments[] = {
        x, x, x, x, tensor<float>(at + 0x1000, {2, rows}), tensor<int32_t>(at + 0x2000, {4}), 0.5f};
    runtime::CallFrame frame;
    TLXJIT_TRY(plan.bind(arguments, {kernel->programs_at_once()}, frame));
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

TEST_F(LoadedKernelTest, BL_226_ACaptureNeedsAWorkspaceFromBefore) {
  capturing = true;
  const auto refused = launch(1000);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, ::testing::HasSubstr("launch once on this stream before the capture begins"));
  EXPECT_FALSE(kernel->captured()) << "no graph has it";
  capturing = false;
  ASSERT_TRUE(launch(1000));
  capturing = true;
  EXPECT_TRUE(launch(1000));
}

// What a graph keeps of jagged attention is made of T and B: the offsets stand where the host cannot read them.
TEST_F(LoadedKernelTest, BL_227_TheGridOfACaptureIsEnoughForAllLengths) {
  constexpr int64_t rows = 1000, heads = 2, tile = 128;
  ASSERT_TRUE(launch(rows));
  capturing = true;
  ASSERT_TRUE(launch(rows));
  const auto tiles = [](int64_t length) { return (length + tile - 1) / tile; };
  int64_t most = 0;
  for (int64_t a = 0; a <= rows; ++a)
    for (int64_t b = 0; a + b <= rows; ++b) most = std::max(most, tiles(a) + tiles(b) + tiles(rows - a - b));
  EXPECT_EQ(fake_log().config.grid_x, heads * most);
  EXPECT_LT(fake_log().config.grid_x, static_cast<unsigned>(kernel->programs_at_once()));
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

TEST_F(LoadedKernelTest, BL_222_ALaunchIsOnItsDeviceAndLeavesTheCurrentOne) {
  const auto other = reinterpret_cast<CuContext>(0x9999);
  fake_log().stack = {other};
  for (int i = 0; i < 2; ++i) {  // the first has a workspace to allocate
    ASSERT_TRUE(launch(1000));
    EXPECT_EQ(fake_log().at_launch, fake_context);
    EXPECT_EQ(fake_log().stack, std::vector<CuContext>{other});
  }
  fake_log().next = 1;
  EXPECT_FALSE(launch(1000));
  EXPECT_EQ(fake_log().stack, std::vector<CuContext>{other}) << "after a failure, too";
}

TEST_F(LoadedKernelTest, MemoryIsHadBesideTheCapturesOfOtherThreads) {
  ASSERT_TRUE(launch(1000));
  ASSERT_TRUE(launch(1000, reinterpret_cast<void*>(0x77)));
  kernel.reset();
  EXPECT_EQ(spoilt, 0);
}

TEST_F(LoadedKernelTest, WhatAGraphWasCapturedOfStays) {
  ASSERT_TRUE(launch(1000));
  kernel.reset();
  EXPECT_EQ(fake_log().unloaded, 1) << "no graph has it";
  kernel = load_kernel(context, std::vector<char>{'x'}, "tlx_attention", abi, captured).value();
  ASSERT_TRUE(launch(1000));
  EXPECT_FALSE(kernel->captured());
  capturing = true;
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(launch(1000));
  EXPECT_TRUE(kernel->captured());
  EXPECT_EQ(captured->alone(), 0u) << "the kernel has it, too";
  kernel.reset();
  EXPECT_EQ(captured->alone(), 1u);
  EXPECT_EQ(fake_log().unloaded, 1);
  captured->release();
  EXPECT_EQ(captured->alone(), 0u);
  EXPECT_EQ(fake_log().unloaded, 2);
}

TEST_F(LoadedKernelTest, WhatIsReleasedGoesWithItsKernel) {
  capturing = false;
  ASSERT_TRUE(launch(1000));
  capturing = true;
  ASSERT_TRUE(launch(1000));
  captured->release();
  EXPECT_FALSE(kernel->captured());
  EXPECT_EQ(fake_log().unloaded, 0) << "the kernel is there";
  kernel.reset();
  EXPECT_EQ(fake_log().unloaded, 1);
}

// A thread that launches and ends while the device is waited for: its launch is behind the wait.
TEST_F(LoadedKernelTest, AThreadThatEndsBehindTheWaitWasNotWaitedFor) {
  void* const per_thread = reinterpret_cast<void*>(2);
  const auto words_of_a_launch = [&] {
    EXPECT_TRUE(launch(1000, per_thread));
    return param<uint64_t>(4 * 128 + 40);
  };
  uint64_t late = 0;
  std::promise<void> begun, go_on;
  std::thread last([&] {
    late = words_of_a_launch();
    begun.set_value();
    go_on.get_future().wait();
    EXPECT_EQ(words_of_a_launch(), late);
  });
  begun.get_future().wait();
  const auto in_thread = [&] {
    uint64_t words = 0;
    std::thread([&] { words = words_of_a_launch(); }).join();
    return words;
  };
  for (int i = 0; i < Workspaces::most_ended; ++i) in_thread();
  during_wait = [&] {
    go_on.set_value();
    last.join();
  };
  for (int i = 0; i < Workspaces::most_ended; ++i) EXPECT_NE(in_thread(), late);
  EXPECT_EQ(waits, 1);
}

// The addresses of thread-local objects come again once a thread has ended, and its work may not have.
TEST_F(LoadedKernelTest, AThreadsStreamHasAWorkspaceThatNoOtherThreadsWorkIsAt) {
  void* const per_thread = reinterpret_cast<void*>(2);
  std::set<uint64_t> used;
  const auto in_thread = [&](bool capture) {
    uint64_t words = 0;
    std::thread([&] {
      EXPECT_TRUE(launch(1000, per_thread));
      words = param<uint64_t>(4 * 128 + 40);
      capturing = capture;
      EXPECT_TRUE(launch(1000, per_thread));
      capturing = false;
      EXPECT_EQ(param<uint64_t>(4 * 128 + 40), words) << "the thread's own";
    }).join();
    return words;
  };
  const uint64_t of_a_graph = in_thread(true);
  for (int i = 0; i < Workspaces::most_ended; ++i)
    EXPECT_TRUE(used.insert(in_thread(false)).second) << "the thread before has ended, and its work may not have";
  EXPECT_EQ(waits, 0);
  const int before = allocated;
  for (int i = 0; i < 10 * Workspaces::most_ended; ++i) {
    const uint64_t words = in_thread(false);
    EXPECT_TRUE(used.contains(words));
    EXPECT_NE(words, of_a_graph);
  }
  EXPECT_EQ(allocated, before) << "few are kept";
  EXPECT_EQ(waits, 10);
  EXPECT_EQ(spoilt, 0);
}

TEST_F(LoadedKernelTest, BL_237_ARefusedKernelIsToldWithItsCompiler) {
  fake_log().next = cu_unsupported_ptx_version;
  const auto refused = load_kernel(context, std::vector<char>{'x'}, "tlx_attention", abi, captured, "NVRTC 13.0");
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, ::testing::EndsWith("(the driver supports CUDA 12.4; compiled by NVRTC 13.0)"));
}

TEST_F(LoadedKernelTest, TensorsWithoutElements) {
  ASSERT_TRUE(launch(0));
  EXPECT_EQ(fake_log().launches, 1);
  EXPECT_THAT(fake_log().dims, ::testing::Each(1u));
}

// Bytes as in a struct of the parameters that the source declares.
TEST(LoadedKernel, BL_115_ScalarsOfEachTypeAreWhereTheSourceDeclaresThem) {
  Kernel k{"scalars"};
  const Index n = k.dim("N");
  const Elem elems[] = {Elem::f32, Elem::f64, Elem::bf16, Elem::f16, Elem::b1, Elem::i8};
  const Tensor out = k.tensor<float>("out", {n});
  std::vector<Scalar> x;
  for (size_t i = 0; i < std::size(elems); ++i) x.push_back(k.scalar(elems[i], "x" + std::to_string(i)));
  k.grid(1);
  k.task("main").body([&](Task& t) { out.store({0}, maximum(t.full<float>({64, 8}, x[0]), 1)); });
  const auto portable = k.module();
  ASSERT_TRUE(portable) << to_string(portable.error());
  const auto module = lower(*portable, *find_target("sm_90a"));
  ASSERT_TRUE(module) << to_string(module.error());
  const auto emitted = emit_cuda(*module);
  ASSERT_TRUE(emitted) << to_string(emitted.error());
  EXPECT_THAT(
      emitted->source,
      ::testing::HasSubstr(
          ", i32 d_N, f32 s_x0, double s_x1, unsigned short s_x2, unsigned short s_x3, bool s_x4, signed char s_x5)"));
  const Abi abi = *make_abi(*module);
  const runtime::CallPlan plan = *runtime::CallPlan::make(*module, abi);
  const auto kernel = load_kernel(*Context::open(driver_with_memory()), std::vector<char>{'x'}, emitted->entry, abi,
                                  std::make_shared<CapturedCode>());
  ASSERT_TRUE(kernel) << to_string(kernel.error());
  char* const at = reinterpret_cast<char*>(0x4000000);
  const Argument arguments[] = {tensor<float>(at, {1}), 0.125f, 1.0 / 3, bf16(1.5f), f16(2.0f), true, int8_t{-113}};
  runtime::CallFrame frame;
  const auto bound = plan.bind(arguments, {1}, frame);
  ASSERT_TRUE(bound) << to_string(bound.error());
  struct Declared {
    uint64_t out;
    int32_t n;
    float x0;
    double x1;
    uint16_t x2, x3;
    bool x4;
    int8_t x5;
  } seen;
  fake_log().expected_param_bytes = sizeof seen;
  const auto done = (*kernel)->launch(plan.view(frame), nullptr);
  ASSERT_TRUE(done) << to_string(done.error());
  std::memcpy(&seen, fake_log().params.data(), sizeof seen);
  EXPECT_EQ(seen.out, 0x4000000u);
  EXPECT_EQ(seen.n, 1);
  EXPECT_EQ(seen.x0, 0.125f);
  EXPECT_EQ(seen.x1, 1.0 / 3);
  EXPECT_EQ(seen.x2, bf16(1.5f).bits);
  EXPECT_EQ(seen.x3, f16(2.0f).bits);
  EXPECT_EQ(fake_log().params[offsetof(Declared, x4)], 1);
  EXPECT_EQ(seen.x5, -113);
}

}  // namespace
}  // namespace tlxjit::nvidia
