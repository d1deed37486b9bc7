// tests/unit/passes/refusals_test.cpp — what a target has not is refused at the user's line, with the way out.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tests/unit/passes/lowering.h"
#include "tlxjit/kernels/gemm.h"

namespace tlxjit {
namespace {

TEST(Refusals, RefusalsNameTheWayOut) {
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

/// Warp groups of producers and consumers that ask for registers; what lowering says.
std::string with_registers(int producers, int producer_registers, int consumers, int consumer_registers) {
  Kernel k{"k"};
  k.grid(1);
  for (int i = 0; i < producers; ++i)
    k.task("producer" + std::to_string(i)).warps(4).registers(producer_registers).body([] {});
  for (int i = 0; i < consumers; ++i)
    k.task("consumer" + std::to_string(i)).warps(4).registers(consumer_registers).body([] {});
  auto module = lowered(k, "sm_90a");
  return module ? "accepted" : module.error().message;
}

TEST(Refusals, BL_143_RegistersThatAProgramHasNot) {
  EXPECT_EQ(with_registers(2, 24, 2, 240),
            "the tasks ask for 67584 registers together; a program of 512 threads has 65536: lower registers()");
  EXPECT_EQ(with_registers(1, 24, 3, 240),
            "the tasks ask for 95232 registers together; a program of 512 threads has 65536: lower registers()");
  EXPECT_EQ(with_registers(1, 24, 2, 240), "accepted") << "64512 of 64512";
}

TEST(Refusals, HelperTasksOfFewRegistersAreAccepted) {
  for (int registers : {24, 40, 48, 64}) EXPECT_EQ(with_registers(1, registers, 1, 128), "accepted") << registers;
}

TEST(Refusals, AFieldOfOneAxisIsForTheCpu) {
  Kernel k{"k"};
  const Index n = k.dim("N");
  const Tensor x = k.tensor<float>("x", {n});
  Ring ring = k.ring(2).slot<float>("a", {64});
  k.grid(n);
  k.task("producer").warps(1).body([&] { ring.acquire().load("a", x, {0}); });
  k.task("consumer").body([&] { (void)ring.wait()["a"].load(); });
  EXPECT_EQ(refusal(k, "cpu"), "accepted");
  EXPECT_EQ(refusal(k), "ring: field 'a' has rank 1; sm_90a wants 2");
}

/// Runs `build`, which returns a line; lowering must refuse the kernel there.
void expect_refused(const std::string& message, const std::function<uint32_t(Kernel&)>& build,
                    const char* target = "sm_90a") {
  Kernel k{"k"};
  const uint32_t line = build(k);
  auto module = lowered(k, target);
  ASSERT_FALSE(module) << message;
  EXPECT_EQ(module.error().message, message);
  EXPECT_EQ(module.error().stage, Stage::lower);
  EXPECT_EQ(module.error().location.line, line) << message;
  EXPECT_NE(module.error().location.file.find("refusals_test.cpp"), std::string::npos) << message;
}

/// Builds a kernel whose producer fills a slot of a ring from a tensor by `load`, which returns its line.
auto filled_by(const std::vector<int>& extents, const std::function<uint32_t(const Tensor&, const Slot&)>& load) {
  return [extents, load](Kernel& k) {
    const Tensor x = extents.size() == 2 ? k.tensor<bf16>("x", {extents[0], extents[1]})
                                         : k.tensor<bf16>("x", {extents[0], extents[1], extents[2], extents[3]});
    uint32_t line = 0;
    Ring ring = k.ring(2).slot<bf16>("a", {64, 64});
    k.grid(1);
    k.task("producer").warps(1).body([&] { line = load(x, ring.acquire()); });
    k.task("consumer").body([&] { (void)ring.wait()["a"].load(); });
    return line;
  };
}

TEST(Refusals, WindowsThatNoCopyHas) {
  expect_refused("load_field: a window of a tensor of rank 4 cannot fill a slot; rank 3 at most",
                 filled_by({4, 4, 64, 64}, [](const Tensor& x, const Slot& slot) -> uint32_t {
                   slot.load("a", x.window(2, 0, 8).at(0, 0).at(0, 0), {0, 0});
                   return __LINE__ - 1;
                 }));
}

TEST(Refusals, ARingsFieldThatOneCopyCannotFill) {
  expect_refused("ring: field 'a' has 320 rows, and one copy fills at most 256: make two fields of it",
                 [](Kernel& k) -> uint32_t {
                   const Tensor x = k.tensor<bf16>("x", {320, 64});
                   Ring ring = k.ring(2).slot<bf16>("a", {320, 64});
                   k.grid(1);
                   k.task("producer").warps(1).body([&] { ring.acquire().load("a", x, {0, 0}); });
                   k.task("consumer").body([&] { (void)ring.wait()["a"].load(); });
                   return __LINE__ - 4;
                 });
}

TEST(Refusals, WarpsThatAProgramHasNot) {
  const auto tasks = [](int number, int warps, int replicas, const std::function<void(Kernel&, Task&)>& body) {
    return [=](Kernel& k) -> uint32_t {
      k.grid(1);
      uint32_t line = 0;
      for (int i = 0; i < number; ++i) {
        k.task("t" + std::to_string(i)).warps(warps).replicas(replicas).body([&](Task& t) { body(k, t); });
        line = __LINE__ - 1;
      }
      return line;
    };
  };
  const auto nothing = [](Kernel&, Task&) {};
  expect_refused("the task has 40 warps, and a program at most 32: use fewer replicas() or warps()",
                 tasks(1, 8, 5, nothing));
  expect_refused("the tasks up to this one have 40 warps, in groups of four, and a program at most 32: use fewer",
                 tasks(5, 8, 1, nothing));
  expect_refused("16 instances sync their warps, and a program has barriers for 15: use fewer replicas()",
                 tasks(1, 2, 16, [](Kernel&, Task& t) { t.sync(); }));
}

TEST(Refusals, DotsOfTwoWarps) {
  expect_refused("an instance with dots has a multiple of 4 warps on this target, not 2: use warps(4)",
                 [](Kernel& k) -> uint32_t {
                   auto buf = k.buffer<bf16>(1, {64, 64});
                   k.grid(1);
                   k.task("t").warps(2).body([&](Task& t) { t.accumulator<float>({64, 64}).dot(buf[0], buf[0].t()); });
                   return __LINE__ - 1;
                 });
}

}  // namespace
}  // namespace tlxjit
