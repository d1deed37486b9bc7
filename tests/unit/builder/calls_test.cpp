// tests/unit/builder/calls_test.cpp — each call makes its ops.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <gmock/gmock.h>

#include "tlxjit/tlxjit.h"

namespace tlxjit {
namespace {

using testing::AllOf;
using testing::HasSubstr;

struct Fixture {
  Kernel k{"k"};
  Index n = k.dim("N");
  Tensor x = k.tensor<bf16>("x", {n, n});
  Tensor counts = k.tensor<int32_t>("counts", {n});
  SharedBuffer buf = k.buffer<bf16>(2, {64, 32});
  SharedBuffer row = k.buffer<float>(1, {16});
  Barrier full = k.barrier(2, 1, "full");
  NamedBarrier meet = k.named_barrier(1, "meet");
  Fixture() { k.grid(n); }
};

/// The kernel with a task of this body.
std::string text_of(const std::function<void(Fixture&, Task&)>& body, int replicas = 1) {
  Fixture f;
  f.k.task("t").replicas(replicas).body([&](Task& t) { body(f, t); });
  auto module = f.k.module();
  return module ? print(*module) : to_string(module.error());
}

using Call = std::function<Tile(const Tile&, const Tile&)>;

/// What the call makes of two tiles of 4×6 elements of T; the result is printed, so that it stays.
template <class T>
std::string made_by(const Call& call) {
  return text_of([&](Fixture& f, Task& t) {
    const Tile a = t.full<T>({4, 6}, 3), b = t.full<T>({4, 6}, 2);
    f.k.print("{}", {call(a, b)});
  });
}

TEST(BuilderCalls, MathOfFloats) {
  using Unary = Tile (*)(Operand);
  const std::pair<Unary, const char*> cases[] = {
      {exp, "exp"},     {exp2, "exp2"},   {log, "log"},     {log2, "log2"}, {rcp, "rcp"},     {sqrt, "sqrt"},
      {rsqrt, "rsqrt"}, {sin, "sin"},     {cos, "cos"},     {tanh, "tanh"}, {erf, "erf"},     {floor, "floor"},
      {ceil, "ceil"},   {trunc, "trunc"}, {round, "round"}, {silu, "rcp"},  {sigmoid, "exp"}, {abs, "abs"},
  };
  for (const auto& [call, op] : cases)
    EXPECT_THAT(made_by<float>([&, call = call](const Tile& a, const Tile&) { return call(a); }),
                HasSubstr("= " + std::string(op) + " %"));
  EXPECT_THAT(made_by<float>([](const Tile& a, const Tile& b) { return fma(a, b, 1); }), HasSubstr("= fma %"));
  EXPECT_THAT(made_by<float>([](const Tile& a, const Tile& b) { return pow(a, b); }), HasSubstr("= pow %"));
  EXPECT_THAT(made_by<float>([](const Tile& a, const Tile& b) { return copysign(a, b); }), HasSubstr("= copysign %"));
  EXPECT_THAT(made_by<float>([](const Tile& a, const Tile& b) { return min_nan(a, b); }), HasSubstr("= min_nan %"));
  EXPECT_THAT(made_by<float>([](const Tile& a, const Tile& b) { return max_nan(a, b); }), HasSubstr("= max_nan %"));
  EXPECT_THAT(made_by<float>([](const Tile& a, const Tile&) { return clamp(a, 0, 1); }),
              AllOf(HasSubstr("= min %"), HasSubstr("= max %")));
  EXPECT_THAT(made_by<float>([](const Tile& a, const Tile&) { return is_nan(a); }), HasSubstr("[pred = \"ne\"]"));
  EXPECT_THAT(made_by<float>([](const Tile& a, const Tile&) { return is_inf(a); }), HasSubstr("[value = inf]"));
}

TEST(BuilderCalls, MathOfIntegers) {
  const std::pair<Call, const char*> cases[] = {
      {[](const Tile& a, const Tile& b) { return floor_div(a, b); }, "floor_div"},
      {[](const Tile& a, const Tile& b) { return floor_mod(a, b); }, "floor_mod"},
      {[](const Tile& a, const Tile& b) { return ceil_div(a, b); }, "ceil_div"},
      {[](const Tile& a, const Tile& b) { return mulhi(a, b); }, "mulhi"},
      {[](const Tile& a, const Tile&) { return popcount(a); }, "popcount"},
      {[](const Tile& a, const Tile&) { return clz(a); }, "clz"},
      {[](const Tile& a, const Tile& b) { return a & b; }, "and"},
      {[](const Tile& a, const Tile& b) { return a | b; }, "or"},
      {[](const Tile& a, const Tile& b) { return a ^ b; }, "xor"},
      {[](const Tile& a, const Tile& b) { return a << b; }, "shl"},
      {[](const Tile& a, const Tile& b) { return a >> b; }, "shr"},
      {[](const Tile& a, const Tile&) { return ~a; }, "not"},
  };
  for (const auto& [call, op] : cases)
    EXPECT_THAT(made_by<int32_t>(call), HasSubstr("= " + std::string(op) + " %")) << op;
}

TEST(BuilderCalls, Conversions) {
  EXPECT_THAT(
      made_by<float>([](const Tile& a, const Tile&) { return cast<bf16>(a, {.rounding = Rounding::towards_zero}); }),
      HasSubstr("[rounding = \"rtz\"] : tile<4x6xbf16>"));
  EXPECT_THAT(made_by<float>([](const Tile& a, const Tile&) { return cast<bf16>(a, {.saturate = true}); }),
              HasSubstr("[saturate = 1] : tile<4x6xbf16>"));
  EXPECT_THAT(
      made_by<float>([](const Tile& a, const Tile& b) { return cast_stochastic<bf16>(a, bitcast<uint32_t>(b)); }),
      AllOf(HasSubstr("= bitcast %"), HasSubstr("[rounding = \"stochastic\"] : tile<4x6xbf16>")));
  EXPECT_THAT(made_by<float>([](const Tile& a, const Tile&) { return cast<float>(a); }),
              testing::Not(HasSubstr("cast")));
}

TEST(BuilderCalls, Reductions) {
  const std::pair<Call, const char*> cases[] = {
      {[](const Tile& a, const Tile&) { return prod(a, 0); }, "[kind = \"prod\", axis = 0, partial = 0] : tile<6xf32>"},
      {[](const Tile& a, const Tile&) { return minimum(a, 1); },
       "[kind = \"min\", axis = 1, partial = 0] : tile<4xf32>"},
      {[](const Tile& a, const Tile&) { return finish(maximum(a, 1, {.partial = true})); },
       "[kind = \"max\", axis = 1, partial = 1] : tile<4xf32>"},
      {[](const Tile& a, const Tile&) { return argmax(a, 1); },
       "[kind = \"argmax\", axis = 1, partial = 0] : tile<4xi32>"},
      {[](const Tile& a, const Tile&) { return argmin(a, 1); },
       "[kind = \"argmin\", axis = 1, partial = 0] : tile<4xi32>"},
      {[](const Tile& a, const Tile& b) { return all(a < b, 1); },
       "[kind = \"and\", axis = 1, partial = 0] : tile<4xb1>"},
      {[](const Tile& a, const Tile&) { return reduce(a, 1, Reduction::sum); },
       "[kind = \"sum\", axis = 1, partial = 0] : tile<4xf32>"},
      {[](const Tile& a, const Tile&) { return finish(sum(a, 1, {.partial = true})); }, "= finish %"},
      {[](const Tile& a, const Tile&) { return cumsum(a, 1, {.exclusive = true}); },
       "[kind = \"sum\", axis = 1, exclusive = 1, reverse = 0] : tile<4x6xf32>"},
      {[](const Tile& a, const Tile&) { return cumprod(a, 0, {.reverse = true}); },
       "[kind = \"prod\", axis = 0, exclusive = 0, reverse = 1] : tile<4x6xf32>"},
      {[](const Tile& a, const Tile&) { return scan(a, 1, [](Tile p, Tile q) { return max(p, q); }); },
       "= scan.custom %"},
      {[](const Tile& a, const Tile& b) { return slice(concat({a, b}, 0), {2, 1}, {3, 3}); },
       "[offsets = <2, 1>] : tile<3x3xf32>"},
      {[](const Tile& a, const Tile&) { return transpose(a); }, "[order = <1, 0>] : tile<6x4xf32>"},
  };
  for (const auto& [call, text] : cases) EXPECT_THAT(made_by<float>(call), HasSubstr(text));
}

TEST(BuilderCalls, BarriersAndWaits) {
  const std::string text = text_of([](Fixture& f, Task&) {
    Cursor c = f.k.cursor(2), one = f.k.cursor(1);
    f.full[c.slot].expect(f.buf.bytes());
    f.full[c.slot].load(f.buf[c.slot], f.x, {0, 0});
    f.full[c.slot].wait(c.phase);
    c.next();
    one.next();
    f.full[c.slot].wait(c.former());
    f.full[1].arrive({.per = Arrive::per_warp, .dots = 1});
    f.meet.wait();
    f.meet.arrive();
    f.k.fence();
    f.k.fence(Fence::system);
    f.k.dots_wait(1);
    f.k.copies_drain(1, true);
    f.k.lanes_commit();
    f.k.lanes_wait(2);
  });
  for (const char* part :
       {"[bytes = 4096]", "copy.load %1, ", "= select %", "wait %", "[per = \"warp\", pending = 1]", "barrier.sync %",
        "arrive %", "fence\n", "fence [scope = \"system\"]", "dot.wait [pending = 1]",
        "copy.drain [pending = 1, read = 1]", "copy.commit", "copy.wait [pending = 2]"})
    EXPECT_THAT(text, HasSubstr(part));
}

TEST(BuilderCalls, ViewsOfBuffers) {
  const std::string text = text_of([](Fixture& f, Task& t) {
    const View whole = f.buf[0];
    f.k.print("{}", {whole.slice({32, 8}, {16, 8}).load()});
    whole.part(1, 32).store(t.full<bf16>({32, 32}, 1));
    f.k.print("{}", {whole.reshape({2048}).load()});
    f.k.print("{}", {whole.reinterpret(Elem::f32).load()});
    const Tile i = t.iota({8, 32}, 0);
    whole.scatter(i, 0, whole.gather(i, 0));
    f.buf[1].copy_to(f.x, {0, 0}, Reduce::add);
    f.buf[1].copy_lanes(f.x, {64, 0});
    f.row.put(0, 3, f.row.get(0, 2));
    f.row.put(0, 4, 1.5);
    f.x.prefetch({0, 0}, {64, 32});
    EXPECT_EQ(f.row.slots(), 1);
    EXPECT_EQ(f.x.rank(), 2);
  });
  for (const char* part :
       {"[offsets = <32, 8>] : view<16x8xbf16>", "view.store %", ": view<2048xbf16>", ": view<64x16xf32>",
        "view.scatter %", "view.gather %", "reduce = \"add\"", "copy.lanes %1, ", "buffer.put %", "buffer.get %",
        "[value = 1.5] : f32", "copy.prefetch %1, "})
    EXPECT_THAT(text, HasSubstr(part));
}

TEST(BuilderCalls, ElementsOfTensors) {
  const std::string text = text_of([](Fixture& f, Task& t) {
    const Tile i = t.iota({8}, 0), found = f.counts.load_at({i}, {.mask = i < 4, .other = 7});
    f.counts.store_at({i}, found, {.mask = i > 2});
    f.k.print("{}", {f.counts.atomic(Atomic::max, {i}, found, {.mask = i < 4, .order = Order::acquire})});
  });
  for (const char* part : {"load.at %2, ", "store.at %2, ", "[kind = \"max\", order = \"acquire\"] : tile<8xi32>"})
    EXPECT_THAT(text, HasSubstr(part));
}

TEST(BuilderCalls, FlagsAndClusters) {
  Fixture f;
  f.k.resident();
  f.k.cluster(2);
  f.k.math(MathMode::precise);
  f.k.task("t").body([&](Task& t) {
    f.full[1].arrive_remote(0, {.per = Arrive::per_warp, .dots = 1});
    f.buf[1].store_remote(1, t.full<bf16>({64, 32}, 0), f.full[0]);
    const Flag flag = f.counts.flag({f.k.cluster_rank()});
    flag.set(1);
    flag.add(f.k.num_programs());
    flag.wait(Compare::greater_equal, 2);
    f.k.cluster_sync();
  });
  auto module = f.k.module();
  ASSERT_TRUE(module) << to_string(module.error());
  for (const char* part : {"resident\n", "cluster [size = 2]", "math [mode = \"precise\"]", "arrive.remote %",
                           "[per = \"warp\", pending = 1]", "buffer.store.remote %", "= cluster.rank", "flag.set %2, ",
                           "flag.add %2, ", "[pred = \"ge\"]", "cluster.sync"})
    EXPECT_THAT(print(*module), HasSubstr(part));
}

TEST(BuilderCalls, LookingInside) {
  const std::string text = text_of([](Fixture& f, Task& t) {
    const Tile a = t.full<float>({4}, 2);
    f.k.print("{} {} {}", {a, 3, 0.5});
    f.k.require(a > 1, "greater");
    f.k.require(true, "always");
    f.k.print("{}", {f.k.clock()});
    f.k.print("{}", {f.k.inline_text("cpu", "text", "=r,r", Elem::i32, {a})});
  });
  for (const char* part :
       {"print %", "[value = 3] : i64", "[value = 0.5] : f64", "[message = \"greater\"]", "[message = \"always\"]",
        "= clock : i64", "[target = \"cpu\", text = \"text\", constraints = \"=r,r\"] : tile<4xi32>"})
    EXPECT_THAT(text, HasSubstr(part));
}

TEST(BuilderCalls, TurnsAndStages) {
  const auto body = [](Fixture& f, Task& t) {
    Turn turn = t.turn();
    f.k.range(4).each([&] {
      turn.take();
      t.stage("work", 2);
      turn.pass();
    });
  };
  EXPECT_THAT(text_of(body, 2),
              AllOf(HasSubstr("name = \"t.turn\""), HasSubstr("[per = \"warp\", pending = 2147483647]"),
                    HasSubstr("while {"), HasSubstr("stage [name = \"work\", priority = 2]")));
  EXPECT_THAT(text_of(body, 1), testing::Not(HasSubstr("t.turn"))) << "one replica has every turn";
}

}  // namespace
}  // namespace tlxjit
