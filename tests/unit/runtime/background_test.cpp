// tests/unit/runtime/background_test.cpp — threads whose work nobody waits for.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "src/runtime/background_p.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/resource.h>

#include <algorithm>
#include <future>
#include <thread>

namespace tlxjit::runtime_test {
namespace {

struct Priority {
  int policy = sched_getscheduler(0);
  int nice = getpriority(PRIO_PROCESS, 0);  // of the thread
};

TEST(Background, ItsThreadsAndTheirsGiveWayToTheCallers) {
  const Priority before;
  runtime::Background background(1, 4);
  std::promise<std::pair<Priority, Priority>> promise;
  ASSERT_TRUE(background.add([&] {
    Priority of_another;
    std::thread([&] { of_another = Priority(); }).join();  // as compiles have
    promise.set_value({Priority(), of_another});
  }));
  const auto [own, of_another] = promise.get_future().get();
  for (const Priority& p : {own, of_another}) {
    EXPECT_EQ(p.policy, SCHED_BATCH);
    EXPECT_EQ(p.nice, std::min(before.nice + 5, 19));
  }
  EXPECT_EQ(Priority().policy, before.policy) << "the caller's is as it was";
  EXPECT_EQ(Priority().nice, before.nice);
}

TEST(Background, WhatThereIsNoRoomForIsNotKept) {
  std::promise<void> begun, go;
  std::promise<std::thread::id> destroyed;
  runtime::Background background(1, 1);  // ends first: its thread uses the others
  ASSERT_TRUE(background.add([&] {
    begun.set_value();
    go.get_future().wait();
  }));
  begun.get_future().wait();
  EXPECT_TRUE(background.add([] {}));
  EXPECT_FALSE(background.add([] {}));
  const auto tells = [&](int* p) { destroyed.set_value((delete p, std::this_thread::get_id())); };
  background.destroy(std::vector{std::shared_ptr<int>(new int, tells)});
  go.set_value();
  EXPECT_NE(destroyed.get_future().get(), std::this_thread::get_id()) << "what is destroyed always finds room";
}

}  // namespace
}  // namespace tlxjit::runtime_test
