// src/runtime/usable_cpus_p.h — how many CPUs this process may use.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <string>

#include "tlxjit/core/export.h"

TLXJIT_NAMESPACE_BEGIN
namespace runtime {

/// The CPUs that the process may run on, or fewer where a cgroup (v1 or v2, its own or one above) limits their time;
/// at least 1. `root` stands for `/`.
int usable_cpus(const std::string& root = "");

/// What the cgroup files say alone: 0 for no limit.
int cgroup_cpus(const std::string& root);

}  // namespace runtime
TLXJIT_NAMESPACE_END
