// tests/unit/runtime/deadlock_test.cpp — a deadlock on the CPU is told with tasks, barriers and lines.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tests/unit/runtime/engine_fixture.h"

namespace tlxjit::runtime_test {
namespace {

using ::testing::HasSubstr;

/// The drainer reads one slot more than the filler fills.
Kernel uneven(int& wait_line) {
  Kernel k{"uneven"};
  Index n = k.dim("N"), m = k.dim("M");
  Tensor in = k.tensor<bf16>("in", {n, 64});
  Tensor out = k.tensor<float>("out", {m, 64});
  Ring ring = k.ring(2).slot<bf16>("x", {64, 64});
  k.grid(1);
  k.task(Producer).warps(1).body(
      [&] { k.range(n / 64).each([&](Index i) { ring.acquire().load("x", in, {i * 64, 0}); }); });
  k.task(Consumer).warps(4).body([&](Task& t) {
    auto acc = t.accumulator<float>({64, 64});
    k.range(n / 64 + 1).each([&](Index) {
      wait_line = __LINE__ + 1;
      auto slot = ring.wait();
      acc.dot(slot["x"], slot["x"].t());
    });
    out.store({0, 0}, acc.read());
  });
  return k;
}

TEST_F(EngineTest, ADeadlockIsReported) {
  for (const char* as : {"", "sm_90a"}) {
    int line = 0;
    const Executable exe = compile(uneven(line), as);
    alignas(16) static bf16 in[128 * 64];
    alignas(16) static float out[64 * 64];
    const auto result = exe.launch({tensor<bf16>(in, {128, 64}), tensor<float>(out, {64, 64})});
    ASSERT_FALSE(result);
    const Error& error = result.error();
    EXPECT_EQ(error.kind, ErrorKind::user);
    EXPECT_EQ(error.code, ErrorCode::deadlock);
    EXPECT_EQ(error.message,
              "deadlock in `uneven`: all that is left of a program waits; the log lists who waits for what");
    EXPECT_THAT(error.log, HasSubstr("program 0: consumer (replica 0) waits for phase 1 of `ring0.full`, slot 0: 1 "
                                     "arrival missing; "));
    EXPECT_THAT(error.log, HasSubstr("deadlock_test.cpp:" + std::to_string(line)));
    EXPECT_EQ(error.location.line, static_cast<uint32_t>(line));
    // The kernel is as good as before.
    EXPECT_FALSE(exe.launch({tensor<bf16>(in, {128, 64}), tensor<float>(out, {64, 64})}));
  }
}

TEST_F(EngineTest, MoreBytesThanExpectedAreToldAsSuch) {
  Kernel k{"much"};
  const Tensor x = k.tensor<float>("x", {64});
  const SharedBuffer buffer = k.buffer<float>(1, {64});
  const Barrier full = k.barrier(1, 1, "full");
  k.grid(1);
  k.task("t").body([&] {
    full[0].expect(16);
    full[0].load(buffer[0], x, {0});
    full[0].wait(0);
  });
  alignas(16) static float in[64];
  const auto result = compile(k).launch({tensor<float>(in, {64})});
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::deadlock);
  EXPECT_THAT(result.error().log, HasSubstr("waits for phase 0 of `full`, slot 0: 0 arrivals missing, 240 bytes more "
                                            "than expected; "));
}

const char* const crossed_text = R"(tlx 1 lowered cpu
kernel "crossed" [threads = 256, shared_bytes = 64] {
  %0 = const [value = 3] : i32
  grid %0
  %1 = const [value = 0] : i32
  %2 = barrier [count = 1, name = "left", offset = 0] : barrier<1>
  %3 = barrier [count = 2, name = "right", offset = 16] : barrier<1>
  task [name = "a", warps = 4, replicas = 1] {
    wait %2, %1, %1
    arrive %3, %1 [per = "instance"]
  }
  task [name = "b", warps = 4, replicas = 2] {
    wait %3, %1, %1
    arrive %2, %1 [per = "instance"]
  }
}
)";

TEST(Deadlock, OfLoweredTextListsEveryInstance) {
  const Engine engine(options(1));
  const Device device = *engine.device("cpu");
  auto module = parse(crossed_text);
  TLXJIT_MUST(module);
  auto exe = engine.compile(*module, device);
  TLXJIT_MUST(exe);
  const auto result = exe->launch({});
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().log,
            "program 0: a (replica 0) waits for phase 0 of `left`, slot 0: 1 arrival missing; <unknown>\n"
            "program 0: b (replica 0) waits for phase 0 of `right`, slot 0: 2 arrivals missing; <unknown>\n"
            "program 0: b (replica 1) waits for phase 0 of `right`, slot 0: 2 arrivals missing; <unknown>");
}

/// Barriers made by hand are told by their names, slots and phases.
TEST_F(EngineTest, ADeadlockByHandIsReported) {
  Kernel k{"by_hand"};
  auto ready = k.barrier(3, 2, "ready"), nameless = k.barrier(1, 1);
  auto met = k.named_barrier(3, "met");
  k.grid(1);
  int line = 0;
  k.task("first").warps(1).body([&](Task&) {
    auto c = k.cursor(3);
    k.range(4).each([&] { c.next(); });
    ready[c.slot].expect(64);
    line = __LINE__ + 1;
    ready[c.slot].wait(c.phase ^ 1);
  });
  k.task("second").warps(1).body([&](Task&) { nameless[0].wait(0); });
  k.task("third").warps(1).replicas(2).body([&](Task&) { met.wait(); });
  const Executable exe = compile(k);
  const auto result = exe.launch({});
  ASSERT_FALSE(result);
  const std::string& log = result.error().log;
  EXPECT_THAT(log,
              HasSubstr("program 0: first (replica 0) waits for phase 0 of `ready`, slot 1: 1 arrival and 64 bytes "
                        "missing; "));
  EXPECT_THAT(log, HasSubstr("deadlock_test.cpp:" + std::to_string(line)));
  EXPECT_THAT(log, HasSubstr("second (replica 0) waits for phase 0 of `barrier1`, slot 0: 1 arrival missing; "));
  EXPECT_THAT(log, HasSubstr("third (replica 1) waits for phase 0 of `met`, slot 0: 1 arrival missing; "));
}

}  // namespace
}  // namespace tlxjit::runtime_test
