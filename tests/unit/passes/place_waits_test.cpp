// tests/unit/passes/place_waits_test.cpp — where waits, fences and releases land.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "src/passes/place_waits_p.h"

#include <gtest/gtest.h>

#include "tests/unit/passes/lowering.h"
#include "tlxjit/ir/text.h"
#include "tlxjit/kernels/attention.h"
#include "tlxjit/kernels/gemm.h"

namespace tlxjit {
namespace {

/// The synchronisation of a block, one word an op: what place_waits decides, in order; `memory`: with stores and syncs.
std::string skeleton(const Block& block, bool memory = false) {
  std::string text;
  for (const auto& op : block.ops) {
    switch (op->code) {
      case OpCode::dot_fence: text += "fence "; break;
      case OpCode::dot: text += "dot:" + std::string(op->attrs.text("overwrite")) + " "; break;
      case OpCode::dot_wait: text += "wait" + std::to_string(op->attrs.integer("pending")) + " "; break;
      case OpCode::wait: text += "full "; break;
      case OpCode::arrive: text += "free "; break;
      case OpCode::sync: text += memory ? "sync " : ""; break;
      case OpCode::view_load: text += "load "; break;
      case OpCode::buffer_store: text += memory ? "store " : ""; break;
      case OpCode::copy_load: text += "copy "; break;
      case OpCode::acc_read: text += "read "; break;
      case OpCode::acc_write: text += "write "; break;
      case OpCode::cast: text += op->results.size() ? "cast " : ""; break;
      case OpCode::for_:
      case OpCode::while_: {
        text += "{ ";
        for (const Block& region : op->regions) text += skeleton(region, memory);
        text += "} ";
        break;
      }
      default: break;
    }
  }
  return text;
}

std::string consumer_skeleton(const Kernel& kernel) {
  auto module = kernel.module();
  EXPECT_TRUE(module.ok()) << to_string(module.error());
  auto lowered = lower(*module, with_all_ops("sm_90a"));
  EXPECT_TRUE(lowered.ok()) << to_string(lowered.error());
  for (const auto& op : lowered->body.ops)
    if (op->code == OpCode::task && op->attrs.text("name") == "consumer") return skeleton(op->regions[0]);
  return "no consumer";
}

// The cursors' wrap is a cast of b1 to i32; it follows each free of a ring with several slots.
TEST(PlaceWaits, GemmReleasesEachSlotAfterItsDots) {
  EXPECT_EQ(consumer_skeleton(gemm(gemm_config("sm_90a"))),
            "{ { full fence dot:unless wait0 free cast } read cast read cast read cast read cast } ");
}

TEST(PlaceWaits, AttentionKeepsTheYoungerDotInFlight) {
  EXPECT_EQ(consumer_skeleton(attention(attention_config("sm_90a"))),
            "{ full free cast "                                         // the tile's indices
            "full full fence dot:always wait0 free cast read cast "     // first key block
            "{ full fence dot:always full dot:unless wait1 free cast "  // scores, then values of the former block
            "read wait0 free cast read write cast } "                   // softmax; rescale; only then the weights
            "free full fence dot:unless wait0 free cast read cast } ");
}

/// A task over a ring with accumulators, for small cases.
struct Case {
  Kernel k{"k"};
  Index n = k.dim("N", 1);
  Tensor x = k.tensor<bf16>("x", {n, n});
  Tensor y = k.tensor<float>("y", {n, n});
  Ring ring = k.ring(2).slot<bf16>("a", {64, 64});

  std::string consumer(const std::function<void(Task&)>& body) {
    k.grid(n);
    k.task("producer").warps(1).body([&] { k.range(n).each([&] { ring.acquire().load("a", x, {0, 0}); }); });
    k.task("consumer").body(body);
    return consumer_skeleton(k);
  }
};

TEST(PlaceWaits, AReadWaitsForItsOwnSumsOnly) {
  Case c;
  EXPECT_EQ(c.consumer([&](Task& t) {
    const Accumulator a = t.accumulator<float>({64, 64}), b = t.accumulator<float>({64, 64});
    const Slot slot = c.ring.wait();
    a.dot(slot["a"], slot["a"]);
    b.dot(slot["a"], slot["a"]);
    c.y.store({0, 0}, a.read());
    c.y.store({0, 64}, b.read());
  }),
            "full fence dot:always dot:always wait1 read wait0 free cast read ");
}

TEST(PlaceWaits, AnOlderDotOnOnePathCountsWithTheFewestYounger) {
  Case c;
  const std::string text = c.consumer([&](Task& t) {
    const Accumulator a = t.accumulator<float>({64, 64}), b = t.accumulator<float>({64, 64});
    const Slot slot = c.ring.wait();
    a.dot(slot["a"], slot["a"]);
    c.k.when(c.n > 5, [&] { b.dot(slot["a"], slot["a"]); });
    c.y.store({0, 0}, a.read());
  });
  EXPECT_NE(text.find("wait0 free cast read"), std::string::npos) << "one path has no younger group: " << text;
}

TEST(PlaceWaits, ExplicitReleaseMovesToWhereItsReadsAreComplete) {
  Case c;
  EXPECT_EQ(c.consumer([&](Task& t) {
    const Accumulator a = t.accumulator<float>({64, 64});
    c.k.range(c.n).each([&] {
      const Slot slot = c.ring.wait();
      a.dot(slot["a"], slot["a"]);
      slot.release();
    });
    c.y.store({0, 0}, a.read());
  }),
            "{ full fence dot:unless wait0 free cast } read ");
}

TEST(PlaceWaits, AnUnreadSlotIsFreedAtOnce) {
  Case c;
  EXPECT_EQ(c.consumer([&](Task&) { c.k.range(c.n).each([&] { (void)c.ring.wait(); }); }), "{ full free cast } ");
}

TEST(PlaceWaits, DotsInFlightAtTheEndAreWaitedFor) {
  Case c;
  EXPECT_EQ(c.consumer([&](Task& t) {
    const Accumulator a = t.accumulator<float>({64, 64});
    const Slot slot = c.ring.wait();
    a.dot(slot["a"], slot["a"]);
  }),
            "full fence dot:always wait0 free cast ");
}

/// The consumer's skeleton of a kernel whose consumer is `body`, for the CPU.
std::string by_hand(const std::function<void(Kernel&, Task&, SharedBuffer, Barrier, Accumulator)>& body,
                    int warps = 4) {
  Kernel k{"k"};
  const Index n = k.dim("N");
  (void)k.tensor<bf16>("x", {n});
  auto buf = k.buffer<bf16>(2, {64, 64});
  auto barrier = k.barrier(2, 1);
  k.grid(n);
  k.task("consumer").warps(warps).body([&](Task& t) { body(k, t, buf, barrier, t.accumulator<float>({64, 64})); });
  auto module = k.module();
  EXPECT_TRUE(module.ok()) << to_string(module.error());
  auto lowered = lower(*module, *find_target("cpu"));
  EXPECT_TRUE(lowered.ok()) << to_string(lowered.error());
  for (const auto& op : lowered->body.ops)
    if (op->code == OpCode::task) return skeleton(op->regions[0], true);
  return "no consumer";
}

TEST(PlaceWaits, AnArrivalByHandComesAfterTheDots) {
  EXPECT_EQ(by_hand([](Kernel&, Task&, SharedBuffer buf, Barrier barrier, Accumulator acc) {
              acc.dot(buf[0], buf[0].t());
              barrier[0].arrive();
              barrier[1].arrive();
            }),
            "fence dot:always wait0 free free ");
  EXPECT_EQ(by_hand([](Kernel&, Task&, SharedBuffer buf, Barrier barrier, Accumulator acc) {
              acc.dot(buf[0], buf[0].t());
              acc.dot(buf[1], buf[1].t());
              barrier[0].arrive({.dots = 1});
              barrier[0].arrive({.dots = 7});
              barrier[1].arrive({.per = Arrive::per_warp});
            }),
            "fence dot:always dot:never wait1 free free wait0 free ");
  EXPECT_EQ(by_hand([](Kernel& k, Task&, SharedBuffer buf, Barrier barrier, Accumulator acc) {
              acc.dot(buf[0], buf[0].t());
              k.dots_wait();
              barrier[0].arrive();
            }),
            "fence dot:always wait0 free ");
}

TEST(PlaceWaits, WritesToABufferComeAfterTheDotsThatReadIt) {
  EXPECT_EQ(by_hand([](Kernel& k, Task& t, SharedBuffer buf, Barrier, Accumulator acc) {
              (void)k;
              acc.dot(buf[0], buf[0].t());
              buf[1].store(t.full<bf16>({64, 64}, 0));
            }),
            "fence dot:always wait0 store ");
}

TEST(PlaceWaits, OneThreadActsForAllThatHaveMet) {
  const auto body = [](Kernel&, Task&, SharedBuffer buf, Barrier barrier, Accumulator) {
    (void)buf[0].load();
    barrier[0].arrive();
    barrier[1].arrive();
    (void)buf[1].load();
    barrier[1].arrive({.per = Arrive::per_warp});
  };
  EXPECT_EQ(by_hand(body), "load sync free free load free ");
  EXPECT_EQ(by_hand(body, 1), "load sync free free load free ") << "one warp, whose threads may part too";
}

// Moved down to the assignment, the split would come after the store that reads its other result.
TEST(PlaceWaits, AnOpOfSeveralResultsStaysWhereItIs) {
  Kernel k{"split"};
  const Tensor x = k.tensor<bf16>("x", {64, 64}), out = k.tensor<bf16>("out", {64, 64});
  Ring ring = k.ring(2).slot<bf16>("b", {64, 64});
  k.grid(1);
  k.task("producer").warps(1).body([&] { k.range(4).each([&] { ring.acquire().load("b", x, {0, 0}); }); });
  k.task("consumer").body([&](Task& t) {
    const Accumulator acc = t.accumulator<float>({64, 64});
    Tile a = t.full<bf16>({64, 64}, 1);
    k.range(4).each([&] {
      acc.dot(a, ring.wait()["b"].t());
      const auto [first, second] = split(join(a, a));
      out.store({0, 0}, second);
      a = first;
    });
    out.store({0, 0}, acc.read().to<bf16>());
  });
  auto module = k.module();
  ASSERT_TRUE(module) << to_string(module.error());
  auto lowered = lower(*module, *find_target("cpu"));
  ASSERT_TRUE(lowered) << to_string(lowered.error());
}

}  // namespace
}  // namespace tlxjit
