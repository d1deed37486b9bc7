// tests/unit/passes/lower_test.cpp — what lowering makes of rings, schedules and stores.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "src/passes/lower_p.h"

#include "tests/unit/passes/lowering.h"
#include "tlxjit/ir/text.h"
#include "tlxjit/ir/verify.h"
#include "tlxjit/kernels/attention.h"
#include "tlxjit/kernels/gemm.h"

namespace tlxjit {
namespace {

TEST(Lower, ATargetThatLacksWhatAnOpNeedsRefusesIt) {
  auto module = lowered(gemm(gemm_config("cpu")), "cpu");
  ASSERT_TRUE(module.ok());
  EXPECT_TRUE(check_capabilities(*module, *find_target("cpu")).ok());
  Target bare;
  bare.name = "bare";
  auto checked = check_capabilities(*module, bare);
  ASSERT_FALSE(checked.ok());
  EXPECT_EQ(checked.error().message, "copy.load: bare has no tma; targets that have it: cpu, sm_90a");
  EXPECT_EQ(checked.error().code, ErrorCode::unsupported);
  EXPECT_NE(checked.error().location.line, 0u);
}

TEST(Lower, NoPortableOpSurvives) {
  for (const char* target : {"cpu", "sm_90a"}) {
    auto module = lowered(gemm(gemm_config(target)), target);
    ASSERT_TRUE(module.ok()) << to_string(module.error());
    walk(module->body, [&](const Op& op) { EXPECT_NE(info(op.code).level, Level::portable) << info(op.code).text; });
    EXPECT_TRUE(verify(*module).empty());
    EXPECT_EQ(module->target, target);
  }
}

TEST(Lower, GemmForHopperIsStagedAndFitsTheChip) {
  auto module = lowered(gemm(gemm_config("sm_90a")), "sm_90a");
  ASSERT_TRUE(module.ok()) << to_string(module.error());
  EXPECT_EQ(module->attrs.integer("threads"), 384);
  EXPECT_LE(module->attrs.integer("shared_bytes"), 232448);
  EXPECT_EQ(count_of(*module, OpCode::copy_store), 4u) << "four slabs";
  EXPECT_EQ(count_of(*module, OpCode::tile_store), 0u);
  EXPECT_EQ(count_of(*module, OpCode::copy_load), 2u);
}

TEST(Lower, TheCpuStoresElementByElement) {
  auto module = lowered(gemm(gemm_config("cpu")), "cpu");
  ASSERT_TRUE(module.ok()) << to_string(module.error());
  EXPECT_EQ(count_of(*module, OpCode::copy_store), 0u);
  EXPECT_EQ(count_of(*module, OpCode::tile_store), 1u);
}

TEST(Lower, BuffersAndBarriersDoNotOverlap) {
  auto module = lowered(attention(attention_config("sm_90a")), "sm_90a");
  ASSERT_TRUE(module.ok()) << to_string(module.error());
  std::vector<std::pair<int64_t, int64_t>> spans;
  for (const auto& op : module->body.ops) {
    if (op->code != OpCode::buffer && op->code != OpCode::barrier) continue;
    const Type& type = module->type(op->results[0]);
    const int64_t size =
        op->code == OpCode::barrier ? 8 * type.slots : type.slots * type.shape.elements() * bytes(type.elem);
    const int64_t at = op->attrs.integer("offset", -1);
    ASSERT_GE(at, 0);
    EXPECT_EQ(at % (op->code == OpCode::barrier ? 8 : op->attrs.integer("swizzle") ? 1024 : 16), 0);
    for (const auto& [begin, end] : spans) EXPECT_TRUE(at >= end || at + size <= begin);
    spans.emplace_back(at, at + size);
  }
  EXPECT_GE(spans.size(), 10u);
}

TEST(Lower, ADynamicScheduleHasACounterAndAHiddenRing) {
  auto module = lowered(attention(attention_config("sm_90a")), "sm_90a");
  ASSERT_TRUE(module.ok());
  EXPECT_EQ(count_of(*module, OpCode::workspace), 1u);
  EXPECT_EQ(count_of(*module, OpCode::workspace_add), 2u) << "take a tile; count finished programs";
  const std::string text = print(*module);
  EXPECT_NE(text.find("barrier [count = 1, name = \"tiles.full\""), std::string::npos);
  EXPECT_NE(text.find("barrier [count = 8, name = \"tiles.free\""), std::string::npos) << "two consumers of four warps";
  EXPECT_NE(text.find("name = \"ring0.free\""), std::string::npos);
}

TEST(Lower, WindowsBecomeBounds) {
  AttentionOptions jagged;
  jagged.jagged = true;
  auto module = lowered(attention(attention_config("sm_90a", jagged)), "sm_90a");
  ASSERT_TRUE(module.ok()) << to_string(module.error());
  int ragged = 0;
  walk(module->body, [&](const Op& op) {
    if (op.code != OpCode::copy_load && op.code != OpCode::copy_store) return;
    EXPECT_EQ(op.attrs.integer("ragged"), 0);
    EXPECT_EQ(op.attrs.list("box").size(), 3u);
    ++ragged;
  });
  EXPECT_EQ(ragged, 6) << "q, k and v twice, out";
}

TEST(Lower, BL_172_SharedMemoryToTheByte) {
  const auto asked = [](int64_t bytes, int64_t limit) -> std::string {
    Kernel k{"k"};
    k.grid(1);
    auto buf = k.buffer<uint8_t>(1, {bytes});
    k.task("t").body([&](Task&) { buf.put(0, 0, 0); });
    Target target = *find_target("cpu");
    target.shared_limit = limit;
    auto module = lower(*k.module(), target);
    return module ? "accepted" : module.error().message;
  };
  const auto refusal = [](int64_t needs, int64_t has) {
    return "buffer: the kernel needs " + std::to_string(needs) + " bytes of shared memory, cpu has " +
           std::to_string(has) + "; the largest part (" + std::to_string(needs) +
           " bytes) is made here: use fewer stages or smaller tiles";
  };
  EXPECT_EQ(asked(65536, 65536), "accepted");
  EXPECT_EQ(asked(65538, 65536), refusal(65552, 65536)) << "in units of 16";
  EXPECT_EQ(asked(232449, 65536), refusal(232464, 65536));
  EXPECT_EQ(asked(232448, 232448), "accepted");
  EXPECT_EQ(asked(232449, 232448), refusal(232464, 232448));
}

TEST(Lower, BuffersThatShareStorageCostNothing) {
  const auto bytes = [](bool alias) {
    Kernel k{"k"};
    k.grid(1);
    auto a = k.buffer<bf16>(2, {64, 64});
    auto b = alias ? k.buffer<float>(1, {64, 32}, {.alias = a, .offset = 8192}) : a;
    k.task("t").body([&](Task&) {
      (void)a[0].load();
      (void)b[0].load();
    });
    auto module = lower(*k.module(), *find_target("cpu"));
    EXPECT_TRUE(module.ok()) << to_string(module.error());
    return module->attrs.integer("shared_bytes");
  };
  EXPECT_EQ(bytes(true), bytes(false));
  Kernel k{"k"};
  k.grid(1);
  auto a = k.buffer<bf16>(2, {64, 64});
  auto b = k.buffer<float>(1, {32, 32}, {.alias = a, .offset = 512});
  k.task("t").body([&](Task&) { (void)b[0].load(); });
  EXPECT_EQ(refusal(k),
            "buffer: a swizzled buffer begins on a multiple of 1024 bytes, not on byte 512 of what it shares");
}

TEST(Lower, CountsArrivalsOfFillersAndDrainers) {
  // (fillers, drainers): counts of the ring's barriers. Two replicas alternate; a task of four warps reads tiles.
  const auto counts = [](bool alternate, bool tiles) {
    Kernel k{"k"};
    const Index n = k.dim("N");
    const Tensor x = k.tensor<bf16>("x", {n, n});
    Ring ring = k.ring(2).slot<bf16>("a", {64, 64}).slot<bf16>("b", {64, 64});
    if (alternate) ring.fillers(1);
    k.grid(n);
    if (alternate)
      k.task("producer").warps(1).replicas(2).body([&](Task& t) {
        ring.skip_fill(t.replica());
        auto slot = ring.acquire();
        slot.load("a", x, {0, 0});
        slot.load("b", x, {0, 0});
        ring.skip_fill(1);
      });
    for (const char* field : {"a", "b"})
      if (!alternate)
        k.task(std::string("producer of ") + field).warps(1).body([&] { ring.acquire().load(field, x, {0, 0}); });
    k.task("consumer").replicas(2).body([&](Task& t) {
      auto slot = ring.wait();
      if (tiles)
        (void)slot["a"].load();
      else
        t.accumulator<float>({64, 64}).dot(slot["a"], slot["b"].t());
    });
    auto module = lowered(k, "cpu");
    EXPECT_TRUE(module.ok()) << to_string(module.error());
    std::vector<int64_t> result;
    walk(module->body, [&](const Op& op) {
      if (op.code == OpCode::barrier) result.push_back(op.attrs.integer("count"));
    });
    return result;
  };
  EXPECT_EQ(counts(true, false), (std::vector<int64_t>{1, 2}));
  EXPECT_EQ(counts(false, false), (std::vector<int64_t>{2, 2}));
  EXPECT_EQ(counts(false, true), (std::vector<int64_t>{2, 8})) << "each of four warps says that it has read";
}

TEST(Lower, ThreadsThatNothingElseGathersMeetBeforeOneLetsTheRingGoOn) {
  // What stands before the `expect` of the filler and the `arrive` of the drainer.
  const auto before = [](bool tiles, bool reads) {
    Kernel k{"k"};
    const Tensor x = k.tensor<bf16>("x", {k.dim("N"), 64}), y = k.tensor<bf16>("y", {k.dim("M"), 64});
    Ring ring = k.ring(2).slot<bf16>("x", {64, 64});
    k.grid(1);
    k.task("fill").warps(4).body([&](Task& t) {
      ring.acquire().load("x", x, {0, 0});
      if (tiles) y.store({0, 0}, t.full<bf16>({64, 64}, 1));
    });
    k.task("drain").warps(4).body([&](Task& t) {
      const Slot slot = ring.wait();
      if (reads) t.accumulator<float>({64, 64}).dot(slot["x"], slot["x"].t());
      slot.release();
      if (tiles) y.store({64, 0}, t.full<bf16>({64, 64}, 1));
    });
    auto module = lowered(k, "sm_90a");
    EXPECT_TRUE(module.ok()) << to_string(module.error());
    std::vector<OpCode> result;
    OpCode last{};
    walk(module->body, [&](const Op& op) {
      if (op.code == OpCode::expect || op.code == OpCode::arrive) result.push_back(last);
      last = op.code;
    });
    return result;
  };
  using Codes = std::vector<OpCode>;
  EXPECT_EQ(before(true, false), (Codes{OpCode::sync, OpCode::sync}));
  EXPECT_EQ(before(true, true), (Codes{OpCode::sync, OpCode::dot_wait})) << "the dot is a meeting";
  EXPECT_EQ(before(false, false), (Codes{OpCode::wait, OpCode::wait})) << "one thread does all of each task";
}

/// What follows the store of a tile to a slot in the same block.
TEST(Lower, BL_150_AStoreToASlotIsFencedForTheDotThatReadsIt) {
  Kernel k{"k"};
  const Tensor x = k.tensor<bf16>("x", {k.dim("N"), 64});
  Ring in = k.ring(2).slot<bf16>("x", {64, 64}), mid = k.ring(2).slot<bf16>("z", {64, 64});
  k.grid(1);
  k.task("load").warps(1).body([&] { in.acquire().load("x", x, {0, 0}); });
  k.task("pass").warps(4).body([&] {
    const Tile tile = in.wait()["x"].load();
    mid.acquire().store("z", tile);
  });
  k.task("dot").warps(4).body([&](Task& t) {
    const Slot slot = mid.wait();
    t.accumulator<float>({64, 64}).dot(slot["z"], slot["z"].t());
  });
  auto module = lowered(k, "sm_90a");
  ASSERT_TRUE(module.ok()) << to_string(module.error());
  std::vector<OpCode> after;
  bool stored = false;
  walk(module->body, [&](const Op& op) {
    if (op.code == OpCode::task) stored = false;
    if (stored) after.push_back(op.code);
    if (op.code == OpCode::buffer_store) stored = true;
  });
  ASSERT_GE(after.size(), 3u) << print(*module);
  after.resize(3);
  EXPECT_EQ(after, (std::vector<OpCode>{OpCode::fence, OpCode::sync, OpCode::arrive})) << print(*module);
}

TEST(Lower, LoweredModulesAreNotLoweredAgain) {
  auto module = lowered(gemm(gemm_config("cpu")), "cpu");
  ASSERT_TRUE(module.ok());
  auto again = lower(*module, *find_target("cpu"));
  ASSERT_FALSE(again.ok());
  EXPECT_EQ(again.error().message, "the module is lowered already, for cpu");
}

/// A kernel whose only task stores 64×64 tiles of bf16 to `x` and iterates 10 tiles of a counter.
struct Small {
  Kernel k{"k"};
  Index n = k.dim("N");
  Tensor x = k.tensor<bf16>("x", {n, n});
  Tile tile(Task& t) { return t.full<float>({64, 64}, 1).to<bf16>(); }
  Tiles tiles() {
    return k.dynamic(10, [&](Index t) -> TileAt { return {t >= 0, {t}}; });
  }
};

/// Slots of the staging buffer and the groups that may be in flight when a slot is used again.
std::pair<int, int64_t> staging_of(const Kernel& kernel) {
  auto module = lowered(kernel, "sm_90a");
  if (!module) return {-1, -1};
  std::pair<int, int64_t> found{0, 99};
  walk(module->body, [&](const Op& op) {
    if (op.code == OpCode::buffer) found.first = module->type(op.results[0]).slots;
    if (op.code == OpCode::copy_drain && op.attrs.integer("read") == 1)
      found.second = std::min(found.second, op.attrs.integer("pending"));
  });
  return found;
}

TEST(Lower, TwoStagingSlotsOnlyWhereStoresAlternateOnEveryPath) {
  const auto stores = [](const std::function<void(Small&, const Tile&)>& fn) {
    Small s;
    s.k.grid(1);
    s.k.task("t").body([&](Task& t) { fn(s, s.tile(t)); });
    return staging_of(s.k);
  };
  const std::pair<int, int64_t> two{2, 1}, one{1, 0};
  EXPECT_EQ(stores([](Small& s, const Tile& x) { s.x.store({0, 0}, x), s.x.store({64, 0}, x); }), two);
  EXPECT_EQ(stores([](Small& s, const Tile& x) {
              s.k.range(s.n).each([&] { s.x.store({0, 0}, x), s.x.store({64, 0}, x); });
            }),
            two);
  EXPECT_EQ(stores([](Small& s, const Tile& x) { s.x.store({0, 0}, x); }), one);
  EXPECT_EQ(stores([](Small& s, const Tile& x) {
              s.k.range(s.n).each([&] { s.x.store({0, 0}, x); });
              s.x.store({64, 0}, x);
            }),
            one);
  EXPECT_EQ(stores([](Small& s, const Tile& x) {
              s.k.when(s.n > 5, [&] { s.x.store({0, 0}, x); }, [&] { s.x.store({64, 0}, x); });
            }),
            one);
}

TEST(Lower, DeepNestsAndExpressionsTakeNoLonger) {
  Kernel k{"k"};
  const Index n = k.dim("N", 1);
  const Tensor x = k.tensor<bf16>("x", {n, n});
  const Tensor y = k.tensor<float>("y", {n, n});
  Ring ring = k.ring(2).slot<bf16>("a", {64, 64});
  k.grid(1);
  Index trips = n;
  for (int i = 0; i < 60; ++i) trips = ceil_div(trips, trips);
  k.task("p").warps(1).body([&] { k.range(n).each([&] { ring.acquire().load("a", x, {0, 0}); }); });
  k.task("c").body([&](Task& t) {
    Accumulator acc = t.accumulator<float>({64, 64});
    std::function<void(int)> nest = [&](int depth) {
      if (depth == 0) {
        const Slot slot = ring.wait();
        acc.dot(slot["a"], slot["a"]);
      } else {
        k.range(trips).each([&] { nest(depth - 1); });
      }
    };
    nest(40);
    y.store({0, 0}, acc.read());
  });
  EXPECT_EQ(refusal(k), "accepted");
}

TEST(Lower, ReadingWhatTheKernelWritesIsRefusedWhereNothingOrdersIt) {
  const auto build = [](Small& s) {
    s.k.grid(1);
    s.k.task("t").body([&](Task& t) {
      s.x.store({0, 0}, s.tile(t));
      (void)s.x.load({0, 0});
      s.x.at(0, 0).store({0}, t.full<float>({64}, 1).to<bf16>());
    });
  };
  Small s;
  build(s);
  // An unused load disappears with the builder's clean-up only if it is pure; loads are not.
  EXPECT_EQ(refusal(s.k),
            "load: reads a tensor that this kernel writes, which sm_90a does not order; use another tensor");
  EXPECT_EQ(refusal(s.k, "cpu"), "accepted");
}

TEST(Lower, SumsKnowWhetherADotOverwrites) {
  const auto dots = [](const std::function<void(Kernel&, const Index&, Accumulator&, Ring&)>& fn) {
    Kernel k{"k"};
    const Index n = k.dim("N"), m = k.dim("M", 1);
    const Tensor x = k.tensor<bf16>("x", {n, m});
    const Tensor y = k.tensor<float>("y", {n, m});
    Ring ring = k.ring(2).slot<bf16>("a", {64, 64});
    k.grid(1);
    k.task("p").warps(1).body([&] { k.range(n).each([&] { ring.acquire().load("a", x, {0, 0}); }); });
    k.task("c").body([&](Task& t) {
      Accumulator acc = t.accumulator<float>({64, 64});
      fn(k, m, acc, ring);
      y.store({0, 0}, acc.read());
    });
    auto module = lowered(k, "sm_90a");
    EXPECT_TRUE(module.ok()) << to_string(module.error());
    std::string text;
    walk(module->body, [&](const Op& op) {
      if (op.code == OpCode::dot) text += std::string(op.attrs.text("overwrite")) + " ";
      if (op.code == OpCode::acc_write) text += "zero ";
    });
    return text;
  };
  const auto dot = [](Accumulator& acc, Ring& ring) {
    const Slot slot = ring.wait();
    acc.dot(slot["a"], slot["a"]);
  };
  EXPECT_EQ(dots([&](Kernel&, const Index&, Accumulator& acc, Ring& r) { dot(acc, r), dot(acc, r); }), "always never ");
  EXPECT_EQ(dots([&](Kernel& k, const Index& m, Accumulator& acc, Ring& r) { k.range(m).each([&] { dot(acc, r); }); }),
            "unless ")
      << "M is at least 1: the loop runs, nothing is zeroed";
  EXPECT_EQ(
      dots([&](Kernel& k, const Index& m, Accumulator& acc, Ring& r) { k.range(1, m).each([&] { dot(acc, r); }); }),
      "unless zero ");
  EXPECT_EQ(dots([&](Kernel& k, const Index& m, Accumulator& acc, Ring& r) {
              dot(acc, r);
              k.when(m > 3, [&] { acc.clear(); });
              dot(acc, r);
            }),
            "always unless ");
}

}  // namespace
}  // namespace tlxjit
