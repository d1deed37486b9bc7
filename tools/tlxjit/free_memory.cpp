// tools/tlxjit/free_memory.cpp — reads /proc/meminfo and the cgroup's limits.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tools/tlxjit/free_memory.h"

#include <algorithm>
#include <fstream>
#include <string>

namespace tlxjit::cli {

namespace {

/// UINT64_MAX if the file is not there or does not begin with a number (`max`).
uint64_t number_in(const char* path) {
  std::ifstream file(path);
  uint64_t number = 0;
  return file >> number ? number : UINT64_MAX;
}

}  // namespace

uint64_t free_memory() {
  uint64_t free = UINT64_MAX;
  std::ifstream file("/proc/meminfo");
  uint64_t kib = 0;
  std::string unit;
  for (std::string name; file >> name >> kib && std::getline(file, unit);)
    if (name == "MemAvailable:") free = kib << 10;
  const uint64_t limit = number_in("/sys/fs/cgroup/memory.max"), used = number_in("/sys/fs/cgroup/memory.current");
  if (limit != UINT64_MAX && used != UINT64_MAX) free = std::min(free, limit > used ? limit - used : 0);
  return free;
}

}  // namespace tlxjit::cli
