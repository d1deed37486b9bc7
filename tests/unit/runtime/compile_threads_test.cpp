// tests/unit/runtime/compile_threads_test.cpp — compiles that take too long are left behind, and counted.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "src/runtime/compile_threads_p.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <atomic>
#include <future>
#include <thread>

namespace tlxjit::runtime {
namespace {

using std::chrono::milliseconds;

/// Work that lasts until it is told to end.
struct Long {
  std::promise<void> end;
  std::shared_future<void> ended = end.get_future().share();
  std::atomic<bool> running{false};
  std::function<void()> work() {
    return [ended = ended, &running = running] {
      running = true;
      ended.wait();
    };
  }
};

void wait_for_none(const CompileThreads& threads) {
  for (int i = 0; i < 3000 && threads.abandoned() > 0; ++i) std::this_thread::sleep_for(milliseconds(10));
  EXPECT_EQ(threads.abandoned(), 0);
}

TEST(CompileThreads, RunsWorkOnAThreadWithoutTheHostsSignals) {
  CompileThreads threads;
  std::thread::id id;
  sigset_t blocked;
  ASSERT_TRUE(threads.run(Deadline(milliseconds(0)), "k", [&] {
    id = std::this_thread::get_id();
    pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
  }));
  EXPECT_NE(id, std::this_thread::get_id());
  for (int signal : {SIGINT, SIGTERM, SIGUSR1, SIGPROF, SIGALRM, SIGCHLD}) EXPECT_EQ(sigismember(&blocked, signal), 1);
  EXPECT_EQ(sigismember(&blocked, SIGSEGV), 0) << "a fault is not held back";
  sigset_t here;
  pthread_sigmask(SIG_SETMASK, nullptr, &here);
  EXPECT_EQ(sigismember(&here, SIGUSR1), 0) << "the caller's mask is as it was";
}

TEST(CompileThreads, WorkThatIsLeftBehindIsToldSo) {
  CompileThreads threads;
  for (int i = 0; i < 3 * CompileThreads::most_abandoned; ++i) {
    const auto abandoned = std::make_shared<std::atomic<bool>>(false);
    const auto work = [abandoned] {
      while (!*abandoned) std::this_thread::yield();
    };
    EXPECT_FALSE(threads.run(Deadline(milliseconds(1)), "k", work, abandoned).ok());
    wait_for_none(threads);
  }
  const auto wanted = std::make_shared<std::atomic<bool>>(false);
  EXPECT_TRUE(threads.run(Deadline(milliseconds(60000)), "k", [] {}, wanted).ok());
  EXPECT_FALSE(*wanted);
}

TEST(CompileThreads, CancelledWorkIsLeftBehind) {
  CompileThreads threads;
  Long work;
  std::stop_source stop;
  std::thread canceller([&] {
    while (!work.running) std::this_thread::yield();
    stop.request_stop();
  });
  const auto result = threads.run(Deadline(milliseconds(0), stop.get_token()), "k", work.work());
  canceller.join();
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code, ErrorCode::cancelled);
  EXPECT_EQ(result.error().message, "the compile of `k` was cancelled; it is left behind");
  EXPECT_EQ(threads.abandoned(), 1);
  work.end.set_value();
  wait_for_none(threads);
  bool ran = false;
  EXPECT_TRUE(threads.run(Deadline(milliseconds(0), std::stop_source().get_token()), "k", [&] { ran = true; }));
  EXPECT_TRUE(ran);
}

TEST(CompileThreads, WorkThatWasCancelledBeforeIsNotBegun) {
  CompileThreads threads;
  std::stop_source stop;
  stop.request_stop();
  std::atomic<int> ran = 0;
  for (int i = 0; i < 2 * CompileThreads::most_abandoned; ++i) {
    const auto result = threads.run(Deadline(milliseconds(0), stop.get_token()), "k", [&] { ++ran; });
    ASSERT_FALSE(result.ok());
    EXPECT_EQ(result.error().code, ErrorCode::cancelled);
    EXPECT_EQ(result.error().message, "the compile of `k` was cancelled before it began");
  }
  EXPECT_EQ(threads.abandoned(), 0);
  EXPECT_TRUE(threads.run(Deadline(milliseconds(0)), "k", [] {})) << "and takes no place";
  EXPECT_EQ(ran, 0);
}

TEST(CompileThreads, WorkPastItsLimitIsLeftBehind) {
  CompileThreads threads;
  Long work;
  const auto result = threads.run(Deadline(milliseconds(20)), "k", work.work());
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code, ErrorCode::timed_out);
  EXPECT_EQ(result.error().kind, ErrorKind::environment);
  EXPECT_EQ(result.error().message, "the compile of `k` took longer than its limit of 20 ms; it is left behind");
  EXPECT_EQ(threads.abandoned(), 1);
  EXPECT_TRUE(threads.run(Deadline(milliseconds(10000)), "other", [] {})) << "others go on";
  work.end.set_value();
  wait_for_none(threads);
}

TEST(CompileThreads, PastSomeLeftBehindNoneIsBegun) {
  CompileThreads threads;
  std::vector<Long> work(CompileThreads::most_abandoned);
  for (Long& w : work) EXPECT_FALSE(threads.run(Deadline(milliseconds(1)), "k", w.work()).ok());
  std::atomic<bool> ran = false;
  const auto refused = threads.run(Deadline(milliseconds(0)), "next", [&] { ran = true; });
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::out_of_resources);
  EXPECT_EQ(refused.error().message,
            "`next` is not compiled: 4 compiles that were left behind at their time limit still run");
  EXPECT_FALSE(ran);
  for (Long& w : work) w.end.set_value();
  wait_for_none(threads);
  EXPECT_TRUE(threads.run(Deadline(milliseconds(0)), "next", [&] { ran = true; }));
  EXPECT_TRUE(ran);
}

TEST(CompileThreads, CallsAtOnceLeaveNoMoreBehind) {
  CompileThreads threads;
  constexpr size_t callers = 12;
  Long work;
  std::atomic<int> timed_out = 0, refused = 0;  // refused: past some left behind, or without a turn
  std::vector<int> abandoned(callers);
  std::vector<std::thread> all;
  for (size_t i = 0; i < callers; ++i)
    all.emplace_back([&, i] {
      const auto result = threads.run(Deadline(milliseconds(30)), "k", work.work());
      ASSERT_FALSE(result.ok());
      const bool left = result.error().message.ends_with("it is left behind");
      (left ? timed_out : refused) += 1;
      EXPECT_TRUE(result.error().code == ErrorCode::timed_out || !left);
      abandoned[i] = threads.abandoned();
    });
  for (std::thread& t : all) t.join();
  EXPECT_THAT(abandoned, ::testing::Each(::testing::Le(CompileThreads::most_abandoned)));
  EXPECT_EQ(threads.abandoned(), CompileThreads::most_abandoned);
  EXPECT_EQ(timed_out, CompileThreads::most_abandoned);
  EXPECT_EQ(refused, static_cast<int>(callers) - CompileThreads::most_abandoned);
  work.end.set_value();
  wait_for_none(threads);
  EXPECT_TRUE(threads.run(Deadline(milliseconds(10000)), "next", [] {}));
}

TEST(CompileThreads, ThoseThatEndInTimeAllHaveTheirTurn) {
  CompileThreads threads;
  std::atomic<int> done = 0;
  std::vector<std::thread> all;
  for (int i = 0; i < 12; ++i)
    all.emplace_back([&] {
      EXPECT_TRUE(threads.run(Deadline(milliseconds(60000)), "k", [&] {
        std::this_thread::sleep_for(milliseconds(5));
        ++done;
      }));
    });
  for (std::thread& t : all) t.join();
  EXPECT_EQ(done, 12);
}

TEST(CompileThreads, WaitingForATurnCounts) {
  CompileThreads threads;
  Long work;
  std::vector<std::thread> all;
  std::atomic<int> begun = 0;
  for (int i = 0; i < CompileThreads::most_abandoned; ++i)
    all.emplace_back([&] {
      EXPECT_TRUE(threads.run(Deadline(milliseconds(600000)), "k", [&] {
        ++begun;
        begun.notify_all();
        work.ended.wait();
      }));
    });
  for (int now = begun; now < CompileThreads::most_abandoned; now = begun) begun.wait(now);
  std::atomic<bool> ran = false;
  const auto late = threads.run(Deadline(milliseconds(20)), "late", [&] { ran = true; });
  ASSERT_FALSE(late.ok());
  EXPECT_EQ(late.error().code, ErrorCode::timed_out);
  EXPECT_EQ(late.error().kind, ErrorKind::environment);
  EXPECT_EQ(late.error().message,
            "the compile of `late` had not its turn within its limit of 20 ms: 4 others with a limit run");
  EXPECT_FALSE(ran);
  EXPECT_EQ(threads.abandoned(), 0);
  EXPECT_TRUE(threads.run(Deadline(), "without a limit", [&] { ran = true; }));
  EXPECT_TRUE(ran);
  work.end.set_value();
  for (std::thread& t : all) t.join();
}

// A token whose last source is gone can no longer be stopped; the call has a place all the same, and gives one back.
TEST(CompileThreads, AStopSourceThatGoesMeanwhileCostsNoPlace) {
  CompileThreads threads;
  std::vector<std::thread> all;
  std::atomic<int> begun = 0;
  const auto fill = [&](Long& work) {
    begun = 0;
    for (int i = 0; i < CompileThreads::most_abandoned; ++i)
      all.emplace_back([&] {
        EXPECT_TRUE(threads.run(Deadline(milliseconds(600000)), "k", [&begun, ended = work.ended] {
          ++begun;
          begun.notify_all();
          ended.wait();
        }));
      });
    for (int now = begun; now < CompileThreads::most_abandoned; now = begun) begun.wait(now);
  };
  Long first, second;
  fill(first);
  auto source = std::make_unique<std::stop_source>();
  std::thread waits([&, deadline = Deadline(milliseconds(0), source->get_token())] {
    EXPECT_TRUE(threads.run(deadline, "waits", [] {}));
  });
  std::this_thread::sleep_for(milliseconds(50));  // so that it mostly does
  source.reset();
  first.end.set_value();
  waits.join();
  for (std::thread& t : all) t.join();
  all.clear();
  fill(second);
  const auto late = threads.run(Deadline(milliseconds(20)), "late", [] {});
  EXPECT_FALSE(late.ok()) << "one more than there are places for";
  second.end.set_value();
  for (std::thread& t : all) t.join();
}

TEST(CompileThreads, LimitsThatTheClockCannotCountAreNone) {
  CompileThreads threads;
  const milliseconds years_292(int64_t{1} << 43);
  for (const milliseconds limit : {milliseconds(0), milliseconds::max(), milliseconds(INT64_MAX / 1000000),
                                   milliseconds(INT64_MAX / 1000000 + 1), years_292, milliseconds(int64_t{1} << 62)}) {
    std::atomic<bool> ran = false;
    EXPECT_TRUE(threads.run(Deadline(limit), "k", [&] {
      std::this_thread::sleep_for(milliseconds(2));
      ran = true;
    })) << limit.count();
    EXPECT_TRUE(ran);
  }
  EXPECT_TRUE(Deadline(milliseconds(1)).limited());
  EXPECT_FALSE(Deadline(milliseconds::max()).limited());
  EXPECT_EQ(threads.abandoned(), 0);
}

TEST(CompileThreads, WhatWasLeftBehindOutlivesTheThreads) {
  Long work;
  auto held = std::make_shared<int>(7);
  std::weak_ptr<int> watch = held;
  {
    CompileThreads threads;
    EXPECT_FALSE(threads.run(Deadline(milliseconds(1)), "k", [held, ended = work.ended] { ended.wait(); }).ok());
    held.reset();
  }
  EXPECT_FALSE(watch.expired());
  work.end.set_value();
  for (int i = 0; i < 3000 && !watch.expired(); ++i) std::this_thread::sleep_for(milliseconds(10));
  EXPECT_TRUE(watch.expired());
}

}  // namespace
}  // namespace tlxjit::runtime
