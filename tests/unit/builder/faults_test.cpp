// tests/unit/builder/faults_test.cpp — mistakes are recorded with the user's line, and nothing else changes.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <gtest/gtest.h>

#include "tlxjit/builder/flag.h"
#include "tlxjit/builder/kernel.h"
#include "tlxjit/ir/text.h"
#include "tlxjit/kernels/attention.h"
#include "tlxjit/kernels/gemm.h"

namespace tlxjit {
namespace {

struct Fixture {
  Kernel k{"k"};
  Index n = k.dim("N");
  Tensor x = k.tensor<bf16>("x", {n, n});
  Ring ring = k.ring(2).slot<bf16>("a", {64, 64});
  Fixture() { k.grid(n); }
};

/// Runs `body` in a task; it must record one fault, at the line it returns.
void expect_fault(const std::string& message, const std::function<uint32_t(Fixture&, Task&)>& body) {
  Fixture f;
  uint32_t line = 0;
  f.k.task("t").body([&](Task& t) { line = body(f, t); });
  ASSERT_EQ(f.k.faults().size(), 1u) << message;
  EXPECT_EQ(f.k.faults()[0].message, message);
  EXPECT_EQ(f.k.faults()[0].location.line, line);
  EXPECT_NE(f.k.faults()[0].location.file.find("faults_test.cpp"), std::string::npos);
  auto module = f.k.module();
  ASSERT_FALSE(module.ok());
  EXPECT_EQ(module.error().message, message);
}

TEST(BuilderFaults, ShapesThatDiffer) {
  expect_fault("add: the operands differ: tile<4xf32> and tile<8xf32>; tiles that meet have one shape",
               [](Fixture&, Task& t) -> uint32_t {
                 const Tile a = t.full<float>({4}, 0), b = t.full<float>({8}, 0);
                 (void)(a + b);
                 return __LINE__ - 1;
               });
}

TEST(BuilderFaults, ElementTypesThatDiffer) {
  expect_fault("mul: the operands differ: f32 and i32; cast one of them with .to<T>()",
               [](Fixture& f, Task& t) -> uint32_t {
                 const Tile a = sum(t.full<float>({4, 4}, 0), 1);
                 (void)a;
                 (void)(f.k.program_id().to<float>() * f.n);
                 return __LINE__ - 1;
               });
}

TEST(BuilderFaults, ShapesThatDifferByAnAxis) {
  const std::pair<Shape, const char*> cases[] = {
      {{4, 8}, "add: the operands differ: tile<4xf32> and tile<4x8xf32>; repeat tile<4xf32> with .expand(1)"},
      {{8, 4}, "add: the operands differ: tile<4xf32> and tile<8x4xf32>; repeat tile<4xf32> with .expand(0)"},
      {{4, 4},
       "add: the operands differ: tile<4xf32> and tile<4x4xf32>; repeat tile<4xf32> with .expand(0) or .expand(1)"},
      {{8, 8}, "add: the operands differ: tile<4xf32> and tile<8x8xf32>; tiles that meet have one shape"},
  };
  for (const auto& [shape, message] : cases)
    expect_fault(message, [&](Fixture&, Task& t) -> uint32_t {
      (void)(t.full<float>({4}, 0) + t.full<float>(shape, 0));
      return __LINE__ - 1;
    });
  expect_fault(
      "add: the operands differ: tile<4x8xf32> and tile<4xi32>; cast one of them with .to<T>(); repeat "
      "tile<4xi32> with .expand(1)",
      [](Fixture&, Task& t) -> uint32_t {
        (void)(t.full<float>({4, 8}, 0) + t.iota({4}, 0));
        return __LINE__ - 1;
      });
}

std::string only_fault_of(const Kernel& k) {
  const std::vector<Error> faults = k.verify();
  return faults.size() == 1 ? faults[0].message : std::to_string(faults.size()) + " faults";
}

TEST(BuilderFaults, ValuesThatAreGone) {
  const auto line = [](uint32_t number) { return to_string(Location(__FILE__, number)); };
  {
    Fixture f;
    const Tensor y = f.k.tensor<float>("y", {f.n});
    Tile x;
    f.k.task("load").body([&](Task& t) { x = t.full<float>({4}, 0); });
    const uint32_t made = __LINE__ - 1;
    f.k.task("store").body([&] { y.store({0}, x); });
    EXPECT_EQ(only_fault_of(f.k), "get: uses a value of task 'load' (made at " + line(made) +
                                      "), which no other task sees; pass it on through a ring, a buffer or a tensor");
  }
  {
    Fixture f;
    const Tensor y = f.k.tensor<float>("y", {f.n});
    f.k.task("t").body([&](Task& t) {
      Tile x;
      f.k.range(3).each([&] { x = t.full<float>({4}, 0); });
      y.store({0}, x);
    });
    const uint32_t made = __LINE__ - 3;
    EXPECT_EQ(only_fault_of(f.k), "get: uses a value of a loop, branch or other region that has ended (made at " +
                                      line(made) +
                                      "); give it its first value before the region and assign to it inside");
  }
  {
    Fixture f;
    const Tensor y = f.k.tensor<float>("y", {f.n});
    const SharedBuffer buffer = f.k.buffer<float>(2, {4});
    f.k.task("t").body([&] {
      View x;
      f.k.range(3).each([&](Index i) { x = buffer[i % 2]; });
      y.store({0}, x.load());
    });
    const uint32_t made = __LINE__ - 3;
    EXPECT_EQ(only_fault_of(f.k), "view.load: uses a value of a loop, branch or other region that has ended (made at " +
                                      line(made) + "); use it inside the region");
  }
}

TEST(BuilderFaults, ARealLiteralForIntegers) {
  expect_fault("a real number meets i32; cast the other side first with .to<T>()", [](Fixture& f, Task&) -> uint32_t {
    (void)(f.n * 0.5);
    return __LINE__ - 1;
  });
}

TEST(BuilderFaults, ALiteralThatNoSignedNumberHolds) {
  expect_fault("18446744073709551615 does not fit i32", [](Fixture& f, Task&) -> uint32_t {
    (void)(f.n + UINT64_MAX);
    return __LINE__ - 1;
  });
}

TEST(BuilderFaults, AFieldThatIsNotThere) {
  expect_fault("field: the ring has no field 'b'; it has 'a'", [](Fixture& f, Task&) -> uint32_t {
    const Slot slot = f.ring.wait();
    (void)slot["b"];
    return __LINE__ - 1;
  });
}

TEST(BuilderFaults, AnUnevenPart) {
  Fixture f;
  f.k.task("t").replicas(3).body([&](Task& t) { (void)f.ring.wait()["a"].part(t); });
  ASSERT_EQ(f.k.faults().size(), 1u);
  EXPECT_EQ(f.k.faults()[0].message, "part: 64 rows do not divide among 3 replicas");
  f.k.task("u").replicas(3).body([&](Task& t) { (void)t.offset(64); });
  ASSERT_EQ(f.k.faults().size(), 2u);
  EXPECT_EQ(f.k.faults()[1].message, "offset: 64 does not divide among 3 replicas");
}

TEST(BuilderFaults, ARingWithoutFields) {
  expect_fault("load_field: the ring has no fields; slot() adds one", [](Fixture& f, Task&) -> uint32_t {
    const Ring empty = f.k.ring(2);
    empty.acquire().load("a", f.x, {0, 0});
    return __LINE__ - 1;
  });
  Fixture f;
  const uint32_t line = __LINE__ + 1;
  (void)f.k.ring(2);
  f.k.task("t").body([] {});
  const auto faults = f.k.verify();
  ASSERT_EQ(faults.size(), 1u);
  EXPECT_EQ(faults[0].message, "ring: has no fields; slot() adds one");
  EXPECT_EQ(faults[0].location.line, line);
}

TEST(BuilderFaults, FieldsThatARingCannotHave) {
  const std::pair<std::function<void(Ring&)>, const char*> cases[] = {
      {[](Ring& r) { r.slot<float>("a", {4, 4}); }, "ring: field 'a': the ring has a field of this name"},
      {[](Ring& r) { r.slot<float>("", {4, 4}); },
       "ring: field '': a field's name has letters, digits, '_', '.' and '-' only, and at least one"},
      {[](Ring& r) { r.slot<float>("b 4xf32, c", {4, 4}); },
       "ring: field 'b 4xf32, c': a field's name has letters, digits, '_', '.' and '-' only, and at least one"},
      {[](Ring& r) { r.slot("b", static_cast<Elem>(88), {4, 4}); },
       "ring: field 'b': an element type that there is not"},
      {[](Ring& r) { r.slot<float>("b", {0, 4}); },
       "ring: field 'b': tile<0x4xf32> is no tile (rank 1 to 5, each extent 1 to 2^20, at most 2^24 elements)"},
      {[](Ring& r) { r.slot<float>("b, c", {4, 4}); },
       "ring: field 'b, c': a field's name has letters, digits, '_', '.' and '-' only, and at least one"},
  };
  for (const auto& [add, message] : cases) {
    Fixture f;
    add(f.ring);
    ASSERT_EQ(f.k.faults().size(), 1u) << message;
    EXPECT_EQ(f.k.faults()[0].message, message);
    EXPECT_NE(f.k.faults()[0].location.line, 0u);
  }
}

TEST(BuilderFaults, AssigningToALoopIndex) {
  Fixture f;
  f.k.task("t").body([&](Task&) { f.k.range(4).each([&](Index i) { i = i + 1; }); });
  ASSERT_EQ(f.k.faults().size(), 1u);
  EXPECT_EQ(
      f.k.faults()[0].message,
      "assigns to a value that is fixed inside tasks (made outside of them, or a loop's index); make a variable of it "
      "with k.variable()");
}

TEST(BuilderFaults, AValueOfAnotherKernel) {
  Fixture g;
  expect_fault("a value of another kernel is used here", [&](Fixture& f, Task&) -> uint32_t {
    (void)(f.n + g.n);
    return __LINE__ - 1;
  });
  expect_fault("assigns a value of another kernel", [&](Fixture& f, Task&) -> uint32_t {
    Index i = f.k.program_id();
    const Index other = g.k.num_programs();
    i = other;
    return __LINE__ - 2;
  });
}

TEST(BuilderFaults, NumbersWhereValuesAreWanted) {
  expect_fault("when: the condition is a value of the kernel, not a number", [](Fixture& f, Task&) -> uint32_t {
    f.k.when(true, [] {});
    return __LINE__ - 1;
  });
  expect_fault("select: both values are numbers, whose type is not known; make a tile or scalar of one of them",
               [](Fixture& f, Task&) -> uint32_t {
                 (void)select(f.k.program_id() == 0, 1, 2);
                 return __LINE__ - 1;
               });
  expect_fault("concat: works on tiles, not on a number", [](Fixture&, Task& t) -> uint32_t {
    (void)concat({t.full<float>({4}, 0), 1}, 0);
    return __LINE__ - 1;
  });
  expect_fault("reduce.custom: works on tiles, not on a number", [](Fixture&, Task& t) -> uint32_t {
    (void)reduce({t.full<float>({4}, 0), 1}, 0, [](const std::vector<Tile>& a, const std::vector<Tile>&) { return a; });
    return __LINE__ - 1;
  });
}

TEST(BuilderFaults, WhatDoesNotDivide) {
  expect_fault("slabs: 64 columns do not divide into slabs of 48", [](Fixture&, Task& t) -> uint32_t {
    t.accumulator<float>({64, 64}).slabs(48, [](Index, Tile) {});
    return __LINE__ - 1;
  });
}

TEST(BuilderFaults, ViewsOfTheWrongShape) {
  expect_fault("part: take the part before t()", [](Fixture& f, Task&) -> uint32_t {
    (void)f.ring.wait()["a"].t().part(0, 16);
    return __LINE__ - 1;
  });
  expect_fault("flag.set: works on a whole tensor, not on a view of one", [](Fixture& f, Task&) -> uint32_t {
    f.x.window(0, 0, 8).flag({0, 0}).set(1);
    return __LINE__ - 1;
  });
}

TEST(BuilderFaults, PoisonSaysNothing) {
  Fixture f;
  f.k.task("t").body([&](Task& t) {
    const Tile bad = t.full<float>({4}, 0) + t.full<float>({8}, 0);
    EXPECT_FALSE(bad.valid());
    const Tile worse = exp2(bad * 2 - max(bad, 1)).to<bf16>();
    EXPECT_FALSE(worse.valid());
    f.x.store({0, 0}, worse);
  });
  EXPECT_EQ(f.k.faults().size(), 1u) << "the first fault only";
}

TEST(BuilderFaults, TasksDoNotNest) {
  Fixture f;
  f.k.task("t").body([&](Task&) { f.k.task("u").body([] {}); });
  ASSERT_EQ(f.k.faults().size(), 1u);
  EXPECT_EQ(f.k.faults()[0].message, "task: a task stands in no other task");
}

TEST(BuilderFaults, IndicesThatTheScheduleDoesNotYield) {
  Kernel k{"k"};
  const Tiles tiles = k.persistent(k.dim("M"), k.dim("N"));
  k.task("t").body([&] { tiles.each([](Index, Index, Index) {}); });
  ASSERT_EQ(k.faults().size(), 1u);
  EXPECT_EQ(k.faults()[0].message, "each: the schedule yields 2 indices, the function takes 3");
}

TEST(BuilderFaults, HandlesOfNothingSayNothing) {
  Ring ring;
  (void)ring.acquire();
  (void)ring.wait()["a"].t();
  ring.slot<float>("a", {4, 4});
  Slot().publish();
  Accumulator().clear();
  EXPECT_FALSE(Accumulator().read().valid());
  EXPECT_FALSE(Tensor().load({0}).valid());
  Tiles().each([](Index) {});
}

TEST(BuilderFaults, HandlesOfAnotherKernel) {
  Fixture f, g;
  f.k.task("t").body([&](Task& t) {
    f.ring.acquire().load("a", g.x, {0, 0});
    const Accumulator acc = t.accumulator<float>({64, 64});
    acc.dot(f.ring.wait()["a"], g.ring.wait()["a"]);
  });
  ASSERT_EQ(f.k.faults().size(), 2u);
  EXPECT_EQ(f.k.faults()[0].message, "a handle of another kernel is used here");
  EXPECT_EQ(f.k.faults()[1].message, "a handle of another kernel is used here");
}

TEST(BuilderFaults, WhatAThrowLeavesBehindPointsToNothing) {
  Fixture f;
  Tile kept;
  Slot slot;
  EXPECT_THROW(f.k.task("t").body([&](Task& t) {
    f.k.range(f.n).each([&] {
      kept = t.full<float>({4}, 1);
      slot = f.ring.wait();
      throw 1;
    });
  }),
               int);
  f.k.task("u").body([&] {
    Tile copy = kept;
    copy = copy + kept;
    (void)slot["a"];
    slot.release();
  });
  EXPECT_FALSE(f.k.verify().empty());
}

TEST(BuilderFaults, AMovedFromKernelIsStillAHandle) {
  Kernel a{"k"};
  Kernel b = std::move(a);
  (void)a.dim("N");
  EXPECT_EQ(a.name(), "k");
  EXPECT_FALSE(b.verify().empty());
}

TEST(BuilderFaults, ConfigurationsThatMakeNoKernel) {
  GemmConfig g;
  g.replicas = 0;
  EXPECT_EQ(gemm(g).module().error().message,
            "gemm: bm, bn, bk, replicas and slab are at least 1, replicas divides bm and slab divides bn");
  AttentionConfig a;
  a.heads_together = 0;
  EXPECT_EQ(attention(a).module().error().message,
            "attention: bq, bkv, replicas and heads_together are at least 1, and replicas divides bq");
  const auto refused = [](const AttentionOptions& options) {
    const auto module = attention(attention_config("cpu", options)).module();
    return module.ok() ? "" : module.error().message;
  };
  EXPECT_EQ(refused({.elem = Elem::f64}), "attention: elements are bf16, f16 or f32, not f64");
  for (const int size : {-8, 8, 33, 264})
    EXPECT_EQ(refused({.head = size}),
              "attention: a head has a multiple of 8 elements from 16 to 256, not " + std::to_string(size));
  EXPECT_EQ(refused({.value_head = 12}), "attention: a head has a multiple of 8 elements from 16 to 256, not 12");
  EXPECT_EQ(refused({.offsets = Elem::u32}), "attention: offsets are i32 or i64, not u32");
  EXPECT_EQ(refused({.group = 0}), "attention: a key head has at least 1 query head, not 0");
  EXPECT_EQ(refused({.left = -2}), "attention: a window reaches 0 to 2^30 keys, or -1 for all, not -2");
  EXPECT_EQ(refused({.right = (1 << 30) + 1}),
            "attention: a window reaches 0 to 2^30 keys, or -1 for all, not 1073741825");
  EXPECT_EQ(refused({.causal = true, .right = 3}),
            "attention: causal leaves no keys behind the query's own, and right is 3");
}

TEST(BuilderFaults, AllFaultsAreListed) {
  Fixture f;
  f.k.task("t").body([&](Task& t) {
    (void)(t.full<float>({4}, 0) + t.full<float>({8}, 0));
    (void)t.offset(63 * 0 + 1).valid();
    (void)(f.n / 2.5);
  });
  auto module = f.k.module();
  ASSERT_FALSE(module.ok());
  EXPECT_NE(module.error().message.find("(and 1 more)"), std::string::npos) << module.error().message;
  EXPECT_NE(module.error().log.find("a real number meets i32"), std::string::npos) << module.error().log;
  EXPECT_EQ(module.error().log.find("the operands differ"), std::string::npos) << "told twice:\n" << module.error().log;
}

TEST(BuilderFaults, BL_105_LoopsThatDoNotCountUpwards) {
  for (int step : {-1, 0})
    expect_fault(
        "for: the step is at least 1, not " + std::to_string(step) + "; count upwards, and compute the index from that",
        [=](Fixture& f, Task&) -> uint32_t {
          f.k.range(64, 0, step).each([](Index) {});
          return __LINE__ - 1;
        });
  Fixture f;
  f.k.task("t").body([&](Task&) { f.k.range(INT64_MIN, INT64_MAX, 1).each([](Index) {}); });
  ASSERT_FALSE(f.k.faults().empty());
  EXPECT_EQ(f.k.faults()[0].message, "const: -9223372036854775808 does not fit i32");
}

TEST(BuilderFaults, BL_106_TilesWhoseSizeOverflows) {
  const std::string rule = " is no tile (rank 1 to 5, each extent 1 to 2^20, at most 2^24 elements)";
  const std::pair<Shape, const char*> cases[] = {{{2147483648, 4294967296}, "tile<2147483648x4294967296xf32>"},
                                                 {{0, 4}, "tile<0x4xf32>"},
                                                 {{-8}, "tile<-8xf32>"},
                                                 {{65536, 65536, 65536, 65536}, "tile<65536x65536x65536x65536xf32>"}};
  for (const auto& [shape, type] : cases)
    expect_fault("splat: " + (type + rule), [shape = shape](Fixture&, Task& t) -> uint32_t {
      (void)t.full<float>(shape, 0);
      return __LINE__ - 1;
    });
  for (const auto& [shape, type] : cases) {
    Fixture f;
    (void)f.k.buffer<float>(1, shape);
    ASSERT_EQ(f.k.faults().size(), 1u) << type;
    EXPECT_EQ(
        f.k.faults()[0].message,
        "buffer: has at least 1 slot, of rank 1 to 5, each extent 1 to 2^20, at most 2^24 elements, unlike buffer<1, " +
            std::string(type).substr(5));
  }
}

TEST(BuilderFaults, CopiesMoveWholeSlots) {
  Fixture f;
  auto buf = f.k.buffer<bf16>(2, {64, 64});
  auto full = f.k.barrier(2, 1);
  f.k.task("t").body([&](Task& t) {
    full[0].load(buf[0].part(t), f.x, {0, 0});
    buf[1].t().copy_to(f.x, {0, 0});
  });
  ASSERT_EQ(f.k.faults().size(), 2u);
  EXPECT_EQ(f.k.faults()[0].message,
            "copy.load: moves whole slots of a buffer; make smaller slots in the same storage with `alias`");
  EXPECT_EQ(f.k.faults()[1].message,
            "copy.store: moves whole slots of a buffer; make smaller slots in the same storage with `alias`");
}

TEST(BuilderFaults, BuffersOfAnotherKernel) {
  Fixture f, other;
  auto buf = other.k.buffer<bf16>(2, {64, 64});
  auto full = f.k.barrier(2, 1);
  (void)f.k.buffer<bf16>(1, {8}, {.alias = buf});
  f.k.task("t").body([&](Task&) { full[0].load(buf[0], f.x, {0, 0}); });
  ASSERT_EQ(f.k.faults().size(), 2u);
  for (const Error& fault : f.k.faults()) EXPECT_EQ(fault.message, "a handle of another kernel is used here");
}

TEST(BuilderFaults, CursorsAndCounts) {
  Fixture f;
  (void)f.k.ring(2).slot<bf16>("b", {64, 64}).fillers(0);
  f.k.task("t").body([&](Task&) { (void)f.k.cursor(0); });
  ASSERT_EQ(f.k.faults().size(), 2u);
  EXPECT_EQ(f.k.faults()[0].message, "ring: fillers are 1 to 1024");
  EXPECT_EQ(f.k.faults()[1].message, "cursor: walks round at least 1 slot");
}

}  // namespace
}  // namespace tlxjit
