// tests/unit/runtime/forked_gpu_test.cpp — a child of a process that used a GPU. The driver is one that runs nothing.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tests/unit/nvidia/nvrtc_fixture.h"
#include "tests/unit/runtime/child.h"
#include "tests/unit/runtime/kept_on_disk.h"

namespace tlxjit::runtime_test {
namespace {

/// Writes ones, with a task of the GPU's form.
Kernel ones() {
  Kernel k{"ones"};
  const Tensor x = k.tensor<float>("x", {k.dim("N")});
  k.grid(1);
  k.task("main").body([&](Task& t) { x.store({0}, maximum(t.full<float>({64, 8}, 1.f), 1)); });
  return k;
}

TEST(ForkedGpu, BL_232_TheCpuWorksInTheChildAndTheGpuSaysWhyItDoesNot) {
  if (nvidia::promised_nvrtc().empty()) GTEST_SKIP() << "NOT RUN: no TLXJIT_NVRTC_DIR";
  EngineOptions o = options();
  o.libcuda = TLXJIT_QUIET_LIBCUDA;
  o.nvrtc_directories = {nvidia::promised_nvrtc()};
  const Engine engine(o);
  const auto gpu = engine.device("cuda:0"), cpu = engine.device("cpu");
  TLXJIT_MUST(gpu);
  TLXJIT_MUST(cpu);
  const auto on_gpu = engine.compile(ones(), *gpu), on_cpu = engine.compile(numbers(1), *cpu);
  TLXJIT_MUST(on_gpu);
  TLXJIT_MUST(on_cpu);
  const auto memory = gpu->allocate(64 * sizeof(float));
  TLXJIT_MUST(memory);
  const auto launch = [&] { return on_gpu->launch({memory->tensor<float>({64})}); };
  TLXJIT_MUST(launch());
  EXPECT_TRUE(right(*on_cpu, 1));
  EXPECT_TRUE(in_child([&] {
    const auto forked = [](const auto& result) { return !result && result.error().code == ErrorCode::forked; };
    const auto fresh = engine.compile(numbers(2), *cpu);
    if (!right(*on_cpu, 1) || !fresh || !right(*fresh, 2)) return false;
    if (!forked(launch()) || !forked(engine.device("cuda:0")) || !forked(gpu->allocate(16))) return false;
    return forked(gpu->synchronize()) && right(*on_cpu, 1);
  }));
  TLXJIT_MUST(launch());
}

}  // namespace
}  // namespace tlxjit::runtime_test
