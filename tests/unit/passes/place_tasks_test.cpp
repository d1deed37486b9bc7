// tests/unit/passes/place_tasks_test.cpp — which warps run which task.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "src/passes/place_tasks_p.h"

#include <gmock/gmock.h>

#include "tests/support/text_module.h"

using namespace tlxjit;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {

TEST(PlacementTest, ProducerAndConsumers) {
  const Module module = module_file("gemm_sm_90a.tlx");
  auto p = place_tasks(module);
  ASSERT_TRUE(p) << to_string(p.error());
  ASSERT_EQ(p->tasks.size(), 2u);
  EXPECT_EQ(p->tasks[0].first_warp, 0);
  EXPECT_TRUE(p->tasks[0].elected);
  EXPECT_EQ(p->tasks[1].first_warp, 4);
  EXPECT_FALSE(p->tasks[1].elected);
  EXPECT_EQ(p->tasks[1].barrier, 1);
  EXPECT_THAT(p->registers, ElementsAre(40, 232, 232));
}

std::string task(int warps, int replicas, int registers = 0) {
  return "task [name = \"t\", warps = " + std::to_string(warps) + ", replicas = " + std::to_string(replicas) +
         ", registers = " + std::to_string(registers) + "] { }\n";
}

TEST(PlacementTest, SmallTasksShareAGroup) {
  const Module module = lowered(task(1, 1, 32) + task(4, 1) + task(1, 2, 48) + task(2, 1), 512);
  auto p = place_tasks(module);
  ASSERT_TRUE(p) << to_string(p.error());
  EXPECT_EQ(p->tasks[0].first_warp, 0);
  EXPECT_EQ(p->tasks[1].first_warp, 4);
  EXPECT_EQ(p->tasks[2].first_warp, 1);  // joins the group of the first
  EXPECT_EQ(p->tasks[3].first_warp, 8);  // does not fit there any more
  EXPECT_THAT(p->registers, ElementsAre(48, 0, 0));
}

// One thread would arrive once where each of the warps is counted.
TEST(PlacementTest, ArrivalsOfEachWarpWantAllWarps) {
  const auto elected = [](int warps, const char* per) {
    const std::string head = "task [name = \"t\", warps = " + std::to_string(warps) + ", replicas = 1] {\n";
    const Module module =
        lowered("%0 = const [value = 0] : i32\n%1 = barrier [count = 4, name = \"b\", offset = 0] : barrier<1>\n" +
                    head + "wait %1, %0, %0\nfence\narrive %1, %0 [per = \"" + per + "\"]\n}\n",
                128);
    auto p = place_tasks(module);
    EXPECT_TRUE(p) << to_string(p.error());
    return p && p->tasks[0].elected;
  };
  EXPECT_FALSE(elected(4, "warp"));
  EXPECT_FALSE(elected(2, "warp"));
  EXPECT_TRUE(elected(1, "warp"));
  EXPECT_TRUE(elected(4, "instance"));
}

TEST(PlacementTest, RefusesMoreWarpsThanThreads) {
  auto p = place_tasks(lowered(task(4, 2), 128));
  ASSERT_FALSE(p);
  EXPECT_THAT(p.error().message, HasSubstr("128 threads"));
}

}  // namespace
