// tests/unit/cpu/sync_test.cpp — barriers, slots, phases, the workspace, deadlocks.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <atomic>
#include <thread>

#include "tests/unit/cpu/plugin_p.h"
#include "tlxjit/ir/text.h"

namespace cpu_test {
namespace {

// Tiles from a counter go through a ring of two slots to two consumer instances; each tile t < total is written
// once per consumer as out[consumer][t] = 3·t + consumer. The last program clears the counters.
const char* const dynamic_text = R"(tlx 1 lowered cpu
kernel "dynamic" [threads = 384, shared_bytes = 256] {
  %total = dim [name = "N"] : i32
  %two = const [value = 2] : i32
  %out = tensor %two, %total [name = "out"] : tensor<2xi32>
  %zero = const [value = 0] : i32
  %one = const [value = 1] : i32
  %three = const [value = 3] : i32
  %minus = const [value = -1] : i32
  %sms = sms : i32
  grid %sms
  %ring = buffer [swizzle = 0, offset = 0] : buffer<2, 1xi32>
  %full = barrier [count = 1, name = "ring.full", offset = 128] : barrier<2>
  %empty = barrier [count = 8, name = "ring.empty", offset = 144] : barrier<2>
  workspace [words = 2]
  task [name = "producer", warps = 1, replicas = 1, registers = 0] {
    %slot = var %zero : var<i32>
    %phase = var %zero : var<i32>
    %yes = const [value = 1] : b1
    %more = var %yes : var<b1>
    while {
      %go = get %more : b1
      yield %go
    } {
      %t = workspace.add %one [word = 0] : i32
      %in = cmp %t, %total [pred = "lt"] : b1
      %s = get %slot : i32
      %p = get %phase : i32
      %q = xor %p, %one : i32
      wait %empty, %s, %q
      %v = select %in, %t, %minus : i32
      buffer.put %ring, %s, %zero, %v
      arrive %full, %s [per = "instance"]
      %s1 = add %s, %one : i32
      %wrap = cmp %s1, %two [pred = "eq"] : b1
      %s2 = select %wrap, %zero, %s1 : i32
      set %slot, %s2
      %w = cast %wrap : i32
      %p1 = xor %p, %w : i32
      set %phase, %p1
      set %more, %in
    }
    %programs = num_programs : i32
    %last = sub %programs, %one : i32
    %done = workspace.add %one [word = 1] : i32
    %final = cmp %done, %last [pred = "eq"] : b1
    if %final {
      workspace.set %zero [word = 0]
      workspace.set %zero [word = 1]
    } {
    }
  }
  task [name = "consumer", warps = 4, replicas = 2, registers = 0] {
    %slot2 = var %zero : var<i32>
    %phase2 = var %zero : var<i32>
    %me = replica : i32
    %yes2 = const [value = 1] : b1
    %more2 = var %yes2 : var<b1>
    while {
      %go2 = get %more2 : b1
      yield %go2
    } {
      %cs = get %slot2 : i32
      %cp = get %phase2 : i32
      wait %full, %cs, %cp
      %ct = buffer.get %ring, %cs, %zero : i32
      arrive %empty, %cs [per = "warp"]
      %some = cmp %ct, %zero [pred = "ge"] : b1
      if %some {
        %v3 = mul %ct, %three : i32
        %v4 = add %v3, %me : i32
        %tile = splat %v4 : tile<1xi32>
        tile.store %out, %tile, %me, %ct [box = <1, 1>, ragged = -1]
      } {
      }
      %cs1 = add %cs, %one : i32
      %cwrap = cmp %cs1, %two [pred = "eq"] : b1
      %cs2 = select %cwrap, %zero, %cs1 : i32
      set %slot2, %cs2
      %cw = cast %cwrap : i32
      %cp1 = xor %cp, %cw : i32
      set %phase2, %cp1
      set %more2, %some
    }
  }
}
)";

TEST(Sync, DynamicCounterThroughARing) {
  Kernel kernel(numbered(dynamic_text));
  ASSERT_COMPILED(kernel);
  std::vector<int32_t> workspace(2, 0);
  for (int32_t total : {0, 1, 2, 3, 100, 1001})
    for (int32_t grid : {1, 2, 7}) {
      Tensor<int32_t> out({2, total});
      Launch launch;
      launch.dims = {total};
      launch.tensors = {out};
      launch.workspace = workspace.data();
      launch.grid = grid;
      ASSERT_EQ(kernel.launch(launch), TLXJIT_CPU_OK) << kernel.failure.message;
      for (int c = 0; c < 2; ++c)
        for (int t = 0; t < total; ++t) ASSERT_EQ(out.data[size_t(c * total + t)], 3 * t + c);
      EXPECT_EQ(workspace, (std::vector<int32_t>{0, 0}));
    }
}

TEST(Sync, LaunchesFromManyThreads) {
  Kernel kernel(numbered(dynamic_text));
  ASSERT_COMPILED(kernel);
  std::vector<std::thread> threads;
  std::atomic<int> wrong = 0;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      for (int round = 0; round < 20; ++round) {
        std::vector<int32_t> workspace(2, 0);
        Tensor<int32_t> out({2, 37});
        const int32_t dims[] = {37};
        const tlxjit_cpu_tensor tensors[] = {out};
        const tlxjit_cpu_launch launch{dims, tensors, nullptr, workspace.data(), 3, 2};
        Kernel* k = &kernel;
        tlxjit_cpu_failure failure{};
        wrong += k->launch_raw(launch, failure) != TLXJIT_CPU_OK;
        for (int t = 0; t < 37; ++t) wrong += out.data[size_t(t)] != 3 * t;
      }
    });
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(wrong, 0);
}

// Arrives only where the scalar is not 0; otherwise the consumer waits for the producer and the producer, who
// has gone round the two slots, for the consumer.
const char* const arrive_text = R"(tlx 1 lowered cpu
kernel "stuck" [threads = 160, shared_bytes = 32] {
  %zero = const [value = 0] : i32
  %one = const [value = 1] : i32
  %arrives = scalar [name = "arrives"] : i32
  %programs = const [value = 2] : i32
  grid %programs
  %full = barrier [count = 3, name = "full", offset = 0] : barrier<2>
  %empty = barrier [count = 1, name = "empty", offset = 16] : barrier<2>
  workspace [words = 1]
  task [name = "producer", warps = 1, replicas = 1, registers = 0] {
    %w = workspace.add %one [word = 0] : i32
    arrive %full, %one [per = "instance"]
    %some = cmp %arrives, %zero [pred = "ne"] : b1
    if %some {
      arrive %full, %one [per = "instance"]
      arrive %full, %one [per = "instance"]
    } {
    }
    wait %empty, %zero, %zero
    %minus = const [value = -1] : i32
    %v = workspace.add %minus [word = 0] : i32
  }
  task [name = "consumer", warps = 4, replicas = 1, registers = 0] {
    wait %full, %one, %zero
    arrive %empty, %zero [per = "instance"]
  }
}
)";

TEST(Sync, DeadlockNamesEveryTask) {
  const std::string text = numbered(arrive_text);
  Kernel kernel(text);
  ASSERT_COMPILED(kernel);
  auto module = tlxjit::parse(text);
  ASSERT_TRUE(module.ok());
  const auto ops = tlxjit::numbered_ops(*module);
  int32_t word = 0;
  Launch launch;
  launch.workspace = &word;
  launch.grid = 2;
  for (int round = 0; round < 3; ++round) {
    launch.scalars = {0};
    launch.threads = 1 + round % 2;
    ASSERT_EQ(kernel.launch(launch), TLXJIT_CPU_DEADLOCK);
    const tlxjit_cpu_failure& f = kernel.failure;
    EXPECT_EQ(word, 0) << "the workspace is zero again";
    ASSERT_GE(f.blocked_count, 2u);
    ASSERT_LE(f.blocked_count, 4u) << "two tasks of two programs";
    const tlxjit_cpu_blocked& p = f.blocked[0];
    const tlxjit_cpu_blocked& c = f.blocked[1];
    EXPECT_EQ(ops[p.task_op]->attrs.text("name"), "producer");
    EXPECT_EQ(ops[p.barrier_op]->attrs.text("name"), "empty");
    EXPECT_EQ(ops[p.wait_op]->code, tlxjit::OpCode::wait);
    EXPECT_EQ(p.slot, 0);
    EXPECT_EQ(p.arrivals, 1);
    EXPECT_EQ(ops[c.task_op]->attrs.text("name"), "consumer");
    EXPECT_EQ(ops[c.barrier_op]->attrs.text("name"), "full");
    EXPECT_EQ(ops[c.wait_op]->code, tlxjit::OpCode::wait);
    EXPECT_NE(c.wait_op, p.wait_op);
    EXPECT_EQ(c.slot, 1);
    EXPECT_EQ(c.phase, 0);
    EXPECT_EQ(c.arrivals, 2);
    EXPECT_EQ(c.bytes, 0);
    launch.scalars = {1};
    ASSERT_EQ(kernel.launch(launch), TLXJIT_CPU_OK) << "a later launch works";
  }
}

}  // namespace
}  // namespace cpu_test
