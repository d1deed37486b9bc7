// tests/unit/codegen/refuse_test.cpp — ops that the NVIDIA back end lacks are refused by name, with the user's line.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <gtest/gtest.h>

#include <set>

#include "backends/nvidia/emit/emit_p.h"
#include "src/ir/access_p.h"
#include "src/passes/lower_p.h"
#include "tlxjit/ir/text.h"
#include "tlxjit/ir/verify.h"

namespace tlxjit {
namespace {

/// Lowered ops, each with what it refers to.
const std::pair<const char*, const char*> ops[] = {
    {"reshape", "%30 = reshape %10 : tile<4096xf32>"},
    {"transpose", "%30 = transpose %10 [order = <1, 0>] : tile<64x64xf32>"},
    {"slice", "%30 = slice %10 [offsets = <0, 8>] : tile<64x8xf32>"},
    {"concat", "%30 = concat %10, %10 [axis = 1] : tile<64x128xf32>"},
    {"join", "%30 = join %10, %10 : tile<64x64x2xf32>"},
    {"split", "%30, %31 = split %12 : tile<64xf32>, tile<64xf32>"},
    {"reduce", "%30 = reduce %10 [kind = \"min\", axis = 1, partial = 0] : tile<64xf32>"},
    {"reduce", "%30 = reduce %10 [kind = \"argmax\", axis = 1, partial = 0] : tile<64xi32>"},
    {"reduce", "%30 = reduce %10 [kind = \"sum\", axis = 0, partial = 0] : tile<64xf32>"},
    {"reduce", "%30 = reduce %14 [kind = \"sum\", axis = 0, partial = 0] : f32"},
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
    {"pow", "%30 = pow %4, %4 : f32"},
    {"copysign", "%30 = copysign %10, %10 : tile<64x64xf32>"},
    {"print", "print %3 [text = \"{}\"]"},
    {"assert", "assert %5 [message = \"m\"]"},
    {"clock", "%30 = clock : i64"},
    {"inline", "%30 = inline %3 [target = \"sm_90a\", text = \"\", constraints = \"=r,r\"] : i32"},
};

Module with(std::string op) {
  op.insert(std::min(op.find(" {\n"), op.size()), " @ \"user.cpp\" 77");
  auto module = parse(R"(tlx 1 lowered sm_90a
kernel "k" [threads = 128, shared_bytes = 1024] {
  %0 = dim [name = "N"] : i32
  %1 = tensor %0, %0 [name = "x"] : tensor<2xf32>
  %3 = const [value = 0] : i32
  %4 = const [value = 1.0] : f32
  %5 = const [value = 1] : b1
  grid %0
  task [name = "t", warps = 4, replicas = 1] {
    %9 = accumulator : accumulator<64x64xf32>
    %10 = acc.read %9 [col = 0] : tile<64x64xf32>
    %12 = splat %4 : tile<64x2xf32>
    %13 = splat %5 : tile<64x64xb1>
    %14 = splat %4 : tile<64xf32>
    %15 = splat %3 : tile<64x64xi32>
)" + op + "\n  }\n}\n");
  EXPECT_TRUE(module) << to_string(module.error()) << "\n" << op;
  return module ? std::move(*module) : Module();
}

TEST(Refuse, OpsOfOtherBackEndsByNameAndLine) {
  for (const auto& [name, text] : ops) {
    const Module module = with(text);
    const auto faults = verify(module);
    ASSERT_TRUE(faults.empty()) << text << ": " << faults[0].message;
    const auto emitted = nvidia::emit_cuda(module);
    ASSERT_FALSE(emitted) << text;
    const Error& error = emitted.error();
    EXPECT_EQ(error.kind, ErrorKind::user) << text;
    EXPECT_EQ(error.code, ErrorCode::unsupported) << text;
    EXPECT_TRUE(error.message.starts_with(std::string(name) + ": ")) << error.message;
    EXPECT_EQ(error.location.line, 77u) << error.message;
  }
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

TEST(Refuse, EveryOpOfTheseFamiliesIsTried) {
  // What the back end has, and what only portable IR has.
  std::set<std::string_view> rest = {"splat", "iota", "broadcast", "finish", "load.tile", "store.masked"};
  for (const auto& [name, text] : ops) rest.insert(name);
  for (int i = 0; i < op_count(); ++i) {
    const OpInfo& row = info(static_cast<OpCode>(i));
    const bool here = row.family == Family::shape || row.family == Family::reduce || row.family == Family::debug ||
                      row.family == Family::inline_text || is_access(row.code);
    EXPECT_EQ(rest.count(row.text), here ? 1u : rest.count(row.text)) << row.text << " is not tried";
  }
}

}  // namespace
}  // namespace tlxjit
