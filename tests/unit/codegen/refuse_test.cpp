// tests/unit/codegen/refuse_test.cpp — ops that the NVIDIA back end lacks are refused by name, with the user's line.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <gtest/gtest.h>

#include <set>

#include "backends/nvidia/emit/emit_p.h"
#include "src/passes/lower_p.h"
#include "tests/support/text_module.h"
#include "tlxjit/builder/kernel.h"
#include "tlxjit/ir/text.h"
#include "tlxjit/ir/verify.h"

namespace tlxjit {
namespace {

/// Ops of lowered IR that neither the kernels in tests/ir nor the one below has, each with what it refers to.
const std::pair<const char*, const char*> ops[] = {
    {"reshape", "%30 = reshape %10 : tile<4096xf32>"},
    {"transpose", "%30 = transpose %10 [order = <1, 0>] : tile<64x64xf32>"},
    {"slice", "%30 = slice %10 [offsets = <0, 8>] : tile<64x8xf32>"},
    {"concat", "%30 = concat %10, %10 [axis = 1] : tile<64x128xf32>"},
    {"join", "%30 = join %10, %10 : tile<64x64x2xf32>"},
    {"split", "%30, %31 = split %12 : tile<64xf32>, tile<64xf32>"},
    {"reduce.custom", "%30 = reduce.custom %10 [axis = 1] : tile<64xf32> {\n(%40: f32, %41: f32)\nyield %40\n}"},
    {"scan", "%30 = scan %10 [kind = \"sum\", axis = 1, exclusive = 0, reverse = 0] : tile<64x64xf32>"},
    {"scan.custom",
     "%30 = scan.custom %10 [axis = 1, reverse = 0] : tile<64x64xf32> {\n(%40: f32, %41: f32)\nyield %40\n}"},
    {"tile.load", "%30 = tile.load %1, %3, %3 [box = <64, 64>, ragged = -1] : tile<64x64xf32>"},
    {"tile.store.masked", "tile.store.masked %1, %10, %3, %3, %13 [box = <64, 64>, ragged = -1]"},
    {"load.at", "%30 = load.at %1, %15, %3 : tile<64x64xf32>"},
    {"store.at", "store.at %1, %10, %15, %3"},
    {"atomic", "%30 = atomic %1, %4, %3, %3 [kind = \"add\", order = \"relaxed\"] : f32"},
    {"atomic.tile", "%30 = atomic.tile %1, %10, %3, %3 [kind = \"add\", order = \"relaxed\"] : tile<64x64xf32>"},
    {"load", "%30 = load %1, %3, %3 : f32"},
    {"exp", "%30 = exp %10 : tile<64x64xf32>"},
    {"log", "%30 = log %10 : tile<64x64xf32>"},
    {"sqrt", "%30 = sqrt %4 : f32"},
    {"rsqrt", "%30 = rsqrt %10 : tile<64x64xf32>"},
    {"sin", "%30 = sin %10 : tile<64x64xf32>"},
    {"cos", "%30 = cos %4 : f32"},
    {"tanh", "%30 = tanh %10 : tile<64x64xf32>"},
    {"erf", "%30 = erf %10 : tile<64x64xf32>"},
    {"floor", "%30 = floor %10 : tile<64x64xf32>"},
    {"ceil", "%30 = ceil %4 : f32"},
    {"trunc", "%30 = trunc %10 : tile<64x64xf32>"},
    {"round", "%30 = round %10 : tile<64x64xf32>"},
    {"fma", "%30 = fma %10, %10, %10 : tile<64x64xf32>"},
    {"pow", "%30 = pow %4, %4 : f32"},
    {"copysign", "%30 = copysign %10, %10 : tile<64x64xf32>"},
    {"min_nan", "%30 = min_nan %10, %10 : tile<64x64xf32>"},
    {"max_nan", "%30 = max_nan %4, %4 : f32"},
    {"floor_div", "%30 = floor_div %0, %0 : i32"},
    {"floor_mod", "%30 = floor_mod %0, %0 : i32"},
    {"mulhi", "%30 = mulhi %0, %0 : i32"},
    {"popcount", "%30 = popcount %0 : i32"},
    {"clz", "%30 = clz %0 : i32"},
    {"bitcast", "%30 = bitcast %4 : i32"},
    {"abs", "%30 = abs %0 : i32"},
    {"neg", "%30 = neg %10 : tile<64x64xf32>"},
    {"not", "%30 = not %0 : i32"},
    {"and", "%30 = and %0, %0 : i32"},
    {"or", "%30 = or %0, %0 : i32"},
    {"xor", "%30 = xor %0, %0 : i32"},
    {"shl", "%30 = shl %0, %0 : i32"},
    {"shr", "%30 = shr %0, %0 : i32"},
    {"view.slice", "%30 = view.slice %20 [offsets = <0, 0>] : view<32x64xbf16>"},
    {"view.reshape", "%30 = view.reshape %20 : view<4096xbf16>"},
    {"view.reinterpret", "%30 = view.reinterpret %20 : view<64x64xf16>"},
    {"view.load", "%30 = view.load %20 : tile<64x64xbf16>"},
    {"view.store", "view.store %20, %21"},
    {"view.gather", "%30 = view.gather %20, %15 [axis = 0] : tile<64x64xbf16>"},
    {"view.scatter", "view.scatter %20, %15, %21 [axis = 0]"},
    {"part", "%30 = part %20, %3 : view<32x64xbf16>"},
    {"sync", "sync"},
    {"barrier.sync", "barrier.sync %7, %3"},
    {"copy.prefetch", "copy.prefetch %1, %3, %3 [box = <64, 64>, ragged = -1]"},
    {"copy.lanes", "copy.lanes %2, %6, %3, %3, %3 [box = <64, 64>, ragged = -1]"},
    {"copy.commit", "copy.commit"},
    {"copy.wait", "copy.wait [pending = 0]"},
    {"flag.wait", "flag.wait %8, %3, %3 [pred = \"ge\"]"},
    {"flag.set", "flag.set %8, %3, %3"},
    {"flag.add", "flag.add %8, %3, %3"},
    {"cluster.rank", "%30 = cluster.rank : i32"},
    {"cluster.sync", "cluster.sync"},
    {"arrive.remote", "arrive.remote %7, %3, %3 [per = \"instance\"]"},
    {"buffer.store.remote", "buffer.store.remote %6, %3, %21, %3, %7, %3"},
    {"print", "print %3 [text = \"{}\"]"},
    {"assert", "assert %5 [message = \"m\"]"},
    {"clock", "%30 = clock : i64"},
    {"inline", "%30 = inline %3 [target = \"sm_90a\", text = \"\", constraints = \"=r,r\"] : i32"},
};

/// Kinds of ops that it has, which it lacks.
const std::pair<const char*, const char*> kinds[] = {
    {"reduce", "%30 = reduce %10 [kind = \"min\", axis = 1, partial = 0] : tile<64xf32>"},
    {"reduce", "%30 = reduce %10 [kind = \"argmax\", axis = 1, partial = 0] : tile<64xi32>"},
    {"reduce", "%30 = reduce %10 [kind = \"sum\", axis = 0, partial = 0] : tile<64xf32>"},
    {"reduce", "%30 = reduce %14 [kind = \"sum\", axis = 0, partial = 0] : f32"},
    {"cast", "%30 = cast %10 [rounding = \"rtz\"] : tile<64x64xbf16>"},
    {"fence", "fence [scope = \"gpu\"]"},
    {"expect", "expect %7, %3 [bytes = 1048576]"},
    {"const", "%30 = const [value = 1.5] : bf16"},
    {"copy.store", "copy.store %2, %6, %3, %3, %3 [box = <64, 64>, ragged = -1, reduce = \"add\"]"},
};

Module with(std::string op, const std::string& declarations = "") {
  op.insert(std::min(op.find(" {\n"), op.size()), " @ \"user.cpp\" 77");
  auto module = parse(R"(tlx 1 lowered sm_90a
kernel "k" [threads = 128, shared_bytes = 16384] {
  %0 = dim [name = "N"] : i32
  %1 = tensor %0, %0 [name = "x"] : tensor<2xf32>
  %2 = tensor %0, %0 [name = "h"] : tensor<2xbf16>
  %3 = const [value = 0] : i32
  %4 = const [value = 1.0] : f32
  %5 = const [value = 1] : b1
  %6 = buffer [swizzle = 128, offset = 0] : buffer<1, 64x64xbf16>
  %7 = barrier [count = 1, name = "b", offset = 8192] : barrier<1>
  %8 = tensor %0 [name = "f"] : tensor<1xi32>
)" + declarations + R"(
  grid %0
  task [name = "t", warps = 4, replicas = 1] {
    %9 = accumulator : accumulator<64x64xf32>
    %10 = acc.read %9 [col = 0] : tile<64x64xf32>
    %12 = splat %4 : tile<64x2xf32>
    %13 = splat %5 : tile<64x64xb1>
    %14 = splat %4 : tile<64xf32>
    %15 = splat %3 : tile<64x64xi32>
    %20 = view %6, %3 : view<64x64xbf16>
    %21 = cast %10 : tile<64x64xbf16>
)" + op + "\n  }\n}\n");
  EXPECT_TRUE(module) << to_string(module.error()) << "\n" << op;
  return module ? std::move(*module) : Module();
}

void expect_refused(const char* name, const char* text, const Result<nvidia::EmittedKernel>& emitted) {
  ASSERT_FALSE(emitted) << text;
  const Error& error = emitted.error();
  EXPECT_EQ(error.kind, ErrorKind::user) << text;
  EXPECT_EQ(error.code, ErrorCode::unsupported) << text;
  EXPECT_TRUE(error.message.starts_with(std::string(name) + ": ")) << error.message;
  EXPECT_EQ(error.location.line, 77u) << error.message;
}

/// What is said where the target lacks it.
std::string lacks(const OpInfo& row) {
  return std::string(row.text) + ": sm_90a has no " + std::string(row.needs) + "; targets that have it: cpu";
}

TEST(Refuse, EveryOpIsEmittedOrRefusedByNameAndLine) {
  std::set<std::string_view> met;
  const auto emits = [&](const Module& module) {
    const auto emitted = nvidia::emit_cuda(module);
    ASSERT_TRUE(emitted) << to_string(emitted.error());
    walk(module.body, [&](const Op& op) { met.insert(info(op.code).text); });
  };
  emits(with(""));
  for (const char* name : {"gemm_sm_90a.tlx", "attention_sm_90a.tlx"}) emits(module_file(name));
  for (const auto& [name, text] : ops) {
    const OpInfo& row = info(*parse_op_code(name));
    const bool cluster = row.needs == "cluster", resident = row.needs == "resident";
    const Module module = with(text, cluster ? "  cluster [size = 1]" : resident ? "  resident" : "");
    const auto faults = verify(module);
    ASSERT_TRUE(faults.empty()) << text << ": " << faults[0].message;
    met.insert(name);
    auto emitted = nvidia::emit_cuda(module);
    if (row.needs.empty() || row.needs == "tma") {
      EXPECT_TRUE(emitted) << text << ": " << to_string(emitted.error());
      continue;
    }
    if (cluster || resident) {  // whose declaration is refused before
      EXPECT_EQ(emitted.error().message, lacks(info(cluster ? OpCode::cluster : OpCode::resident)));
      met.insert(cluster ? "cluster" : "resident");
      continue;
    }
    expect_refused(name, text, emitted);
    EXPECT_EQ(emitted.error().message, lacks(row));
  }
  for (int i = 0; i < op_count(); ++i) {
    const OpInfo& row = info(static_cast<OpCode>(i));
    if (row.level != Level::portable) {
      // PreciseMathButNotFast has `math`; `sms` is the grid's, on the host.
      EXPECT_EQ(met.count(row.text), row.code == OpCode::math ? 0u : 1u) << row.text << " is not tried";
    }
  }
}

TEST(Refuse, KindsOfOpsByNameAndLine) {
  for (const auto& [name, text] : kinds) {
    const Module module = with(text);
    const auto faults = verify(module);
    ASSERT_TRUE(faults.empty()) << text << ": " << faults[0].message;
    expect_refused(name, text, nvidia::emit_cuda(module));
  }
}

/// Before what a pass has to say of the kernel: its ring is none for Hopper.
TEST(Refuse, PortableOpsFirst) {
  Kernel k{"k"};
  const Tensor x = k.tensor<float>("x", {64});
  const Ring ring = k.ring(2).slot<float>("a", {64});
  k.grid(1);
  uint32_t line = 0;
  k.task("p").body([&] { ring.acquire().load("a", x, {0}); });
  k.task("c").body([&](Task& t) {
    (void)ring.wait();
    line = __LINE__ + 1;
    x.store({0}, sin(t.full<float>({64}, 1)));
  });
  const auto lowered = lower(*k.module(), *find_target("sm_90a"));
  ASSERT_FALSE(lowered);
  EXPECT_EQ(lowered.error().message, "sin: sm_90a has no libm; targets that have it: cpu");
  EXPECT_EQ(lowered.error().location.line, line);
  EXPECT_EQ(lowered.error().kind, ErrorKind::user);
  // Every portable op that lowering turns into one that is refused is refused itself.
  for (const auto& [portable, made] :
       {std::pair{OpCode::load_tile, OpCode::tile_load}, {OpCode::store_masked, OpCode::tile_store_masked}})
    EXPECT_EQ(info(portable).needs, info(made).needs);
}

TEST(Refuse, PreciseMathButNotFast) {
  const auto emitted = [](const char* mode) {
    Module module = with("");
    Attrs attrs;
    attrs.set("mode", std::string(mode));
    auto& ops = module.body.ops;
    ops.insert(ops.end() - 2, module.make(OpCode::math, {}, {}, attrs, module.add_location({"user.cpp", 78})));
    EXPECT_TRUE(verify(module).empty());
    return nvidia::emit_cuda(module);
  };
  const auto plain = nvidia::emit_cuda(with("")), fast = emitted("fast"), precise = emitted("precise");
  ASSERT_TRUE(plain && fast) << to_string((plain ? fast : plain).error());
  EXPECT_EQ(fast->source, plain->source);
  ASSERT_FALSE(precise);
  EXPECT_EQ(precise.error().message, "math: this target has fast functions only, which flush subnormals");
  EXPECT_EQ(precise.error().code, ErrorCode::unsupported);
  EXPECT_EQ(precise.error().location.line, 78u);
}

}  // namespace
}  // namespace tlxjit
