// tests/unit/cpu/lane_test.cpp — fibers, their stacks, and the memory of programs.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/cpu/lane_p.h"

#include <gtest/gtest.h>

#include <thread>

#include "tests/support/allocations.h"

namespace tlxjit::cpu {
namespace {

struct Counter {
  Fiber fiber;
  int steps = 0;
  bool done = false;
};

TLXJIT_UNSEEN_BY_TSAN void count(void* data) {
  auto* counter = static_cast<Counter*>(data);
  for (int i = 0; i < 3; ++i) {
    ++counter->steps;
    counter->fiber.stand();
  }
  counter->done = true;
}

TEST(StackPool, TakesBackWithoutAllocating) {
  StackPool stacks;
  constexpr int count = 40;
  std::vector<std::pair<void*, size_t>> taken;
  taken.reserve(2 * count);
  for (size_t bytes : {StackPool::size_for(0), StackPool::size_for(1 << 20)})
    for (int i = 0; i < count; ++i) taken.emplace_back(stacks.take(bytes), bytes);
  const int before = allocations_so_far();
  for (const auto& [top, bytes] : taken) stacks.give(top, bytes);
  EXPECT_EQ(allocations_so_far(), before);
  for (const auto& [top, bytes] : taken) EXPECT_NE(stacks.take(bytes), nullptr);
}

TEST(Memory, KeepsItsGaps) {
  Memory memory(4096, {{64, 128}});
  memory.fill(0);  // looks at them again
  EXPECT_EQ(memory.data()[0], 0);
}

TEST(Fiber, StandsAndGoesOn) {
  StackPool stacks;
  const size_t bytes = StackPool::size_for(0);
  Counter counter;
  counter.fiber.use_stack(stacks.take(bytes), bytes);
  for (int round = 0; round < 2; ++round) {
    counter.steps = 0;
    counter.done = false;
    counter.fiber.start(count, &counter);
    for (int i = 1; i <= 3; ++i) {
      counter.fiber.resume();
      EXPECT_EQ(counter.steps, i);
    }
    EXPECT_FALSE(counter.done);
    counter.fiber.resume();
    EXPECT_TRUE(counter.done);
  }
  counter.fiber.start(count, &counter);  // an unfinished run is abandoned
  counter.fiber.resume();
  counter.fiber.forget();
  stacks.give(counter.fiber.stack(), bytes);
}

TEST(Fiber, GoesOnOnAnotherThread) {
  StackPool stacks;
  const size_t bytes = StackPool::size_for(0);
  Counter counter;
  counter.fiber.use_stack(stacks.take(bytes), bytes);
  counter.fiber.start(count, &counter);
  for (int i = 0; i < 4; ++i) std::thread([&] { counter.fiber.resume(); }).join();
  EXPECT_TRUE(counter.done);
  counter.fiber.forget();
  stacks.give(counter.fiber.stack(), bytes);
}

TEST(StackPool, StacksAreUsedAgain) {
  StackPool stacks;
  const size_t small = StackPool::size_for(0), large = StackPool::size_for(size_t{8} << 20);
  EXPECT_GT(large, size_t{8} << 20);
  EXPECT_EQ(StackPool::size_for(size_t{1} << 30), 0u);
  void* a = stacks.take(small);
  void* b = stacks.take(large);
  stacks.give(a, small);
  stacks.give(b, large);
  EXPECT_EQ(stacks.take(large), b);
  EXPECT_EQ(stacks.take(small), a);
  EXPECT_NE(stacks.take(small), a);
}

TEST(StackPool, APageBelowFaults) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  StackPool stacks;
  const size_t bytes = StackPool::size_for(0);
  auto* bottom = static_cast<volatile char*>(stacks.take(bytes)) - bytes;
  bottom[0] = 1;
  EXPECT_DEATH(bottom[-1] = 1, "");
}

#if TLXJIT_ASAN
TEST(Memory, GapsAndTheTailAreWatched) {
  const std::vector<Gap> gaps = {{64, 128}, {1000, 1104}};
  Memory memory(2000, gaps);
  for (int round = 0; round < 2; ++round) {
    const auto watched = [&](size_t i) { return __asan_address_is_poisoned(memory.data() + i) != 0; };
    for (size_t i : {64, 127, 1000, 1103, 2000, 2047}) EXPECT_TRUE(watched(i)) << i;
    for (size_t i : {0, 63, 128, 999, 1104, 1999}) EXPECT_FALSE(watched(i)) << i;
    memory.fill(7);
    EXPECT_EQ(memory.data()[1999], 7);
  }
}
#endif

}  // namespace
}  // namespace tlxjit::cpu
