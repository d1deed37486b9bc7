// tests/unit/runtime/usable_cpus_test.cpp — affinity and cgroups limit the threads.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "src/runtime/usable_cpus_p.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "tests/unit/runtime/temporary_directory.h"

namespace tlxjit::runtime {
namespace {

namespace fs = std::filesystem;

/// A folder that stands for `/`.
struct Root {
  runtime_test::TemporaryDirectory place;
  fs::path path = place.path();
  void file(const std::string& name, const std::string& text) const {
    fs::create_directories((path / name).parent_path());
    std::ofstream(path / name) << text;
  }
};

TEST(UsableCpus, BL_234_TheThreadsFollowACgroup) {
  const Root root;
  EXPECT_EQ(cgroup_cpus(root.path), 0) << "there are no files";
  root.file("proc/self/cgroup", "0::/user/job\n");
  EXPECT_EQ(cgroup_cpus(root.path), 0);
  root.file("sys/fs/cgroup/user/job/cpu.max", "max 100000\n");
  EXPECT_EQ(cgroup_cpus(root.path), 0);
  root.file("sys/fs/cgroup/user/job/cpu.max", "200000 100000\n");
  EXPECT_EQ(cgroup_cpus(root.path), 2);
  root.file("sys/fs/cgroup/user/job/cpu.max", "150000 100000\n");
  EXPECT_EQ(cgroup_cpus(root.path), 2) << "rounded up";
  root.file("sys/fs/cgroup/user/job/cpu.max", "1000 100000\n");
  EXPECT_EQ(cgroup_cpus(root.path), 1);
  EXPECT_EQ(usable_cpus(root.path), 1);
  root.file("sys/fs/cgroup/user/job/cpu.max", "800000 100000\n");
  root.file("sys/fs/cgroup/user/cpu.max", "300000 100000\n");
  EXPECT_EQ(cgroup_cpus(root.path), 3) << "the group above has less";
  root.file("sys/fs/cgroup/user/job/cpu.max", "nonsense\n");
  EXPECT_EQ(cgroup_cpus(root.path), 3);
}

TEST(UsableCpus, BL_234_AContainerSeesItsGroupAtTheMount) {
  const Root root;
  root.file("proc/self/cgroup", "0::/docker/1234\n");
  root.file("sys/fs/cgroup/cpu.max", "400000 100000\n");
  EXPECT_EQ(cgroup_cpus(root.path), 4);
}

TEST(UsableCpus, BL_234_VersionOneToo) {
  const Root root;
  root.file("proc/self/cgroup", "5:memory:/m\n4:cpu,cpuacct:/job\n1:name=systemd:/x\n");
  root.file("sys/fs/cgroup/cpu/job/cpu.cfs_quota_us", "-1\n");
  root.file("sys/fs/cgroup/cpu/job/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(cgroup_cpus(root.path), 0);
  root.file("sys/fs/cgroup/cpu/job/cpu.cfs_quota_us", "250000\n");
  EXPECT_EQ(cgroup_cpus(root.path), 3);
}

TEST(UsableCpus, BL_234_TheThreadsFollowTheAffinity) {
  const Root no_cgroup;
  cpu_set_t before;
  ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  EXPECT_EQ(usable_cpus(no_cgroup.path), CPU_COUNT(&before));
  std::thread([&] {  // affinity is a thread's
    cpu_set_t one;
    CPU_ZERO(&one);
    for (size_t cpu = 0; cpu < CPU_SETSIZE; ++cpu)
      if (CPU_ISSET(cpu, &before) && CPU_COUNT(&one) == 0) CPU_SET(cpu, &one);
    ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
    EXPECT_EQ(usable_cpus(no_cgroup.path), 1);
  })
      .join();
}

}  // namespace
}  // namespace tlxjit::runtime
