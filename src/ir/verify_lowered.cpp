// src/ir/verify_lowered.cpp — what lowered modules say of memory: the workspace's words, places in shared memory.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <algorithm>
#include <vector>

#include "src/ir/verify_p.h"

TLXJIT_NAMESPACE_BEGIN

namespace {

void verify_workspace(const Module& lowered, const Report& report) {
  const Op* workspace = nullptr;
  walk(lowered.body, [&](const Op& op) {
    if (op.code == OpCode::workspace) {
      if (workspace) report(op, "a kernel says it once");
      workspace = &op;
    }
    if (op.code != OpCode::workspace_add && op.code != OpCode::workspace_set) return;
    const int64_t word = op.attrs.integer("word"), words = workspace ? workspace->attrs.integer("words") : 0;
    if (!workspace)
      report(op, "the kernel has no workspace before it");
    else if (word < 0 || word >= words)
      report(op, "word " + std::to_string(word) + " is outside the " + std::to_string(words) + " that there are");
  });
}

/// Storage in shared memory.
struct Extent {
  int64_t begin = 0, end = 0;
  const Op* op = nullptr;
};

int64_t size_of(const Module& lowered, const Op& op) {
  const Type& t = lowered.type(op.result());
  return op.code == OpCode::barrier ? int64_t{8} * t.slots : t.slots * t.shape.elements() * bytes(t.elem);
}

/// The CPU finds places for what has none, and room for all.
void verify_shared(const Module& lowered, const Report& report) {
  const int64_t room = lowered.attrs.integer("shared_bytes");
  std::vector<Extent> extents;  // by where they begin, else in the ops' order
  bool all = true;
  for (const auto& op : lowered.body.ops) {
    if (op->code != OpCode::buffer && op->code != OpCode::barrier) continue;
    const int64_t begin = op->attrs.integer("offset", -1), end = begin + size_of(lowered, *op);
    std::string what;
    if (begin < 0)
      what = "has no offset in shared memory";
    else if (end > room)
      what = "ends at byte " + std::to_string(end) + " of shared memory; the kernel has " + std::to_string(room);
    else if (op->operands.empty())
      extents.insert(std::ranges::upper_bound(extents, begin, {}, &Extent::begin), {begin, end, op.get()});
    else if (const Op& owner = *lowered.def(op->operands[0]);
             begin != owner.attrs.integer("offset", -1) + op->attrs.integer("at", 0))
      what = "its offset is not where it begins in what it shares";
    if (what.empty()) continue;
    report(*op, std::move(what));
    all = false;
  }
  if (!all) return;
  for (size_t i = 1; i < extents.size(); ++i)
    if (extents[i].begin < extents[i - 1].end)
      return report(*extents[i].op, "begins at byte " + std::to_string(extents[i].begin) +
                                        " of shared memory, before the end of another, at " +
                                        std::to_string(extents[i - 1].end));
}

}  // namespace

void verify_lowered(const Module& lowered, const Report& report) {
  verify_workspace(lowered, report);
  if (lowered.target != "cpu") verify_shared(lowered, report);
}

TLXJIT_NAMESPACE_END
