// tests/unit/ir/verify_by_hand_test.cpp — rules of buffers, views, barriers, copies and wide rings, with their
// messages.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tests/support/faults.h"
#include "tlxjit/builder/kernel.h"

namespace tlxjit {
namespace {

std::string kernel(const std::string& module_ops, const std::string& task_ops) {
  return R"(tlx 1 portable
kernel "k" {
  %0 = dim [name = "N"] : i32
  %1 = tensor %0, %0 [name = "x"] : tensor<2xbf16>
  %2 = tensor %0 [name = "y"] : tensor<1xf32>
  %3 = const [value = 0] : i32
  %4 = const [value = 5] : i32
  %5 = const [value = 1.0] : f32
  grid %0
  %6 = buffer : buffer<2, 64x32xbf16>
  %7 = barrier [count = 1, name = "full"] : barrier<2>
)" + module_ops +
         R"(
  task [name = "t", warps = 4, replicas = 1] {
    %10 = view %6, %3 : view<64x32xbf16>
    %11 = splat %5 : tile<64x32xf32>
    %12 = cast %11 : tile<64x32xbf16>
    %13 = iota [axis = 0] : tile<16x32xi32>
    %14 = trans %10 : view<32x64xbf16>
)" + task_ops +
         "\n  }\n}\n";
}

TEST(VerifyByHand, BuffersAndBarriers) {
  const std::pair<const char*, const char*> cases[] = {
      {"", "no fault"},
      {"%30 = buffer %6 [at = 4096] : buffer<1, 64x32xf16>", "no fault"},
      {"%30 = buffer [swizzle = 48] : buffer<1, 8xf32>", "buffer: swizzle is 0, 32, 64 or 128 bytes"},
      {"%30 = buffer : buffer<0, 8xf32>",
       "buffer: has at least 1 slot, of rank 1 to 5, each extent 1 to 2^20, at most 2^24 elements, unlike buffer<0, "
       "8xf32>"},
      {"%30 = buffer : buffer<1, 8xf4e2m1>", "buffer: f4e2m1 has no whole bytes: keep it in u8, and bitcast"},
      {"%30 = buffer [at = 0] : buffer<1, 8xf32>", "buffer: at goes with a buffer whose storage is shared"},
      {"%30 = buffer %7 : buffer<1, 8xf32>", "buffer: shares the storage of a buffer, not of barrier<2>"},
      {"%30 = buffer %6 [at = 8] : buffer<1, 8xf32>",
       "buffer: begins on a multiple of 16 bytes of what it shares, not on 8"},
      {"%30 = buffer %6 [at = 4112] : buffer<1, 64x32xf16>",
       "buffer: needs 4096 bytes from byte 4112 on; buffer<2, 64x32xbf16>, whose storage it shares, has 8192"},
      {"%30 = barrier [count = 0, name = \"b\"] : barrier<2>", "barrier: count is 1 to 2^20 − 1, not 0"},
      {"%30 = barrier [count = 1, name = \"b\"] : barrier<5000>", "barrier: has 1 to 4096 slots, not 5000"},
  };
  for (const auto& [ops, message] : cases) EXPECT_EQ(only_fault(kernel(ops, "")), message) << ops;
}

TEST(VerifyByHand, ViewsAndTheirTiles) {
  const std::pair<const char*, const char*> cases[] = {
      {"%30 = view %6, %4 : view<64x32xbf16>", "view: slot 5 is outside the 2 that there are"},
      {"%30 = view %7, %3 : view<64x32xbf16>", "view: works on a buffer, not on barrier<2>"},
      {"%30 = view %6, %5 : view<64x32xbf16>", "view: slot is i32"},
      {"%30 = view %6, %3 : view<64x64xbf16>", "view: gives the buffer's shape"},
      {"%29 = view.reshape %10 : view<2048xbf16>\n %30 = part %29, %3 : view<1024xbf16>",
       "part: cuts a view of rank 2 by rows, not view<2048xbf16>"},
      {"%30 = part %10, %5 : view<32x32xbf16>", "part: part is i32"},
      {"%30 = part %14, %3 : view<16x64xbf16>", "part: take the part before t()"},
      {"%30 = trans %12 : view<32x64xbf16>", "trans: exchanges the axes of a view of rank 2, not of tile<64x32xbf16>"},
      {"%30 = view.slice %10 [offsets = <32, 8>] : view<32x24xbf16>", "no fault"},
      {"%30 = view.slice %10 [offsets = <33, 8>] : view<32x24xbf16>",
       "view.slice: view<32x24xbf16> at 33 of axis 0 is outside view<64x32xbf16>"},
      {"%30 = view.slice %10 [offsets = <0>] : view<32x24xbf16>",
       "view.slice: keeps rank and element type, with one offset per axis"},
      {"%30 = view.slice %12 [offsets = <0, 0>] : view<32x24xbf16>",
       "view.slice: works on a view, not on tile<64x32xbf16>"},
      {"%30 = view.reshape %10 : view<2048xbf16>", "no fault"},
      {"%30 = view.reshape %10 : view<2047xbf16>",
       "view.reshape: view<64x32xbf16> has not the elements of view<2047xbf16>"},
      {"%30 = view.reshape %14 : view<2048xbf16>",
       "view.reshape: works on a view without gaps: a whole slot, or rows of one"},
      {"%30 = view.slice %10 [offsets = <0, 0>] : view<64x16xbf16>\n %31 = view.reinterpret %30 : view<64x8xf32>",
       "view.reinterpret: works on a view without gaps: a whole slot, or rows of one"},
      {"%30 = view.slice %10 [offsets = <8, 0>] : view<16x32xbf16>\n %31 = view.reinterpret %30 : view<16x16xf32>",
       "no fault"},
      {"%30 = view.reinterpret %10 : view<64x32xf32>",
       "view.reinterpret: view<64x32xbf16> has not the bytes of view<64x32xf32> in each row"},
      {"%30 = view.load %10 : tile<64x32xbf16>", "no fault"},
      {"%30 = view.load %10 : tile<64x32xf16>", "view.load: gives the view's elements, not tile<64x32xf16>"},
      {"view.store %10, %11", "view.store: writes tile<64x32xf32> to view<64x32xbf16>"},
      {"view.store %6, %12", "view.store: works on a view, not on buffer<2, 64x32xbf16>"},
      {"buffer.store %6, %4, %12", "buffer.store: slot 5 is outside the 2 that there are"},
      {"buffer.store %7, %3, %12", "buffer.store: works on a buffer, not on barrier<2>"},
      {"buffer.store %6, %5, %12", "buffer.store: slot is i32"},
      {"buffer.store %6, %3, %11", "buffer.store: writes tile<64x32xf32> to buffer<2, 64x32xbf16>"},
      {"buffer.put %6, %3, %3, %5",
       "buffer.put: works on elements of a buffer of rank 1, not of buffer<2, 64x32xbf16>"},
      {"%30 = view.gather %10, %13 [axis = 0] : tile<16x32xbf16>", "no fault"},
      {"%30 = view.gather %10, %13 [axis = 2] : tile<16x32xbf16>",
       "view.gather: axis 2 of view<64x32xbf16> is out of range"},
      {"%30 = view.gather %10, %11 [axis = 0] : tile<64x32xbf16>",
       "view.gather: the indices are a tile of i32 of the view's rank, not tile<64x32xf32>"},
      {"%30 = view.gather %14, %13 [axis = 1] : tile<16x32xf32>",
       "view.gather: gives tile<16x32xbf16>, not tile<16x32xf32>"},
      {"%29 = iota [axis = 0] : tile<65x32xi32>\n %30 = view.gather %10, %29 [axis = 1] : tile<65x32xbf16>",
       "view.gather: tile<65x32xi32> is larger than view<64x32xbf16> along axis 0"},
      {"%30 = view.slice %10 [offsets = <0, 0>] : tile<32x24xbf16>", "view.slice: gives a view, not tile<32x24xbf16>"},
      {"view.scatter %10, %13, %12 [axis = 0]", "view.scatter: writes tile<16x32xbf16>, not tile<64x32xbf16>"},
  };
  for (const auto& [ops, message] : cases) EXPECT_EQ(only_fault(kernel("", ops)), message) << ops;
}

TEST(VerifyByHand, SynchronisationAndCopies) {
  const std::pair<const char*, const char*> cases[] = {
      {"wait %7, %3, %5", "wait: phase is i32"},
      {"wait %7, %4, %3", "wait: slot 5 is outside the 2 that there are"},
      {"wait %7, %3, %4", "wait: phase 5 is outside the 2 that there are"},
      {"arrive %7, %3 [per = \"lane\"]", "arrive: per is instance or warp"},
      {"arrive %7, %3 [per = \"warp\", pending = -1]", "arrive: pending is at least 0"},
      {"arrive %6, %3 [per = \"warp\"]", "arrive: works on a barrier, not on buffer<2, 64x32xbf16>"},
      {"barrier.sync %7, %4", "barrier.sync: slot 5 is outside the 2 that there are"},
      {"expect %7, %3 [bytes = 0]", "expect: bytes are 1 to 2^31 − 1"},
      {"fence [scope = \"block\"]", "fence: scope is gpu or system"},
      {"fence [scope = \"gpu\"]", "no fault"},
      {"dot.wait [pending = -1]", "dot.wait: pending is at least 0"},
      {"copy.wait [pending = -1]", "copy.wait: pending is at least 0"},
      {"copy.load %1, %6, %3, %7, %3, %3, %3 [box = <64, 32>, ragged = -1]", "no fault"},
      {"copy.load %1, %6, %3, %7, %4, %3, %3 [box = <64, 32>, ragged = -1]",
       "copy.load: the barrier's slot 5 is outside the 2 that there are"},
      {"copy.load %2, %6, %3, %7, %3, %3 [box = <2048>, ragged = -1]",
       "copy.load: tensor<1xf32> and buffer<2, 64x32xbf16> have one element type; a copy does not convert"},
      {"copy.load %3, %6, %3, %7, %3, %3, %3 [box = <64, 32>, ragged = -1]",
       "copy.load: operand 0 is a tensor, not i32"},
      {"copy.load %1, %3, %3, %7, %3, %3, %3 [box = <64, 32>, ragged = -1]",
       "copy.load: operand 1 is a buffer, not i32"},
      {"copy.load %1, %6, %3, %3, %3, %3, %3 [box = <64, 32>, ragged = -1]", "copy.load: operand 3 is a barrier"},
      {"copy.lanes %1, %6, %3, %3, %3 [box = <2048>, ragged = -1]",
       "copy.lanes: box has one extent per axis of the tensor"},
      {"copy.lanes %1, %6, %3, %3, %3 [box = <64, 32>, ragged = 1]",
       "copy.lanes: ragged is -1 or an axis before the last"},
      {"copy.lanes %1, %6, %3, %3, %5 [box = <64, 32>, ragged = -1]",
       "copy.lanes: offsets are i32, not f32; cast first"},
      {"copy.lanes %1, %6, %5, %3, %3 [box = <64, 32>, ragged = -1]", "copy.lanes: slot is i32"},
      {"copy.load %1, %6, %3, %7, %5, %3, %3 [box = <64, 32>, ragged = -1]", "copy.load: the barrier's slot is i32"},
      {"copy.lanes %1, %6, %3, %3, %3 [box = <64, 31>, ragged = -1]", "copy.lanes: box and buffer differ in size"},
      {"copy.lanes %1, %6, %3, %3 [box = <64, 32>, ragged = -1]",
       "copy.lanes: needs one coordinate per axis, and a bound if ragged"},
      {"copy.store %1, %6, %3, %3, %3 [box = <64, 32>, ragged = -1, reduce = \"mul\"]",
       "copy.store: reduce is add, min, max, and, or or xor"},
      {"copy.store %1, %6, %3, %3, %3 [box = <64, 32>, ragged = -1, reduce = \"xor\"]",
       "copy.store: cannot reduce bf16 by xor"},
      {"copy.prefetch %1, %3, %3 [box = <64, 0>, ragged = -1]",
       "copy.prefetch: each extent of the box is at least 1, their product at most 2^24"},
      {"copy.prefetch %1, %3 [box = <64, 32>, ragged = -1]",
       "copy.prefetch: needs one coordinate per axis, and a bound if ragged"},
      {"copy.prefetch %6, %3, %3 [box = <64, 32>, ragged = -1]",
       "copy.prefetch: operand 0 is a tensor, not buffer<2, 64x32xbf16>"},
      {"copy.prefetch %1, %3, %3 [box = <64>, ragged = -1]",
       "copy.prefetch: box has one extent per axis of the tensor"},
      {"copy.prefetch %1, %3, %3 [box = <64, 32>, ragged = 1]",
       "copy.prefetch: ragged is -1 or an axis before the last"},
      {"copy.prefetch %1, %3, %5 [box = <64, 32>, ragged = -1]", "copy.prefetch: offsets are i32, not f32; cast first"},
      {"stage [name = \"load\", priority = 4]", "stage: priority is 0 to 3, not 4"},
  };
  for (const auto& [ops, message] : cases) EXPECT_EQ(only_fault(kernel("", ops)), message) << ops;
  EXPECT_EQ(only_fault(kernel("task [name = \"u\", warps = 1, replicas = 2, staggered = 2] {\n }", "")),
            "task: staggered is 0 or 1");
}

/// Two tasks of `fillers` on a ring with fields a and b; what the builder's kernel is refused for.
std::string refused(const std::function<void(Kernel&, Ring&, Tensor&)>& tasks, int fillers = 0, int drainers = 0) {
  Kernel k{"k"};
  const Index n = k.dim("N");
  Tensor x = k.tensor<bf16>("x", {n, n});
  Ring ring = k.ring(2).slot<bf16>("a", {64, 64}).slot<bf16>("b", {32, 64});
  if (fillers) ring.fillers(fillers);
  if (drainers) ring.drainers(drainers);
  k.grid(n);
  tasks(k, ring, x);
  k.task("consumer").body([&] { (void)ring.wait(); });
  auto module = k.module();
  return module ? "accepted" : module.error().message;
}

TEST(VerifyByHand, FillersOfARing) {
  const auto load = [](const char* name, int replicas, std::vector<const char*> fields) {
    return [=](Kernel& k, Ring& ring, Tensor& x) {
      k.task(name).warps(1).replicas(replicas).body([&] {
        auto slot = ring.acquire();
        for (const char* field : fields) slot.load(field, x, {0, 0});
      });
    };
  };
  const auto both = [](auto one, auto other) {
    return [=](Kernel& k, Ring& ring, Tensor& x) {
      one(k, ring, x);
      other(k, ring, x);
    };
  };
  EXPECT_EQ(refused(load("p", 1, {"a", "b"})), "accepted");
  EXPECT_EQ(refused(load("p", 1, {"a"})), "acquire: field 'b' is filled 0 times; every field is filled once");
  EXPECT_EQ(refused(load("p", 2, {"a", "b"}), 1), "accepted");
  EXPECT_EQ(refused(load("p", 2, {"a"}), 1), "acquire: field 'b' is filled 0 times; every field is filled once");
  EXPECT_EQ(refused(both(load("p", 1, {"a"}), load("q", 1, {"b"}))), "accepted");
  EXPECT_EQ(refused(both(load("p", 1, {"a"}), load("q", 1, {"a"}))),
            "ring: field 'a' is filled 2 times; every field is filled once by the instances that fill a slot");
  EXPECT_EQ(refused(both(load("p", 1, {"a", "b"}), load("q", 1, {"a", "b"})), 1), "accepted");
  EXPECT_EQ(refused(both(load("p", 2, {"a"}), load("q", 1, {"b"})), 2),
            "ring: fillers are 1 or all 3 instances that acquire");
  EXPECT_EQ(refused(load("p", 1, {"a", "b"}), 0, 2), "ring: drainers are at most the 1 instances that wait");
}

TEST(VerifyByHand, EveryAcquireOfATaskFillsTheSame) {
  EXPECT_EQ(refused([](Kernel& k, Ring& ring, Tensor& x) {
              k.task("p").warps(1).body([&] {
                for (int turn : {0, 1}) {
                  auto slot = ring.acquire();
                  slot.load("a", x, {0, 0});
                  if (turn == 0) slot.load("b", x, {0, 0});
                }
              });
            }),
            "acquire: fills other fields of the ring than this task does elsewhere");
}

TEST(VerifyByHand, SkipsAndParts) {
  const std::string ring = "%30 = ring [fields = \"a 64x32xbf16\"] : ring<2>";
  const std::string drained = "%38 = wait_slot %30 : slot\n";
  const std::pair<const char*, const char*> cases[] = {
      {"skip %30, %4 [side = \"fill\"]", "no fault"},
      {"skip %30, %4 [side = \"left\"]", "skip: side is fill or drain"},
      {"skip %30, %5 [side = \"fill\"]", "skip: the number of slots is i32"},
      {"skip %6, %4 [side = \"fill\"]", "skip: works on a ring, not on buffer<2, 64x32xbf16>"},
      {"store_field %38, %12 [field = \"a\"]", "store_field: fills an acquired slot; this one was waited for"},
  };
  const std::string filled = "%31 = acquire %30 : slot\n store_field %31, %12 [field = \"a\"]\n";
  for (const auto& [ops, message] : cases) EXPECT_EQ(only_fault(kernel(ring, filled + drained + ops)), message) << ops;
  EXPECT_EQ(only_fault(kernel("%30 = ring [fields = \"a, b\"] : ring<2>", "")),
            "ring: fields are written `name 128x64xbf16, …`");
  EXPECT_EQ(only_fault(kernel(ring, drained + "%31 = acquire %30 : slot\n store_field %31, %12, %5 [field = \"a\"]\n")),
            "store_field: part is i32");
}

TEST(VerifyByHand, TilesThatFillFields) {
  const auto store = [](int replicas, const char* field, Shape shape, Elem elem, bool part) {
    return refused([=](Kernel& k, Ring& ring, Tensor& x) {
      k.task("p").replicas(replicas).body([&](Task& t) {
        auto slot = ring.acquire();
        const Tile tile = t.full(shape, elem, 0);
        if (part)
          slot.store(field, tile, t);
        else
          slot.store(field, tile);
      });
      k.task("q").warps(1).body([&] { ring.acquire().load("b", x, {0, 0}); });
    });
  };
  EXPECT_EQ(store(1, "a", {64, 64}, Elem::bf16, false), "accepted");
  EXPECT_EQ(store(2, "a", {32, 64}, Elem::bf16, true), "accepted");
  EXPECT_EQ(store(1, "a", {64, 64}, Elem::f32, false),
            "store_field: writes tile<64x64xf32> to a field of view<64x64xbf16>");
  EXPECT_EQ(store(2, "a", {24, 64}, Elem::bf16, true),
            "store_field: writes tile<24x64xbf16> to a field of view<64x64xbf16>");
  EXPECT_EQ(refused(
                [](Kernel& k, Ring& ring, Tensor&) {
                  k.task("p").replicas(2).body([&](Task& t) {
                    auto slot = ring.acquire();
                    slot.store("a", t.full<bf16>({32, 64}, 0), t);
                    slot.store("b", t.full<bf16>({32, 64}, 0));
                  });
                },
                1),
            "ring: field 'a' is filled in parts, by a task of one filler");
  EXPECT_EQ(store(2, "c", {64, 64}, Elem::bf16, false), "store_field: the ring has no field 'c'; it has 'a' 'b'");
  EXPECT_EQ(store(2, "a", {16, 64}, Elem::bf16, true),
            "store_field: fills one of 4 parts, by 2 replicas; each fills one part");
}

}  // namespace
}  // namespace tlxjit
