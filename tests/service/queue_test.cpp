// tests/service/queue_test.cpp — the queue: its bounds, what is of one batch, deadlines, its end.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "samples/attention_service/queue.h"

#include <gmock/gmock.h>

#include "tests/service/fixture.h"

namespace service_test {
namespace {

class QueueTest : public testing::Test {
 protected:
  PendingPtr pending(const Shape& shape = small(), int32_t tokens = 1, Clock::duration deadline = 1h) {
    return std::make_shared<Pending>(call_of(shape, {tokens}), Budget::Claim(budget_), Clock::now() + deadline);
  }
  static int status_of(const PendingPtr& call) {
    auto future = call->outcome.get_future();
    return future.wait_for(0s) == std::future_status::ready ? std::get<Refusal>(future.get()).status : 0;
  }
  Budget budget_{1 << 20};
};

TEST_F(QueueTest, MoreThanItsLimitNeverWait) {
  Queue queue({.waiting = 2});
  EXPECT_TRUE(queue.push(pending()));
  EXPECT_FALSE(queue.full());
  EXPECT_TRUE(queue.push(pending()));
  EXPECT_TRUE(queue.full());
  EXPECT_FALSE(queue.push(pending()));
  EXPECT_EQ(queue.depth(), 2U);
  EXPECT_EQ(queue.take().size(), 2U);
  EXPECT_TRUE(queue.push(pending()));
}

TEST_F(QueueTest, ABatchIsOfOneShapeAndInOrder) {
  Queue queue({});
  Shape other = small();
  other.scale = 2;
  const std::vector<PendingPtr> calls = {pending(), pending(other), pending(), pending(other), pending()};
  for (const PendingPtr& call : calls) queue.push(call);
  EXPECT_THAT(queue.take(), testing::ElementsAre(calls[0], calls[2], calls[4]));
  EXPECT_THAT(queue.take(), testing::ElementsAre(calls[1], calls[3]));
}

TEST_F(QueueTest, ABatchHasLimits) {
  Queue queue({.batch = 3});
  for (int i = 0; i < 4; ++i) queue.push(pending());
  EXPECT_EQ(queue.take().size(), 3U);
  EXPECT_EQ(queue.take().size(), 1U);
  // One call of 10 tokens fits, a second does not, a small one does.
  Queue bytes({.batch_bytes = pending(small(), 10)->bytes() + 2 * pending()->bytes()});
  const std::vector<PendingPtr> calls = {pending(small(), 10), pending(small(), 10), pending()};
  for (const PendingPtr& call : calls) bytes.push(call);
  EXPECT_THAT(bytes.take(), testing::ElementsAre(calls[0], calls[2]));
  EXPECT_THAT(bytes.take(), testing::ElementsAre(calls[1]));
  bytes.push(pending(small(), 100));
  EXPECT_EQ(bytes.take().size(), 1U) << "a call that is too large alone is run alone";
}

TEST_F(QueueTest, WhatIsTooLateIsRefusedAndNotRun) {
  Queue queue({});
  const PendingPtr late = pending(small(), 1, -1s), early = pending();
  queue.push(late);
  queue.push(early);
  EXPECT_THAT(queue.take(), testing::ElementsAre(early));
  EXPECT_EQ(status_of(late), 504);
}

TEST_F(QueueTest, ACancelledCallIsNotRun) {
  Queue queue({});
  const PendingPtr given_up = pending(), other = pending();
  queue.push(given_up);
  queue.push(other);
  EXPECT_TRUE(queue.cancel(given_up));
  EXPECT_FALSE(queue.cancel(given_up));
  EXPECT_THAT(queue.take(), testing::ElementsAre(other));
}

TEST_F(QueueTest, LingeringGathersABatchAndEndsWhenItIsFullOrNoMoreWillCome) {
  Queue full({.batch = 2, .linger = 1h});
  auto taken = std::async(std::launch::async, [&] { return full.take(); });
  full.push(pending());
  full.push(pending());
  EXPECT_EQ(taken.get().size(), 2U);

  Queue hurried({.linger = 1h});
  auto rest = std::async(std::launch::async, [&] { return hurried.take(); });
  hurried.push(pending());
  hurried.hurry();
  EXPECT_EQ(rest.get().size(), 1U);
}

TEST_F(QueueTest, AClosedQueueGivesWhatItHasAndThenNothing) {
  Queue queue({.linger = 1h});
  queue.push(pending());
  queue.close();
  EXPECT_FALSE(queue.push(pending()));
  EXPECT_EQ(queue.take().size(), 1U);
  EXPECT_TRUE(queue.take().empty());
}

TEST_F(QueueTest, ThreadsThatPushAndTakeLoseNothing) {
  Queue queue({.waiting = 4, .batch = 3});
  std::atomic<int> pushed = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 500; ++i)
        if (queue.push(pending())) ++pushed;
    });
  size_t taken = 0;
  std::thread taker([&] {
    for (std::vector<PendingPtr> batch; !(batch = queue.take()).empty();) {
      EXPECT_LE(batch.size(), 3U);
      taken += batch.size();
    }
  });
  for (std::thread& thread : threads) thread.join();
  queue.close();
  taker.join();
  EXPECT_EQ(taken, static_cast<size_t>(pushed));
}

TEST(Budget, ClaimsGiveBackWhatTheyHeld) {
  Budget budget(10);
  {
    Budget::Claim first(budget), second(budget);
    EXPECT_TRUE(first.grow(6));
    EXPECT_FALSE(second.grow(5));
    EXPECT_TRUE(second.grow(4));
    EXPECT_FALSE(first.grow(1));
    const Budget::Claim moved(std::move(first));
    EXPECT_EQ(budget.held(), 10U);
  }
  EXPECT_EQ(budget.held(), 0U);
}

}  // namespace
}  // namespace service_test
