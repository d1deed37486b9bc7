// src/ir/verify_launch.cpp — what a launch says once, and what ops ask of it: residence, clusters.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <map>

#include "src/ir/check_p.h"
#include "src/ir/verify_p.h"

TLXJIT_NAMESPACE_BEGIN

void verify_launch(const Module& module, const Report& report) {
  std::map<OpCode, const Op*> said;
  for (const auto& op : module.body.ops) {
    if (op->code != OpCode::resident && op->code != OpCode::cluster && op->code != OpCode::math) continue;
    const Op*& first = said[op->code];
    if (first) report(*op, "a kernel says it once");
    first = op.get();
  }
  const Op* const resident = said[OpCode::resident];
  const Op* const cluster = said[OpCode::cluster];
  const Op* sync = nullptr;
  walk(module.body, [&](const Op& op) {
    switch (op.code) {
      case OpCode::flag_wait:
        if (!resident)
          report(op, "only a kernel marked resident may wait for a flag: the program that sets it may not have begun");
        break;
      case OpCode::cluster_sync:
        if (!sync) sync = &op;
        [[fallthrough]];
      case OpCode::cluster_rank:
        if (!cluster) report(op, "the kernel has no clusters: use cluster()");
        break;
      case OpCode::arrive_remote:
      case OpCode::buffer_store_remote: {
        if (!cluster) {
          report(op, "the kernel has no clusters: use cluster()");
          break;
        }
        const Value rank = op.operands[op.code == OpCode::arrive_remote ? 2 : 3];
        if (std::string what = check_index(module, rank, cluster->attrs.integer("size"), "rank"); !what.empty())
          report(op, std::move(what));
        break;
      }
      case OpCode::grid:
        if (const Op* programs = module.def(op.operands[0]); cluster && programs && programs->code == OpCode::constant)
          if (const int64_t n = programs->attrs.integer("value"), size = cluster->attrs.integer("size"); n % size)
            report(op, std::to_string(n) + " programs are no multiple of the cluster of " + std::to_string(size));
        break;
      default: break;
    }
  });
  if (!sync) return;
  for (const auto& task : module.body.ops) {
    if (task->code != OpCode::task) continue;
    bool has = false;
    walk(task->regions[0], [&](const Op& op) { has |= op.code == OpCode::cluster_sync; });
    if (!has)
      report(*sync, "it waits for every instance of the cluster, so every task has one; '" +
                        std::string(task->attrs.text("name")) + "' has none");
  }
}

TLXJIT_NAMESPACE_END
