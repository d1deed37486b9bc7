// tests/unit/runtime/resident_test.cpp — flags and clusters through builder and engine.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tests/unit/runtime/engine_fixture.h"

namespace tlxjit::runtime_test {
namespace {

using ::testing::HasSubstr;

class Resident : public EngineTest {};

/// All programs add their number to a sum, meet, and write what they then see.
Kernel meeting(bool says_so = true) {
  Kernel k{"meeting"};
  const Index n = k.dim("N");
  auto count = k.tensor<int64_t>("count", {2});
  auto seen = k.tensor<int64_t>("seen", {n});
  k.grid(n);
  if (says_so) k.resident();
  k.task("main").warps(1).body([&](Task& t) {
    const Index p = k.program_id();
    count.flag({1}).add(p.to<int64_t>());
    count.flag({0}).add(1);
    count.flag({0}).wait(Compare::greater_equal, k.num_programs().to<int64_t>());
    const Scalar sum = count.load({1});
    seen.store({p}, t.full<int64_t>({1}, sum));
  });
  return k;
}

TEST_F(Resident, ProgramsMeetByFlags) {
  const Executable exe = compile(meeting());
  for (int64_t n : {1, 2, 30, 300}) {
    std::vector<int64_t> count(2, 0), seen(size_t(n), -1);
    TLXJIT_MUST(exe.launch({tensor<int64_t>(count.data(), {2}), tensor<int64_t>(seen.data(), {n})}));
    for (int64_t s : seen) ASSERT_EQ(s, n * (n - 1) / 2);
  }
}

TEST_F(Resident, TooManyAreRefusedByNumber) {
  const Executable exe = compile(meeting());
  std::vector<int64_t> count(2, 0), seen(9000, -1);
  const auto result = exe.launch({tensor<int64_t>(count.data(), {2}), tensor<int64_t>(seen.data(), {9000})});
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().kind, ErrorKind::user);
  EXPECT_EQ(result.error().code, ErrorCode::out_of_resources);
  EXPECT_THAT(result.error().message, HasSubstr("9000 resident programs of 1 instances are more than the "));
}

TEST_F(Resident, WaitingForAFlagAsksForResidence) {
  const auto exe = engine.compile(meeting(false), device);
  ASSERT_FALSE(exe.ok());
  EXPECT_THAT(exe.error().message, HasSubstr("flag.wait: only a kernel marked resident may wait for a flag"));
  EXPECT_THAT(exe.error().location.file, HasSubstr("resident_test.cpp"));
}

TEST_F(Resident, OtherTargetsRefuseFlagsAndClustersByTheLine) {
  CompileOptions o;
  o.as = "sm_90a";
  auto exe = engine.compile(meeting(), device, o);
  ASSERT_FALSE(exe.ok());
  EXPECT_EQ(exe.error().code, ErrorCode::unsupported);
  EXPECT_EQ(exe.error().message, "resident: sm_90a has no resident; targets that have it: cpu");
  EXPECT_THAT(exe.error().location.file, HasSubstr("resident_test.cpp"));
  Kernel k{"clustered"};
  k.cluster(2);
  k.grid(2);
  k.task("main").warps(1).body([&] { k.cluster_sync(); });
  exe = engine.compile(k, device, o);
  ASSERT_FALSE(exe.ok());
  EXPECT_EQ(exe.error().message, "cluster: sm_90a has no cluster; targets that have it: cpu");
}

TEST_F(Resident, ADeadlockSaysWhichFlagsAreWaitedFor) {
  Kernel k{"stuck"};
  const Index n = k.dim("N");
  auto flags = k.tensor<uint32_t>("flags", {2, n});
  k.grid(n);
  k.resident();
  k.task("waiter").warps(1).body([&] { flags.flag({1, k.program_id()}).wait(Compare::equal, 7); });
  const Executable exe = compile(k);
  std::vector<uint32_t> memory(6, 3);
  const auto result = exe.launch({tensor<uint32_t>(memory.data(), {2, 3})});
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code, ErrorCode::deadlock);
  for (int p = 0; p < 3; ++p)
    EXPECT_THAT(result.error().log,
                HasSubstr("program " + std::to_string(p) + ": waiter (replica 0) waits until element " +
                          std::to_string(3 + p) + " of `flags` is eq 7: it is 3; "));
  EXPECT_THAT(result.error().log, HasSubstr("resident_test.cpp:"));
}

/// x[p] = 10 · rank + the cluster's number.
Kernel clustered(int size) {
  Kernel k{"clustered"};
  const Index n = k.dim("N");
  auto x = k.tensor<int32_t>("x", {n});
  k.cluster(size);
  k.grid(n);
  k.task("main").warps(1).body([&](Task& t) {
    const Index p = k.program_id(), rank = k.cluster_rank();
    k.cluster_sync();
    x.store({p}, t.full<int32_t>({1}, rank * 10 + p / size));
  });
  return k;
}

TEST_F(Resident, BL_161_AGridIsWholeClusters) {
  const Executable exe = compile(clustered(2));
  for (int64_t n : {0, 2, 8}) {
    std::vector<int32_t> x(size_t(n), -1);
    TLXJIT_MUST(exe.launch({tensor<int32_t>(x.data(), {n})}));
    for (int p = 0; p < n; ++p) EXPECT_EQ(x[size_t(p)], p % 2 * 10 + p / 2);
  }
  std::vector<int32_t> x(7, -1);
  const auto result = exe.launch({tensor<int32_t>(x.data(), {7})});
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code, ErrorCode::bad_argument);
  EXPECT_EQ(result.error().message, "`clustered`: the grid of 7 programs is no multiple of the cluster of 2");
  EXPECT_EQ(x, std::vector<int32_t>(7, -1)) << "nothing has run";
}

// The grid counts programs, not clusters.
TEST_F(Resident, BL_163_AGridCountsPrograms) {
  const Executable exe = compile(clustered(3));
  std::vector<int32_t> x(6, -1);
  TLXJIT_MUST(exe.launch({tensor<int32_t>(x.data(), {6})}));
  EXPECT_EQ(x, (std::vector<int32_t>{0, 10, 20, 1, 11, 21}));
}

}  // namespace
}  // namespace tlxjit::runtime_test
