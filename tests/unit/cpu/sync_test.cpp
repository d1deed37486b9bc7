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
        const tlxjit_cpu_launch launch{dims, tensors, nullptr, workspace.data(), 3, 2, nullptr, nullptr};
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
    EXPECT_EQ(ops[p.object_op]->attrs.text("name"), "empty");
    EXPECT_EQ(ops[p.wait_op]->code, tlxjit::OpCode::wait);
    EXPECT_EQ(p.slot, 0);
    EXPECT_EQ(p.arrivals, 1);
    EXPECT_EQ(ops[c.task_op]->attrs.text("name"), "consumer");
    EXPECT_EQ(ops[c.object_op]->attrs.text("name"), "full");
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

// Where `bad` is the number of an index, that one is the scalar `at`; the others are 0.
const char* const outside_text = R"(tlx 1 lowered cpu
kernel "outside" [threads = 128, shared_bytes = 65536] {
  %at = scalar [name = "at"] : i32
  %bad = scalar [name = "bad"] : i32
  %zero = const [value = 0] : i32
  %one = const [value = 1] : i32
  %n = const [value = 16] : i32
  %value = const [value = 1.0] : f32
  %x = tensor %n, %n [name = "x"] : tensor<2xf32>
  %tiles = buffer [swizzle = 0] : buffer<3, 16x16xf32>
  %row = buffer [swizzle = 0] : buffer<3, 16xf32>
  %bar = barrier [count = 1, name = "bar"] : barrier<3>
  grid %one
  workspace [words = 1]
  task [name = "other", warps = 1, replicas = 1] {
    wait %bar, %one, %zero
  }
  task [name = "main", warps = 4, replicas = 1] {
    %word = workspace.add %one [word = 0] : i32
SELECTS
    %tile = splat %value : tile<16x16xf32>
    %acc = accumulator : accumulator<8x16xf32>
    copy.load %x, %tiles, %zero, %bar, %i0, %zero, %zero [box = <16, 16>, ragged = -1]
    copy.load %x, %tiles, %i1, %bar, %zero, %zero, %zero [box = <16, 16>, ragged = -1]
    expect %bar, %i2 [bytes = 2048]
    wait %bar, %i3, %zero
    buffer.store %tiles, %i4, %tile
    buffer.put %row, %i5, %zero, %value
    buffer.put %row, %zero, %i6, %value
    %g = buffer.get %row, %i7, %zero : f32
    %h = buffer.get %row, %zero, %i8 : f32
    %v = view %tiles, %i9 : view<16x16xf32>
    %w = view %tiles, %zero : view<16x16xf32>
    %p = part %w, %i10 : view<8x16xf32>
    dot %acc, %p, %v [overwrite = "never"]
    copy.store %x, %tiles, %i11, %zero, %zero [box = <16, 16>, ragged = -1]
    arrive %bar, %i12 [per = "instance"]
    arrive %bar, %one [per = "instance"]
    workspace.set %zero [word = 0]
  }
}
)";

TEST(Sync, AnIndexOutsideEndsTheLaunchAtItsOp) {
  constexpr int indices = 13;
  std::string text = outside_text, selects;
  for (int i = 0; i < indices; ++i) {
    const std::string k = std::to_string(i);
    selects += "    %k" + k + " = const [value = " + k + "] : i32\n    %is" + k + " = cmp %bad, %k" + k +
               " [pred = \"eq\"] : b1\n    %i" + k + " = select %is" + k + ", %at, %zero : i32\n";
  }
  text.replace(text.find("SELECTS\n"), 8, selects);
  text = numbered(text);
  Kernel kernel(text);
  ASSERT_COMPILED(kernel);
  const auto module = tlxjit::parse(text);
  ASSERT_TRUE(module.ok());
  const auto ops = tlxjit::numbered_ops(*module);
  const std::pair<const char*, int> named[indices] = {
      {"copy.load", 3},  {"copy.load", 3},   {"expect", 3},     {"wait", 3},        {"buffer.store", 3},
      {"buffer.put", 3}, {"buffer.put", 16}, {"buffer.get", 3}, {"buffer.get", 16}, {"view", 3},
      {"part", 2},       {"copy.store", 3},  {"arrive", 3}};
  Tensor<float> x({16, 16});
  int32_t word = 0;
  Launch launch;
  launch.tensors = {x};
  launch.workspace = &word;
  for (int bad = 0; bad < indices; ++bad)
    for (int32_t at : {named[bad].second, 1 << 30, -1, INT32_MIN}) {
      SCOPED_TRACE(std::to_string(bad) + " at " + std::to_string(at));
      launch.scalars = {bits_of(at), bits_of(bad)};
      ASSERT_EQ(kernel.launch(launch), TLXJIT_CPU_OUTSIDE);
      ASSERT_LT(kernel.failure.op, ops.size());
      EXPECT_EQ(tlxjit::info(ops[kernel.failure.op]->code).text, named[bad].first);
      EXPECT_EQ(std::string(kernel.failure.message), "index " + std::to_string(at) + " is outside the " +
                                                         std::to_string(named[bad].second) + " that there are");
      EXPECT_EQ(word, 0) << "the workspace is zero again";
      launch.scalars = {bits_of(at), bits_of(indices)};
      ASSERT_EQ(kernel.launch(launch), TLXJIT_CPU_OK) << "a later launch works";
    }
}

}  // namespace
}  // namespace cpu_test
