// backends/nvidia/sass_loops.cpp — control flow of SASS: blocks, dominators, natural loops.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Address ranges of backward branches would not do: ptxas moves the slow path of a wait behind the
// kernel's end, and the branch back from there seems to enclose the whole epilogue.
#include <algorithm>
#include <map>

#include "backends/nvidia/sass_p.h"

TLXJIT_NAMESPACE_BEGIN
namespace nvidia {
namespace {

enum : unsigned {
  op_bsync = 0x941,
  op_call = 0x944,
  op_bssy = 0x945,
  op_bra = 0x947,
  op_brx = 0x949,
  op_exit = 0x94d,
  op_ret = 0x950
};

constexpr int sign_extend(uint64_t value, int bits) { return int(int64_t(value << (64 - bits)) >> (64 - bits)); }

// Whether nothing follows: no guard, and no condition operand beside it.
bool unconditional(const SassInstruction& i) {
  const bool guard_true = (i.lo >> 12 & 15) == 7;
  const bool operand_true = (i.hi >> 23 & 15) == 7;
  const bool uniform_form = (i.lo >> 32 & 3) != 0;  // BRA.U asks a uniform predicate
  return guard_true && operand_true && !(i.opcode() == op_bra && uniform_form);
}

struct Graph {
  std::vector<int> first;  // block -> first instruction; one more at the end
  std::vector<std::vector<int>> next, previous;
  int blocks() const { return int(next.size()); }
};

Graph build(std::span<const SassInstruction> code) {
  const int n = int(code.size());
  // BSYNC goes to where the BSSY of the same barrier register said.
  std::map<unsigned, std::vector<int>> reconverge;
  std::vector<std::vector<int>> edges(static_cast<size_t>(n));
  for (int i = 0; i < n; ++i)
    if (code[i].opcode() == op_bssy) reconverge[unsigned(code[i].lo >> 16 & 15)].push_back(sass_target(code[i], i));
  std::vector<bool> leader(static_cast<size_t>(n) + 1);
  leader[0] = true;
  for (int i = 0; i < n; ++i) {
    auto& out = edges[size_t(i)];
    bool falls = true, ends = true;
    switch (code[i].opcode()) {
      case op_bra:
        out.push_back(sass_target(code[i], i));
        falls = !unconditional(code[i]);
        break;
      case op_brx: falls = false; break;
      case op_exit:
      case op_ret: falls = !unconditional(code[i]); break;
      case op_bsync:
        out = reconverge[unsigned(code[i].lo >> 16 & 15)];
        falls = out.empty() || !unconditional(code[i]);
        break;
      case op_call:
        leader[size_t(std::clamp(sass_target(code[i], i), 0, n))] = true;
        ends = false;
        break;
      default: ends = false;
    }
    std::erase_if(out, [n](int t) { return t < 0 || t >= n; });
    for (int t : out) leader[size_t(t)] = true;
    if (falls && i + 1 < n) out.push_back(i + 1);
    if (ends) leader[size_t(i) + 1] = true;
  }
  Graph graph;
  std::vector<int> block(static_cast<size_t>(n));
  for (int i = 0; i < n; ++i) {
    if (leader[size_t(i)]) graph.first.push_back(i);
    block[size_t(i)] = int(graph.first.size()) - 1;
  }
  graph.next.resize(graph.first.size());
  graph.previous.resize(graph.first.size());
  graph.first.push_back(n);
  for (int b = 0; b < graph.blocks(); ++b)
    for (int t : edges[size_t(graph.first[size_t(b) + 1] - 1)]) {
      graph.next[size_t(b)].push_back(block[size_t(t)]);
      graph.previous[size_t(block[size_t(t)])].push_back(b);
    }
  return graph;
}

std::vector<int> reverse_postorder(const Graph& graph) {
  std::vector<int> order;
  std::vector<bool> seen(size_t(graph.blocks()));
  std::vector<std::pair<int, size_t>> stack{{0, 0}};
  seen[0] = true;
  while (!stack.empty()) {
    auto& [b, at] = stack.back();
    if (at == graph.next[size_t(b)].size()) {
      order.push_back(b);
      stack.pop_back();
      continue;
    }
    const int t = graph.next[size_t(b)][at++];
    if (!seen[size_t(t)]) {
      seen[size_t(t)] = true;
      stack.push_back({t, 0});
    }
  }
  std::reverse(order.begin(), order.end());
  return order;
}

// Immediate dominators by the iteration of Cooper, Harvey and Kennedy; -1 where unreachable.
std::vector<int> dominators(const Graph& graph, const std::vector<int>& order) {
  std::vector<int> rank(size_t(graph.blocks()), -1), idom(size_t(graph.blocks()), -1);
  for (size_t i = 0; i < order.size(); ++i) rank[size_t(order[i])] = int(i);
  idom[0] = 0;
  for (bool changed = true; changed;) {
    changed = false;
    for (int b : order) {
      if (b == 0) continue;
      int best = -1;
      for (int p : graph.previous[size_t(b)]) {
        if (idom[size_t(p)] < 0) continue;
        if (best < 0) best = p;
        for (int q = p; q != best;) {
          while (rank[size_t(q)] > rank[size_t(best)]) q = idom[size_t(q)];
          while (rank[size_t(best)] > rank[size_t(q)]) best = idom[size_t(best)];
        }
      }
      changed |= idom[size_t(b)] != best;
      idom[size_t(b)] = best;
    }
  }
  return idom;
}

bool dominates(const std::vector<int>& idom, int a, int b) {
  while (b != a && b != 0) b = idom[size_t(b)];
  return b == a;
}

}  // namespace

int sass_target(const SassInstruction& i, int index) {
  int words = 0;  // distance in units of four bytes from the next instruction
  switch (i.opcode()) {
    case op_bra:
    case op_call: words = sign_extend((i.lo >> 34) << 8 | (i.lo >> 16 & 0xff), 38); break;
    case op_bssy: words = sign_extend(i.lo >> 34, 30); break;
    default: return -1;
  }
  return index + 1 + words / 4;
}

std::vector<SassLoop> sass_loops(std::span<const SassInstruction> code) {
  if (code.empty()) return {};
  const Graph graph = build(code);
  const auto order = reverse_postorder(graph);
  const auto idom = dominators(graph, order);
  std::map<int, std::vector<bool>> bodies;  // by header block
  for (int tail : order)
    for (int head : graph.next[size_t(tail)]) {
      if (!dominates(idom, head, tail)) continue;
      auto& body = bodies.try_emplace(head, size_t(graph.blocks())).first->second;
      body[size_t(head)] = true;
      std::vector<int> work{tail};
      while (!work.empty()) {
        const int b = work.back();
        work.pop_back();
        if (body[size_t(b)] || idom[size_t(b)] < 0) continue;
        body[size_t(b)] = true;
        for (int p : graph.previous[size_t(b)]) work.push_back(p);
      }
    }
  std::vector<SassLoop> loops;
  for (const auto& [head, body] : bodies) {
    SassLoop loop{graph.first[size_t(head)], std::vector<bool>(code.size())};
    for (int b = 0; b < graph.blocks(); ++b)
      if (body[size_t(b)])
        for (int i = graph.first[size_t(b)]; i < graph.first[size_t(b) + 1]; ++i) loop.in_body[size_t(i)] = true;
    loops.push_back(std::move(loop));
  }
  return loops;
}

}  // namespace nvidia
TLXJIT_NAMESPACE_END
