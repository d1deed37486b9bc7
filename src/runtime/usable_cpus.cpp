// src/runtime/usable_cpus.cpp — how many CPUs this process may use: affinity and cgroups.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "src/runtime/usable_cpus_p.h"

#include <sched.h>

#include <algorithm>
#include <fstream>
#include <memory>

TLXJIT_NAMESPACE_BEGIN
namespace runtime {

namespace {

int affinity_cpus() {
  // Masks grow with the machine; the kernel refuses one that is too short.
  for (int cpus = 1024; cpus <= 1 << 20; cpus *= 2) {
    struct Free {
      void operator()(cpu_set_t* set) const { CPU_FREE(set); }
    };
    const std::unique_ptr<cpu_set_t, Free> set(CPU_ALLOC(static_cast<size_t>(cpus)));
    const size_t bytes = CPU_ALLOC_SIZE(static_cast<size_t>(cpus));
    if (!set) return 1;
    if (sched_getaffinity(0, bytes, set.get()) == 0) return std::max(CPU_COUNT_S(bytes, set.get()), 1);
  }
  return 1;
}

/// Time per period as whole CPUs, rounded up; 0: no limit.
int whole_cpus(double quota, double period) {
  if (!(quota > 0) || !(period > 0)) return 0;
  const double cpus = quota / period;
  return cpus > 1 << 20 ? 0 : std::max(static_cast<int>(cpus + 0.999), 1);
}

int lesser(int a, int b) { return a == 0 ? b : b == 0 ? a : std::min(a, b); }

/// Group `path` of version 2: `max 100000` or `200000 100000`.
int version2(const std::string& mount, const std::string& path) {
  std::ifstream file(mount + path + "/cpu.max");
  double quota = 0, period = 0;
  return file >> quota >> period ? whole_cpus(quota, period) : 0;
}

int version1(const std::string& mount, const std::string& path) {
  std::ifstream quota_file(mount + path + "/cpu.cfs_quota_us"), period_file(mount + path + "/cpu.cfs_period_us");
  double quota = 0, period = 0;
  return quota_file >> quota && period_file >> period ? whole_cpus(quota, period) : 0;
}

/// The least limit of a group and all above it; in a container the path may lie outside what is mounted.
int least(int (*limit)(const std::string&, const std::string&), const std::string& mount, std::string path) {
  int cpus = limit(mount, "");
  while (path.size() > 1) {
    cpus = lesser(cpus, limit(mount, path));
    path.resize(path.rfind('/') == std::string::npos ? 0 : path.rfind('/'));
  }
  return cpus;
}

}  // namespace

int cgroup_cpus(const std::string& root) {
  std::ifstream groups(root + "/proc/self/cgroup");
  int cpus = 0;
  for (std::string line; std::getline(groups, line);) {  // `0::/path`, or `4:cpu,cpuacct:/path`
    const size_t first = line.find(':'), second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    const std::string path = line.substr(second + 1);
    if (controllers == ",,")
      cpus = lesser(cpus, least(version2, root + "/sys/fs/cgroup", path));
    else if (controllers.find(",cpu,") != std::string::npos)
      cpus = lesser(cpus, least(version1, root + "/sys/fs/cgroup/cpu", path));
  }
  return cpus;
}

int usable_cpus(const std::string& root) { return lesser(affinity_cpus(), cgroup_cpus(root)); }

}  // namespace runtime
TLXJIT_NAMESPACE_END
