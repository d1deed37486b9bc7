// tests/unit/builder/root_causes_test.cpp — numbers that are no enumerators, and faults whose consequences say nothing.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tests/unit/builder/faults.h"
#include "tlxjit/kernels/attention.h"
#include "tlxjit/kernels/gemm.h"

namespace tlxjit {
namespace {

using Body = std::function<uint32_t(BuilderFixture&, Task&)>;

TEST(Enumerators, NumbersThatAreNone) {
  const auto flags = [](BuilderFixture& f) { return f.k.tensor<int32_t>("f", {f.n}); };
  for (int n : {-1, 99}) {
    const std::string no = std::to_string(n) + " is no ";
    const std::pair<const char*, Body> calls[] = {
        {"Atomic", [=](BuilderFixture& f, Task&) { return (void)f.y.atomic(Atomic(n), {0}, 1), __LINE__; }},
        {"Order", [=](BuilderFixture& f,
                      Task&) { return (void)f.y.atomic(Atomic::add, {0}, 1, {.order = Order(n)}), __LINE__; }},
        {"Order", [=](BuilderFixture& f,
                      Task&) { return (void)f.y.compare_exchange({0}, 1, 2, {.order = Order(n)}), __LINE__; }},
        {"MathMode", [=](BuilderFixture& f, Task&) { return f.k.math(MathMode(n)), __LINE__; }},
        {"DotPrecision",
         [=](BuilderFixture& f, Task& t) {
           const Accumulator acc = t.accumulator<float>({4, 4});
           return acc.dot(f.buf[0], f.buf[0].t(), DotPrecision(n)), __LINE__;
         }},
        {"Rounding",
         [=](BuilderFixture&, Task& t) {
           const Tile x = t.full<float>({4}, 0);
           return (void)cast<bf16>(x, {.rounding = Rounding(n)}), __LINE__;
         }},
        {"Reduction",
         [=](BuilderFixture&, Task& t) {
           const Tile x = t.full<float>({4}, 0);
           return (void)reduce(x, 0, Reduction(n)), __LINE__;
         }},
        {"Reduction",
         [=](BuilderFixture&, Task& t) {
           const Tile x = t.full<float>({4}, 0);
           return (void)scan(x, 0, Reduction(n)), __LINE__;
         }},
        {"Arrive",
         [=](BuilderFixture& f, Task&) {
           const Barrier b = f.k.barrier(1, 1);
           return b[0].arrive({.per = Arrive(n)}), __LINE__;
         }},
        {"Arrive",
         [=](BuilderFixture& f, Task&) {
           const Barrier b = f.k.barrier(1, 1);
           return b[0].arrive_remote(0, {.per = Arrive(n)}), __LINE__;
         }},
        {"Fence", [=](BuilderFixture& f, Task&) { return f.k.fence(Fence(n)), __LINE__; }},
        {"Reduce", [=](BuilderFixture& f, Task&) { return f.buf[0].copy_to(f.x, {0, 0}, Reduce(n)), __LINE__; }},
        {"Compare",
         [=](BuilderFixture& f, Task&) {
           const Flag flag = flags(f).flag({0});
           return flag.wait(Compare(n), 1), __LINE__;
         }},
    };
    for (const auto& [name, call] : calls) expect_builder_fault(no + name, call);
  }
  // The first beyond the last: those of the IR's own lists are longer.
  expect_builder_fault("7 is no Atomic", [](BuilderFixture& f, Task&) -> uint32_t {
    return (void)f.y.atomic(Atomic(7), {0}, 1), __LINE__;
  });
  expect_builder_fault("7 is no Reduction", [](BuilderFixture&, Task& t) -> uint32_t {
    return (void)reduce(t.full<float>({4}, 0), 0, Reduction(7)), __LINE__;
  });
}

TEST(Enumerators, ElementTypesThatAreNone) {
  const std::string rule =
      ": the element type of its result is none of those that there are; elem_of<T> has one for bool, integers of 8 to "
      "64 bits, float, double and the types of core/numeric.h";
  const Elem none = Elem(99);
  const std::pair<const char*, Body> calls[] = {
      {"tensor", [=](BuilderFixture& f, Task&) { return (void)f.k.tensor(none, "z", {f.n}), __LINE__; }},
      {"scalar", [=](BuilderFixture& f, Task&) { return (void)f.k.scalar(none, "z"), __LINE__; }},
      {"buffer", [=](BuilderFixture& f, Task&) { return (void)f.k.buffer(none, 1, {4}), __LINE__; }},
      {"accumulator", [=](BuilderFixture&, Task& t) { return (void)t.accumulator(none, {4, 4}), __LINE__; }},
      {"const", [=](BuilderFixture&, Task& t) { return (void)t.full({4}, none, 1), __LINE__; }},
      {"cast", [=](BuilderFixture& f, Task&) { return (void)f.n.to(none), __LINE__; }},
      {"bitcast", [=](BuilderFixture& f, Task&) { return (void)bitcast(f.n, none), __LINE__; }},
      {"view.reinterpret", [=](BuilderFixture& f, Task&) { return (void)f.buf[0].reinterpret(none), __LINE__; }},
      {"inline",
       [=](BuilderFixture& f, Task&) { return (void)f.k.inline_text("cpu", "", "=r,r", none, {f.n}), __LINE__; }},
  };
  for (const auto& [op, call] : calls) expect_builder_fault(op + rule, call);
}

TEST(RootCauses, FieldsThatARingWasRefused) {
  expect_builder_fault(
      "ring: field 'a': tile<0x4xf32> is no tile (rank 1 to 5, each extent 1 to 2^20, at most 2^24 elements)",
      [](BuilderFixture& f, Task& t) -> uint32_t {
        Ring ring = f.k.ring(2).slot<float>("b", {4, 4});
        ring.slot<float>("a", {0, 4});
        const uint32_t line = __LINE__ - 1;
        const Slot slot = ring.acquire();
        slot.load("a", f.x, {0, 0});
        slot.store("a", t.full<float>({4, 4}, 1));
        slot.store("a", t.full<float>({4, 4}, 1), t);
        f.y.store({0}, sum(ring.wait()["a"].load(), 1));
        return line;
      });
  for (int stages : {0, 65})
    expect_builder_fault("ring: has 1 to 64 stages, not " + std::to_string(stages),
                         [=](BuilderFixture& f, Task&) -> uint32_t {
                           Ring ring = f.k.ring(stages);
                           const uint32_t line = __LINE__ - 1;
                           ring.slot<float>("a", {4, 4}).slot<float>("b", {4, 4}).fillers(1).drainers(1);
                           ring.acquire().load("a", f.x, {0, 0});
                           f.y.store({0}, sum(ring.wait()["b"].load(), 1));
                           ring.skip(1);
                           return line;
                         });
}

TEST(RootCauses, AccessesNameWhatIsWrong) {
  expect_builder_fault("load.tile: the fill is a scalar of f32, not tile<4xf32>",
                       [](BuilderFixture& f, Task& t) -> uint32_t {
                         const Tile x = t.full<float>({4}, 1);
                         return (void)f.y.load_tile({0}, {4}, {.other = x}), __LINE__;
                       });
  expect_builder_fault("load.at: the fill is a scalar of f32, not tile<4xf32>",
                       [](BuilderFixture& f, Task& t) -> uint32_t {
                         const Tile x = t.full<float>({4}, 1), i = t.iota({4}, 0);
                         return (void)f.y.load_at({i}, {.mask = i < 2, .other = x}), __LINE__;
                       });
  expect_builder_fault("a real number meets i32; cast the other side first with .to<T>()",
                       [](BuilderFixture& f, Task& t) -> uint32_t {
                         const Tensor counts = f.k.tensor<int32_t>("c", {f.n});
                         const Tile i = t.iota({4}, 0);
                         return counts.store_at({i}, 2.5), __LINE__;
                       });
  expect_builder_fault("store.at: needs an index or a value that is a tile",
                       [](BuilderFixture& f, Task&) -> uint32_t { return f.y.store_at({0}, 2.f), __LINE__; });
}

TEST(RootCauses, NumbersAndMasksThatAreTheSameForAll) {
  const std::string text = builder_text([](BuilderFixture& f, Task& t) {
    const Tile i = t.iota({4}, 0);
    f.y.store_at({i}, 2.f);
    f.y.store_at({i}, 3, {.mask = true});
    f.y.store({0}, t.full<float>({4}, 1), {.mask = f.n > 3});
    f.k.print("{} {}", {f.y.load_tile({0}, {4}, {.mask = true}), f.y.load_at({i}, {.mask = f.n > 2, .other = 1})});
    (void)f.y.atomic(Atomic::add, {i}, 1, {.mask = false});
  });
  for (const char* op : {"store.at %", "store.masked %", "= load.tile %", "= load.at %", "= atomic.tile %"})
    EXPECT_NE(text.find(op), std::string::npos) << op << "\n" << text;
}

TEST(RootCauses, SwizzledBuffersAreWholePatterns) {
  const auto buffer = [](int64_t rows, int64_t offset) {
    Kernel k{"k"};
    const SharedBuffer all = k.buffer<bf16>(2, {64, 64});
    (void)k.buffer<bf16>(2, {rows, 64}, {.alias = all, .offset = offset, .swizzle = 128});
    return k.faults().empty() ? "" : k.faults()[0].message;
  };
  EXPECT_EQ(buffer(8, 2048), "");
  EXPECT_EQ(buffer(4, 0),
            "buffer: a slot of buffer<2, 4x64xbf16> is no multiple of 1024 bytes; use rows in multiples of 8");
  EXPECT_EQ(buffer(8, 512),
            "buffer: a swizzled buffer begins on a multiple of 1024 bytes, not on byte 512 of what it shares");
}

std::string place(const Error& error) { return to_string(error.location); }

TEST(RootCauses, KernelsOfTheLibraryNameTheirCaller) {
  const auto here = [](uint32_t line) { return to_string(Location(__FILE__, line)); };
  // What the library checks, what the builder refuses, and what shows later.
  GemmConfig g = gemm_config("cpu");
  g.replicas = 0;
  const Error own = gemm(g).module().error();
  EXPECT_EQ(place(own), here(__LINE__ - 1));
  g = gemm_config("cpu");
  g.elem = Elem::f64;
  const Error refused = gemm(g).faults().at(0);
  EXPECT_EQ(place(refused), here(__LINE__ - 1));
  EXPECT_EQ(refused.message, "dot: multiplies i8, u8, f8e4m3, f8e5m2, f16, bf16 or f32, not f64");
  EXPECT_NE(refused.log.find("in a kernel that is written at "), std::string::npos) << refused.log;
  EXPECT_NE(refused.log.find("src/kernels/gemm.cpp:"), std::string::npos) << refused.log;
  const Error corner = attention(attention_config("cpu", {.corner = Corner(7)})).faults().at(0);
  EXPECT_EQ(place(corner), here(__LINE__ - 1));
  EXPECT_EQ(corner.message, "attention: the corner is top_left or bottom_right, not 7");
  for (const auto& [kernel, line] :
       {std::pair{gemm(gemm_config("cpu")), uint32_t(__LINE__)},
        {attention(attention_config("cpu", {.causal = true, .jagged = true})), __LINE__}}) {
    const auto module = kernel.module();
    ASSERT_TRUE(module) << to_string(module.error());
    walk(module->body, [&, line = line](const Op& op) {
      EXPECT_EQ(to_string(module->location(op)), here(line)) << info(op.code).text;
    });
  }
}

TEST(RootCauses, GridsNameTheirCaller) {
  Kernel k{"k"};
  const Index m = k.dim("M"), n = k.dim("N");
  (void)k.tensor<float>("x", {m, n});
  const Tiles tiles = k.persistent(m, n, {.group = 4});
  const uint32_t line = __LINE__ - 1;
  k.task("t").body([&] { tiles.each([](Index, Index) {}); });
  const auto module = k.module();
  ASSERT_TRUE(module) << to_string(module.error());
  for (const auto& op : module->body.ops)
    if (op->code == OpCode::schedule)
      walk(op->regions[0], [&](const Op& inner) { EXPECT_EQ(module->location(inner), Location(__FILE__, line)); });
}

TEST(RootCauses, GroupsOfTilesBeyond32Bits) {
  // 16 rows of 2^28 columns and more have more tiles than an i32 counts; where so many are possible a group has no more
  // rows than there are, and with those the whole grid has been counted.
  const auto grouped = [](int64_t most_columns, int group) {
    Kernel k{"k"};
    const Index m = k.dim("M"), n = k.dim("N", 0, most_columns);
    (void)k.tensor<float>("x", {m, n});
    const Tiles tiles = k.persistent(m, n, {.group = group});
    k.task("t").body([&] { tiles.each([](Index, Index) {}); });
    const auto module = k.module();
    EXPECT_TRUE(module) << to_string(module.error());
    int minima = 0;
    walk(module->body, [&](const Op& op) { minima += op.code == OpCode::min; });
    return minima;
  };
  EXPECT_EQ(grouped(INT32_MAX / 16, 16), 1) << "the height of the last group alone";
  EXPECT_EQ(grouped(INT32_MAX / 16 + 1, 16), 2);
  EXPECT_EQ(grouped(INT32_MAX, 1), 1);
}

}  // namespace
}  // namespace tlxjit
