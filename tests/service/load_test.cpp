// tests/service/load_test.cpp — what the load generator makes of the answers that it got.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <gtest/gtest.h>

#include "samples/attention_service/load/report.h"

namespace load {
namespace {

/// Two a second over ten seconds, each answered after so long, of which its launch took a part.
std::vector<Sample> samples(double milliseconds, uint32_t launch_us) {
  std::vector<Sample> all(20);
  for (size_t i = 0; i < all.size(); ++i) {
    all[i].arrival.at = 0.5 * static_cast<double>(i);
    all[i].status = 200;
    all[i].latency = milliseconds / 1e3;
    all[i].header.ran_us = launch_us;
  }
  return all;
}

double overload_of(const std::vector<Sample>& all) {
  Options options;
  options.seconds = 10;
  return overload(options, all);
}

TEST(Overload, IsWhereCallsTakeMuchLongerThanTheirLaunches) {
  EXPECT_DOUBLE_EQ(overload_of(samples(600, 100'000)), 6);
  EXPECT_EQ(overload_of(samples(400, 100'000)), 0) << "a launch besides its own, and some";
  EXPECT_EQ(overload_of(samples(15, 1'000)), 0) << "HTTP takes its time, too";
  EXPECT_DOUBLE_EQ(overload_of(samples(25, 1'000)), 25);
  EXPECT_GT(overload_of(samples(25, 0)), 0);
  EXPECT_EQ(overload_of({}), 0);
}

TEST(Overload, IsThatOfTheSecondHalfAndOfWhatWasAnswered) {
  std::vector<Sample> all = samples(1, 1'000);
  for (size_t i = 0; i < 10; ++i) all[i].latency = 1;
  EXPECT_EQ(overload_of(all), 0) << "the first calls of their kinds";
  for (size_t i = 10; i < 18; ++i) all[i].latency = 1, all[i].status = 429;
  EXPECT_EQ(overload_of(all), 0);
  for (size_t i = 10; i < 18; ++i) all[i].status = 200;
  EXPECT_DOUBLE_EQ(overload_of(all), 1000);
}

}  // namespace
}  // namespace load
