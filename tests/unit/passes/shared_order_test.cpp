// tests/unit/passes/shared_order_test.cpp — what is put between accesses of an instance, which act in program order.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <gtest/gtest.h>

#include "tests/unit/passes/lowering.h"

namespace tlxjit {
namespace {

/// A task over one storage: `buf` tiles, `words` their elements one by one, `half` other tiles there; `other`, `full`
/// and `acc` are apart.
struct Fixture {
  Kernel k{"k"};
  Index n = k.dim("N");
  Tensor x = k.tensor<bf16>("x", {n, n}), y = k.tensor<bf16>("y", {n, n});
  SharedBuffer buf = k.buffer<bf16>(2, {64, 64});
  SharedBuffer words = k.buffer<int32_t>(1, {4096}, {.alias = buf});
  SharedBuffer half = k.buffer<bf16>(2, {64, 64}, {.alias = buf});
  SharedBuffer other = k.buffer<bf16>(1, {64, 64});
  Barrier full = k.barrier(1, 1);
  Tile tile;
  Accumulator acc;
};
using Action = std::function<void(Fixture&, Task&)>;

/// Ops on shared memory and what orders them, one word each.
std::string words_of(const Block& block) {
  std::string text;
  for (const auto& op : block.ops) {
    switch (op->code) {
      case OpCode::buffer_get: text += "get "; break;
      case OpCode::buffer_put: text += "put "; break;
      case OpCode::buffer_store: text += "store "; break;
      case OpCode::view_load: text += "load "; break;
      case OpCode::copy_load: text += "in "; break;
      case OpCode::copy_store: text += "out "; break;
      case OpCode::copy_drain: text += "drain "; break;
      case OpCode::copy_lanes: text += "lanes "; break;
      case OpCode::copy_wait: text += "mine "; break;
      case OpCode::arrive: text += "arrive "; break;
      case OpCode::wait: text += "wait "; break;
      case OpCode::expect: text += "expect "; break;
      case OpCode::dot: text += "dot "; break;
      case OpCode::dot_wait: text += "done "; break;
      case OpCode::fence: text += "fence "; break;
      case OpCode::sync: text += "sync "; break;
      case OpCode::for_:
      case OpCode::if_:
        text += "{ ";
        for (const Block& region : op->regions) text += words_of(region);
        text += "} ";
        break;
      default: break;
    }
  }
  return text;
}

/// The lowered task, without the waits at its end for what is still under way.
std::string task_of(const std::vector<Action>& actions, int warps = 4, bool whole = false) {
  Fixture f;
  f.k.grid(f.n);
  f.k.task("t").warps(warps).body([&](Task& t) {
    f.acc = t.accumulator<float>({64, 64});
    f.tile = t.full<bf16>({64, 64}, 0);
    for (const Action& action : actions) action(f, t);
  });
  auto module = lowered(f.k, "sm_90a");
  EXPECT_TRUE(module) << to_string(module.error());
  std::string text;
  if (module)
    for (const auto& op : module->body.ops)
      if (op->code == OpCode::task) text = words_of(op->regions[0]);
  for (const char* end : {"drain ", "done "})
    if (!whole && text.ends_with(end)) text.resize(text.size() - std::string_view(end).size());
  return text;
}

const Action get = [](Fixture& f, Task&) { (void)f.words.get(0, 0); };
const Action load = [](Fixture& f, Task&) { (void)f.buf[0].load(); };
const Action store = [](Fixture& f, Task&) { f.buf[0].store(f.tile); };
const Action store_half = [](Fixture& f, Task&) { f.half[0].store(f.tile); };
const Action put = [](Fixture& f, Task&) { f.words.put(0, 0, 1); };
const Action in = [](Fixture& f, Task&) { f.full[0].load(f.buf[0], f.x, {0, 0}); };
const Action out = [](Fixture& f, Task&) { f.buf[0].copy_to(f.y, {0, 0}); };
const Action drain = [](Fixture& f, Task&) { f.k.copies_drain(0, true); };
const Action lanes = [](Fixture& f, Task&) { f.buf[0].copy_lanes(f.x, {0, 0}); };
const Action lanes_wait = [](Fixture& f, Task&) { f.k.lanes_wait(); };
const Action dot = [](Fixture& f, Task&) { f.acc.dot(f.buf[0], f.buf[0].t()); };
const Action wait = [](Fixture& f, Task&) { f.full[0].wait(0); };
const Action arrive = [](Fixture& f, Task&) { f.full[0].arrive(); };
const Action fence = [](Fixture& f, Task&) { f.k.fence(); };
const Action meet = [](Fixture&, Task& t) { t.sync(); };

// The table of docs/design/0004-by-hand.md.
TEST(SharedOrder, EachPair) {
  struct First {
    std::vector<Action> ops;
    const char* text;
    const char* before[6];  // a read, a store, a put, a copy in, a copy out, a dot
  };
  const std::pair<Action, const char*> second[] = {{get, "get "}, {store, "store "}, {put, "put "},
                                                   {in, "in "},   {out, "out "},     {dot, "dot "}};
  const First rows[] = {
      {{get}, "get ", {"", "sync ", "sync ", "sync ", "", ""}},
      {{load}, "load ", {"", "sync ", "sync ", "sync ", "", ""}},
      {{store_half}, "store ", {"sync ", "sync ", "sync ", "fence sync ", "fence sync ", "fence sync "}},
      {{put}, "put ", {"sync ", "sync ", "", "fence ", "fence ", "fence sync "}},
      {{in, wait}, "in wait ", {"", "", "", "", "", ""}},
      {{out, drain}, "out drain ", {"", "sync ", "", "", "", ""}},
      {{lanes, lanes_wait}, "lanes mine ", {"sync ", "sync ", "sync ", "fence sync ", "fence sync ", "fence sync "}},
      {{dot}, "dot ", {"", "done ", "done ", "done ", "", ""}},
  };
  for (const First& row : rows)
    for (size_t i = 0; i < std::size(second); ++i) {
      std::vector<Action> actions = row.ops;
      actions.push_back(second[i].first);
      EXPECT_EQ(task_of(actions), std::string(row.text) + row.before[i] + second[i].second);
    }
}

TEST(SharedOrder, EachThreadStoresTheSameElements) {
  EXPECT_EQ(task_of({store, store}), "store store ");
  EXPECT_EQ(task_of({store, store_half, store}), "store sync store sync store ");
}

TEST(SharedOrder, WhatStandsThereIsNotRepeated) {
  EXPECT_EQ(task_of({store, fence, meet, out}), "store fence sync out ");
  EXPECT_EQ(task_of({store, meet, fence, out}), "store sync fence out ");
  EXPECT_EQ(task_of({store, fence, out}), "store fence sync out ");
  EXPECT_EQ(task_of({store, meet, dot}), "store sync fence dot ");
  EXPECT_EQ(task_of({store, dot, dot}), "store fence sync dot dot ");
  EXPECT_EQ(task_of({put, meet, get}), "put sync get ");
  EXPECT_EQ(task_of({out, drain, meet, store}), "out drain sync store ");
  EXPECT_EQ(task_of({store, fence, store, out}), "store fence store fence sync out ") << "after the fence";
  EXPECT_EQ(task_of({put, get, get, out}), "put sync get get fence out ");
  EXPECT_EQ(task_of({store, arrive, put}), "store sync arrive put ");
}

TEST(SharedOrder, TheOthersLearnOfADrainOnlyWhenTheyMeetAfterIt) {
  EXPECT_EQ(task_of({out, meet, drain, store}), "out sync drain sync store ");
  const Action some = [](Fixture& f, Task&) { f.k.copies_drain(1, true); };
  EXPECT_EQ(task_of({out, some, store, some, store}), "out drain sync store drain sync store ");
  EXPECT_EQ(task_of({out, drain, store, drain, store}), "out drain sync store drain store ") << "no copy in between";
}

// A thread that is two phases late takes one for the other.
TEST(SharedOrder, OneThreadArrivesWhenAllAreThroughTheirWaits) {
  const Action expect = [](Fixture& f, Task&) { f.full[0].expect(f.buf.bytes()); };
  const Action warps = [](Fixture& f, Task&) { f.full[0].arrive({.per = Arrive::per_warp}); };
  EXPECT_EQ(task_of({wait, arrive, arrive}), "wait sync arrive arrive ");
  EXPECT_EQ(task_of({wait, warps}), "wait arrive ");
  EXPECT_EQ(task_of({wait, meet, arrive}), "wait sync arrive ");
  EXPECT_EQ(task_of({wait, dot, arrive}), "wait dot done arrive ") << "a dot has no end before all threads issue it";
  EXPECT_EQ(task_of({wait, expect, in}), "wait sync expect in ");
  EXPECT_EQ(task_of({wait, arrive}, 1), "wait sync arrive ");
}

TEST(SharedOrder, OtherStorageIsApart) {
  const Action store_other = [](Fixture& f, Task&) { f.other[0].store(f.tile); };
  const Action out_other = [](Fixture& f, Task&) { f.other[0].copy_to(f.y, {0, 0}); };
  EXPECT_EQ(task_of({store_other, get, put, dot}), "store get sync put fence sync dot ");
  EXPECT_EQ(task_of({out_other, drain, store}), "out drain store ");
  EXPECT_EQ(task_of({load, store_other, in}), "load store sync in ");
}

TEST(SharedOrder, RoundALoopAndOverBranches) {
  // The copy of one round reads what the next one writes.
  const Action rounds = [](Fixture& f, Task&) {
    f.k.range(f.n).each([&] {
      f.k.copies_drain(0, true);
      f.buf[0].store(f.tile);
      f.k.fence();
      f.buf[0].copy_to(f.y, {0, 0});
    });
  };
  EXPECT_EQ(task_of({rounds}), "{ drain sync store fence sync out } ");
  const Action counts = [](Fixture& f, Task&) {
    f.k.range(f.n).each([&] {
      const Scalar now = f.words.get(0, 0);
      f.words.put(0, 0, now);
    });
  };
  EXPECT_EQ(task_of({counts}), "{ sync get sync put } ");
  const Action branch = [](Fixture& f, Task&) { f.k.when(f.n > 1, [&] { f.buf[0].store(f.tile); }); };
  EXPECT_EQ(task_of({branch, dot}), "{ store } fence sync dot ");
  EXPECT_EQ(task_of({branch, meet, get}), "{ store } sync get ");
}

// Whoever receives a schedule's tiles reads them from a buffer that its barriers guard.
TEST(SharedOrder, BuffersOfTheLoweringAreOrderedByTheirBarriers) {
  Kernel k{"k"};
  const Index n = k.dim("N", 1);
  const Tensor x = k.tensor<bf16>("x", {n, n});
  auto buf = k.buffer<bf16>(1, {64, 64});
  auto full = k.barrier(1, 1);
  auto tiles = k.dynamic(n, [](Index t) -> TileAt { return {t >= 0, {t}}; });
  k.task("first").warps(4).body([&](Task& t) {
    auto acc = t.accumulator<float>({64, 64});
    tiles.each([&](Index) {
      acc.dot(buf[0], buf[0].t());
      full[0].arrive();
    });
  });
  k.task("second").warps(4).body([&](Task& t) {
    auto acc = t.accumulator<float>({64, 64});
    tiles.each([&](Index) {
      acc.dot(buf[0], buf[0].t());
      full[0].arrive();
    });
  });
  auto module = lowered(k, "sm_90a");
  ASSERT_TRUE(module) << to_string(module.error());
  walk(module->body, [](const Op& op) { EXPECT_NE(op.code, OpCode::sync); });
}

// In a task of one thread only the other path to memory is to be ordered.
TEST(SharedOrder, OneThreadNeedsNoMeeting) {
  Kernel k{"k"};
  const Index n = k.dim("N");
  const Tensor y = k.tensor<int32_t>("y", {n});
  auto words = k.buffer<int32_t>(1, {64});
  auto full = k.barrier(1, 1);
  k.grid(n);
  k.task("t").warps(4).body([&] {
    words.put(0, 0, 1);
    words[0].copy_to(y, {0});
    k.copies_drain(0, true);
    words.put(0, 0, 2);
    words[0].copy_to(y, {64});
    full[0].wait(0);
    full[0].arrive();
  });
  auto module = lowered(k, "sm_90a");
  ASSERT_TRUE(module) << to_string(module.error());
  for (const auto& op : module->body.ops) {
    if (op->code != OpCode::task) continue;
    EXPECT_EQ(words_of(op->regions[0]), "put fence out drain put fence out wait arrive drain ");
  }
}

}  // namespace
}  // namespace tlxjit
