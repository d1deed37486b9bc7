// src/passes/place_tasks.cpp — which warps of a program run which task.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "src/passes/place_tasks_p.h"

#include <algorithm>

TLXJIT_NAMESPACE_BEGIN

namespace {

constexpr int most_warps = 32;
constexpr int hardware_barriers = 16;  // 0 is the whole program's

struct TaskFacts {
  bool dots = false;
  bool syncs = false;
};

TaskFacts facts_of(const Op& task) {
  TaskFacts facts;
  walk(task.regions[0], [&](const Op& op) {
    facts.dots |= op.code == OpCode::dot;
    facts.syncs |= op.code == OpCode::sync;
  });
  return facts;
}

/// Whether an op that all threads do means the same on one.
bool same_on_one(OpCode code) {
  return code == OpCode::wait || code == OpCode::wait_slot || code == OpCode::fence || code == OpCode::set;
}

Error fault(const Module& module, const Op& op, ErrorCode code, std::string message) {
  Error error;
  error.kind = ErrorKind::user;
  error.stage = Stage::lower;
  error.code = code;
  error.message = std::move(message);
  error.location = module.location(op);
  return error;
}

}  // namespace

bool on_one_thread(const Module& module, const Op& task) {
  bool one = true;
  walk(task.regions[0], [&](const Op& op) {
    for (Value v : op.results) {
      const TypeKind kind = module.type(v).kind;
      if (kind == TypeKind::tile || kind == TypeKind::accumulator) one = false;
    }
    if (info(op.code).scope == Scope::all && !same_on_one(op.code)) one = false;
    // Each warp is counted.
    if ((op.code == OpCode::arrive || op.code == OpCode::arrive_remote) && op.attrs.text("per") == "warp" &&
        task.attrs.integer("warps", 1) > 1)
      one = false;
  });
  return one;
}

Result<Placement> place_tasks(const Module& lowered) {
  Placement placement;
  int next_group = 0;              // the first group that nobody has
  int shared = -1, shared_at = 0;  // the open shared group and its first free warp
  int next_barrier = 1;
  for (const auto& op : lowered.body.ops) {
    if (op->code != OpCode::task) continue;
    const TaskFacts facts = facts_of(*op);
    TaskPlace place;
    place.task = op.get();
    place.warps = static_cast<int>(op->attrs.integer("warps", 1));
    place.replicas = static_cast<int>(op->attrs.integer("replicas", 1));
    place.elected = on_one_thread(lowered, *op);
    const int registers = static_cast<int>(op->attrs.integer("registers", 0));
    const int total = place.total_warps();
    if (total > most_warps)
      return fault(lowered, *op, ErrorCode::out_of_resources,
                   "the task has " + std::to_string(total) + " warps, and a program at most " +
                       std::to_string(most_warps) + ": use fewer replicas() or warps()");
    const bool aligned = facts.dots || place.warps >= 4;
    if (aligned && place.warps % 4 != 0)
      return fault(lowered, *op, ErrorCode::unsupported,
                   "an instance with dots has a multiple of 4 warps on this target, not " +
                       std::to_string(place.warps) + ": use warps(4)");
    if (aligned) {
      place.first_warp = 4 * next_group;
      next_group += total / 4;
    } else if (shared >= 0 && shared_at + total <= 4) {
      place.first_warp = 4 * shared + shared_at;
      shared_at += total;
    } else {
      place.first_warp = 4 * next_group;
      shared = next_group + (total - 1) / 4;
      shared_at = (total - 1) % 4 + 1;
      next_group += (total + 3) / 4;
    }
    if (4 * next_group > most_warps)
      return fault(lowered, *op, ErrorCode::out_of_resources,
                   "the tasks up to this one have " + std::to_string(4 * next_group) +
                       " warps, in groups of four, and a program at most " + std::to_string(most_warps) +
                       ": use fewer");
    placement.registers.resize(static_cast<size_t>(next_group), 0);
    for (int g = place.first_warp / 4; g <= (place.first_warp + total - 1) / 4; ++g) {
      int& request = placement.registers[static_cast<size_t>(g)];
      request = std::max(request, registers);
    }
    if (facts.syncs && place.warps > 1) {
      place.barrier = next_barrier;
      next_barrier += place.replicas;
      if (next_barrier > hardware_barriers)
        return fault(lowered, *op, ErrorCode::out_of_resources,
                     std::to_string(next_barrier - 1) + " instances sync their warps, and a program has barriers for " +
                         std::to_string(hardware_barriers - 1) + ": use fewer replicas()");
    }
    placement.tasks.push_back(place);
  }
  const int threads = static_cast<int>(lowered.attrs.integer("threads"));
  if (lowered.attrs.find("threads") && !placement.tasks.empty() &&
      threads < 32 * (placement.tasks.back().first_warp + placement.tasks.back().total_warps()))
    return fault(lowered, *placement.tasks.back().task, ErrorCode::out_of_resources,
                 "the tasks need more than the program's " + std::to_string(threads) + " threads");
  return placement;
}

Result<void> check_registers(const Module& lowered, const Placement& placement, int64_t registers) {
  const int64_t threads = int64_t{128} * placement.groups();
  const int share = register_share(threads, registers);
  int64_t sum = 0;
  bool asked = false;
  for (const int request : placement.registers) {
    sum += request ? request : share;
    asked |= request != 0;
  }
  if (!asked || sum * 128 <= share * threads) return {};
  return fault(lowered, *placement.tasks.front().task, ErrorCode::out_of_resources,
               "the tasks ask for " + std::to_string(sum * 128) + " registers together; a program of " +
                   std::to_string(threads) + " threads has " + std::to_string(share * threads) + ": lower registers()");
}

TLXJIT_NAMESPACE_END
