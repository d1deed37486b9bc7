// tests/stress/jit_test.cpp — processes full of engines and functions on one disk cache, some of which are killed.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fcntl.h>
#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/wait.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <iostream>
#include <random>
#include <thread>

#include "tests/stress/whole_entries.h"
#include "tests/support/seeds.h"
#include "tests/unit/runtime/temporary_directory.h"

namespace tlxjit::runtime_test {
namespace {

using std::chrono::seconds;
using Clock = std::chrono::steady_clock;

pid_t start(const std::string& directory, int64_t for_seconds, uint64_t seed) {
  const std::string time = std::to_string(for_seconds), text = std::to_string(seed);
  const char* arguments[] = {TLXJIT_STRESS_PROCESS, directory.c_str(), time.c_str(), text.c_str(), nullptr};
  pid_t child = -1;
  if (posix_spawn(&child, arguments[0], nullptr, nullptr, const_cast<char**>(arguments), environ) != 0) return -1;
  return child;
}

int status_of(pid_t child) {
  int status = -1;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

// TLXJIT_STRESS_SECONDS, 10 where it is not set.
TEST(JitStress, ProcessesOfManyEnginesOnOneDiskCache) {
  const char* const given = std::getenv("TLXJIT_STRESS_SECONDS");
  const int wanted = given ? std::atoi(given) : 10;
  ASSERT_GE(wanted, 5) << "TLXJIT_STRESS_SECONDS is too short";
  const TemporaryDirectory place;
  const std::string directory = place / "cache";
  uint64_t seed = seed_of_today();
  std::mt19937_64 random(seed);
  // Two live from the beginning to the end; a third one is killed, and started anew.
  const auto end = Clock::now() + seconds(wanted);
  const pid_t whole[] = {start(directory, wanted, ++seed), start(directory, wanted, ++seed)};
  int killed = 0;
  while (Clock::now() < end) {
    const pid_t victim = start(directory, wanted, ++seed);
    ASSERT_GT(victim, 0);
    std::this_thread::sleep_for(std::chrono::milliseconds(200 + random() % 3000));
    ASSERT_EQ(kill(victim, SIGKILL), 0);
    const int status = status_of(victim);
    EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << "it ended by itself: " << status;
    ++killed;
  }
  for (const pid_t child : whole) EXPECT_EQ(status_of(child), 0) << "what was wrong stands above";
  expect_all_whole(directory);
  std::cout << killed << " processes were killed\n";
}

}  // namespace
}  // namespace tlxjit::runtime_test
