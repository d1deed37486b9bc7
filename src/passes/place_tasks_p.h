// src/passes/place_tasks_p.h — which warps of a program run which task.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <vector>

#include "tlxjit/core/result.h"
#include "tlxjit/ir/module.h"

TLXJIT_NAMESPACE_BEGIN

struct TaskPlace {
  const Op* task = nullptr;
  int first_warp = 0;  ///< of replica 0; the replicas follow one another
  int warps = 0;       ///< of one instance
  int replicas = 1;
  /// Only scalars, control and ops that one thread issues: the whole task runs on one elected thread.
  bool elected = false;
  int barrier = 0;  ///< hardware barrier of replica 0 (the others follow); 0: the task never syncs several warps

  int total_warps() const { return warps * replicas; }
};

/// The program's warps, in groups of four. A group belongs to one task, or to several small ones.
struct Placement {
  std::vector<TaskPlace> tasks;  ///< in the order of the module
  std::vector<int> registers;    ///< per group: registers per thread asked for, 0: none
  int groups() const { return static_cast<int>(registers.size()); }
};

/// Whether one thread of each instance can do all of the task: no tiles, and nothing that each thread or warp does for
/// itself.
bool on_one_thread(const Module& module, const Op& task);

/// Instances with dots or of 4 and more warps start on a group's first warp; smaller ones fill shared groups, in
/// task order. The largest request for registers in a group wins. Fails when the module says how many threads it
/// has and these do not suffice.
Result<Placement> place_tasks(const Module& lowered);

/// Registers that each of `threads` has at launch, out of `registers`: ptxas divides evenly, in units of 8.
inline int register_share(int64_t threads, int64_t registers) {
  return threads < 1 ? 0 : static_cast<int>(std::min<int64_t>(registers / threads, 255) / 8 * 8);
}

/// Checks the requests against the registers that the program's groups share.
Result<void> check_registers(const Module& lowered, const Placement& placement, int64_t registers);

TLXJIT_NAMESPACE_END
