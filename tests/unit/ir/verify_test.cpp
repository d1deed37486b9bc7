// tests/unit/ir/verify_test.cpp — each fault has its message, with the line of the op.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tests/support/faults.h"

namespace tlxjit {
namespace {

TEST(Verify, AcceptsTheBase) { EXPECT_EQ(only_fault(kernel_text("", ring_ops)), "no fault"); }

TEST(Verify, OpsInTasks) {
  const std::pair<const char*, const char*> cases[] = {
      {"%30 = add %10, %4 : tile<64x64xf32>", "add: the operands differ: tile<64x64xf32> and f32; splat the scalar"},
      {"%30 = add %10, %10 : tile<64x32xf32>", "add: gives tile<64x64xf32>, not tile<64x32xf32>"},
      {"%30 = exp2 %3 : i32", "exp2: works on f16, bf16, f32 or f64, not on i32"},
      {"%30 = mod %4, %4 : f32", "mod: works on integers, not on f32"},
      {"%30 = neg %12 : b1", "neg: works on signed numbers, not on b1"},
      {"%30 = and %4, %4 : f32", "and: works on integers or b1, not on f32"},
      {"%30 = cmp %4, %4 [pred = \"about\"] : b1", "cmp: pred is eq, ne, lt, le, gt or ge"},
      {"%30 = cmp %4, %4 : b1", "cmp: attribute 'pred' is missing"},
      {"%30 = neg %4 [why = 1] : f32", "neg: an attribute is unknown; the op has: "},
      {"%30 = neg %4, %4 : f32", "neg: takes 1 operands, not 2"},
      {"%30 = select %4, %4, %4 : f32", "select: the condition is b1, not f32"},
      {"%30 = cast %10 : tile<32x64xbf16>", "cast: a cast keeps the shape: tile<64x64xf32> to tile<32x64xbf16>"},
      {"%30 = cast %4 [rounding = \"up\"] : bf16", "cast: rounding is rne, rtz or stochastic"},
      {"%30 = cast %4 [rounding = \"rtz\"] : i32",
       "cast: rounding is for floats; a cast to integers truncates, one from integers is to nearest even"},
      {"%30 = cast %4 [rounding = \"stochastic\"] : bf16",
       "cast: random bits, operand 1, go with rounding = stochastic"},
      {"%30 = cast %4, %3 : bf16", "cast: random bits, operand 1, go with rounding = stochastic"},
      {"%30 = cast %4, %3 [rounding = \"stochastic\"] : bf16", "cast: random bits are u32, not i32"},
      {"%30 = cast %4, %3 [rounding = \"stochastic\"] : f64",
       "cast: rounds stochastically from f32 to f16, bf16, f8e4m3, f8e5m2 or f4e2m1, not from f32 to f64"},
      {"%30 = cast %4 [saturate = 2] : bf16", "cast: saturate is 0 or 1"},
      {"%30 = cast %4 [saturate = 1] : b1", "cast: b1 holds all that there is, x ≠ 0: leave saturate out"},
      {"%30 = cast %4 [saturate = 0] : i32", "cast: a float saturates when it becomes an integer"},
      {"%30 = cast %4 [saturate = 0] : f4e2m1", "cast: f4e2m1 has neither inf nor NaN, so it saturates"},
      {"%30 = cast %4 : f8e4m3\n %31 = add %30, %30 : f8e4m3", "add: works on numbers, not on f8e4m3"},
      {"%30 = bitcast %4 : i16", "bitcast: the sizes differ: f32 and i16"},
      {"%30 = bitcast %12 : u8", "bitcast: a b1 is no pattern of bits; cast it"},
      {"%30 = sqrt %3 : i32", "sqrt: works on f16, bf16, f32 or f64, not on i32"},
      {"%30 = fma %4, %4 : f32", "fma: takes 3 operands, not 2"},
      {"%30 = fma %4, %4, %3 : f32", "fma: the operands differ: f32 and i32; cast one of them with .to<T>()"},
      {"%30 = min_nan %3, %3 : i32", "min_nan: works on f16, bf16, f32 or f64, not on i32"},
      {"%30 = mulhi %4, %4 : f32", "mulhi: works on integers, not on f32"},
      {"%30 = floor_div %4, %4 : f32", "floor_div: works on integers, not on f32"},
      {"%30 = popcount %12 : b1", "popcount: works on integers, not on b1"},
      {"%30 = clz %4 : f32", "clz: works on integers, not on f32"},
      {"%30 = const [value = 300] : u8", "const: 300 does not fit u8"},
      {"%30 = const [value = -1] : u8", "const: -1 does not fit u8"},
      {"%30 = const [value = 1.5] : i32", "const: the value does not fit i32"},
      {"%30 = const [value = 2] : b1", "const: a b1 is 0 or 1"},
      {"%30 = splat %3 : tile<4xf32>", "splat: repeats a scalar of the tile's element type, not i32"},
      {"%30 = iota [axis = 2] : tile<4x4xi32>", "iota: axis 2 of tile<4x4xi32> is out of range"},
      {"%30 = iota [axis = 0] : tile<4x4xf32>", "iota: gives i32"},
      {"%30 = replica : f32", "replica: gives i32"},
      {"%30 = broadcast %10 [axis = 0] : tile<4x4xf32>",
       "broadcast: the ranks differ by one: tile<64x64xf32> and tile<4x4xf32>"},
      {"set %3, %3", "set: assigns to a variable, not to i32"},
      {"%30 = var %3 : var<i32>\n set %30, %4", "set: assigns f32 to a var<i32>"},
      {"%30 = var %3 : var<i32>\n %31 = add %30, %3 : i32", "add: a variable must be read with get"},
      {"if %3 {\n } {\n }", "if: the condition is a b1 scalar, not i32"},
      {"for %3, %4, %3 {\n (%30: i32)\n }", "for: operand 1 is an index (i32), not f32; cast first"},
      {"for %3, %3, %3 {\n (%30: i32)\n }",
       "for: the step is at least 1, not 0; count upwards, and compute the index from that"},
      {"while {\n %30 = wait_slot %2 : slot\n yield %12\n } {\n }",
       "wait_slot: stands in a loop's condition, whose end would give the slot back before the body; take it in the "
       "body"},
      {"for %3, %3, %3 {\n }", "for: the region has one index (i32)"},
      {"while {\n yield %3\n } {\n }", "while: region 0 ends with a yield of one b1"},
      {"store %1, %10, %3, %3", "store: writes f32 to a tensor of bf16; cast first"},
      {"%30 = cast %10 : tile<64x64xbf16>\n store %1, %30, %3",
       "store: needs one offset per axis of tensor<2xbf16>, not 1"},
      {"%30 = load %1, %3 : bf16", "load: needs one index per axis of tensor<2xbf16>, not 1"},
      {"%30 = acc.read %11 [col = 32] : tile<64x64xf32>", "acc.read: the columns are outside accumulator<64x64xf32>"},
      {"acc.write %11, %4", "acc.write: writes f32 to accumulator<64x64xf32>"},
      {"dot %11, %10, %22 [overwrite = \"never\"]",
       "dot: a and b have one element type, or each one of f8: tile<64x64xf32> and view<64x64xbf16>"},
      {"dot %11, %22, %10 [overwrite = \"never\"]", "dot: b is a view of rank 2, not tile<64x64xf32>"},
      {"%30 = part %22, %3 : view<48x64xbf16>", "part: view<64x64xbf16> does not divide into view<48x64xbf16>"},
      {"%30 = trans %22 : view<64x32xbf16>", "trans: exchanges the extents"},
      {"%30 = field %21 [field = \"b\"] : view<64x64xbf16>", "field: the ring has no field 'b'; it has 'a'"},
      {"release %20", "release: releases a slot that was waited for; this one was acquired"},
      {"release %21\n dot %11, %22, %22 [overwrite = \"never\"]", "dot: uses a slot after its release"},
      {"dot.commit", "dot.commit: is lowered; this module is portable"},
      {"%30 = dim [name = \"M\"] : i32", "dim: stands outside tasks only"},
      {"%30 = add %99, %3 : i32\n %99 = add %3, %3 : i32", "add: uses a value that is made later"},
      {"if %12 {\n %30 = add %3, %3 : i32\n } {\n }\n %31 = add %30, %3 : i32",
       "add: uses a value of a loop, branch or other region that has ended; give it its first value before the region "
       "and assign to it inside"},
  };
  for (const auto& [ops, message] : cases) EXPECT_EQ(only_fault(kernel_text("", ring_ops + ops)), message) << ops;
}

TEST(Verify, OnlyTheCauseIsTold) {
  EXPECT_EQ(only_fault(kernel_text("",
                                   "%30 = add %3, %4 : i32\n %31 = add %30, %3 : i32\n if %12 {\n %32 = add %31, "
                                   "%30 : i32\n } {\n }\n for %3, %31, %30 {\n (%33: i32)\n }")),
            "add: the operands differ: i32 and f32; cast one of them with .to<T>()");
  EXPECT_EQ(only_fault(kernel_text("%30 = ring [fields = \"\"] : ring<2>",
                                   "%31 = acquire %30 : slot\n publish %31\n %32 = wait_slot %30 : slot")),
            "ring: has no fields; slot() adds one");
  // A task that is refused is a task.
  const auto module = parse(R"(tlx 1 portable
kernel "k" {
  %0 = const [value = 1] : i32
  grid %0
  task [name = "t", warps = 3, replicas = 1] {
  }
})");
  ASSERT_TRUE(module) << to_string(module.error());
  const auto faults = verify(*module);
  ASSERT_EQ(faults.size(), 1u);
  EXPECT_EQ(faults[0].message, "task: an instance has 1, 2, 4 or 8 warps, not 3");
}

TEST(Verify, DeclarationsOutsideTasks) {
  const std::pair<const char*, const char*> cases[] = {
      {"%30 = splat %4 : tile<4xf32>", "splat: stands in a task; code outside tasks forms scalars only"},
      {"%30 = program_id : i32", "program_id: is known to programs that run: call it inside the task"},
      {"%30 = dim [name = \"x\"] : i32", "dim: the name 'x' is taken"},
      {"%30 = dim [name = \"\"] : i32", "dim: needs a name"},
      {"grid %0", "grid: a kernel has one grid, from grid() or from its schedule"},
      {"%30 = schedule %0 [kind = \"static\"] : schedule<0> {\n (%31: i32)\n %32 = const [value = 1] : b1\n yield "
       "%32\n }",
       "schedule: a kernel has one schedule, and no grid() beside it"},
      {"task [name = \"t\", warps = 4, replicas = 1] {\n }", "task: the name 't' is taken by another task"},
      {"%30 = ring [fields = \"a 4x4xf32, a 4x4xf32\"] : ring<2>", "ring: two fields have the name 'a'"},
      {"%30 = ring [fields = \"\"] : ring<2>", "ring: has no fields; slot() adds one"},
      {"%30 = ring [fields = \"a 4x4xf32\"] : ring<0>", "ring: has 1 to 64 stages, not 0"},
      {"%30 = ring [fields = \"a f32\"] : ring<2>", "ring: field 'a' is no tile of rank 1 to 5"},
      {"%30 = ring [fields = \"a 4x4xf32\", fillers = 0] : ring<2>", "ring: fillers are 1 to 1024"},
      {"%30 = ring [fields = \"a 4x4xf32\", drainers = 1025] : ring<2>", "ring: drainers are 1 to 1024"},
      {"task [name = \"u\", warps = 3, replicas = 1] {\n }", "task: an instance has 1, 2, 4 or 8 warps, not 3"},
      {"task [name = \"u\", warps = 4, replicas = 0] {\n }", "task: replicas are 1 to 32, not 0"},
      {"task [name = \"u\", warps = 4, replicas = 1, registers = 25] {\n }",
       "task: registers are 24 to 256 in steps of 8, not 25"},
      {"%30 = tensor %4 [name = \"y\"] : tensor<1xf32>", "tensor: operand 0 is an index (i32), not f32; cast first"},
      {"%30 = tensor %0 [name = \"y\"] : tensor<2xf32>", "tensor: has one extent per axis, 1 to 5 axes"},
      {"%30 = tensor %0 [name = \"y\"] : tensor<1xf4e2m1>",
       "tensor: f4e2m1 has no whole bytes: keep it in u8, and bitcast"},
      {"%30 = ring [fields = \"a 4x4xf4e2m1\"] : ring<2>",
       "ring: f4e2m1 has no whole bytes: keep it in u8, and bitcast"},
      {"%30 = select_axis %1, %3 [axis = 1] : tensor<1xbf16>",
       "select_axis: axis 1 cannot be dropped (axes 0 to rank − 2 can)"},
      {"%30 = window %1, %3, %3 [axis = 2] : tensor<2xbf16>", "window: axis 2 of tensor<2xbf16> is out of range"},
      {"%30 = schedule %0 [kind = \"random\"] : schedule<0> {\n (%31: i32)\n yield %31\n }",
       "schedule: kind is static, dynamic or grid"},
  };
  for (const auto& [ops, message] : cases) EXPECT_EQ(only_fault(kernel_text(ops, ring_ops)), message) << ops;
}

TEST(Verify, SlotsAreFilledOnce) {
  EXPECT_EQ(only_fault(kernel_text("", "%20 = acquire %2 : slot\n %21 = wait_slot %2 : slot")),
            "acquire: field 'a' is filled 0 times; every field is filled once");
  EXPECT_EQ(only_fault(kernel_text("",
                                   "%20 = acquire %2 : slot\n load_field %20, %1, %3, %3 [field = \"a\"]\n"
                                   "load_field %20, %1, %3, %3 [field = \"a\"]\n %21 = wait_slot %2 : slot")),
            "acquire: field 'a' is filled 2 times; every field is filled once");
  EXPECT_EQ(only_fault(kernel_text("", "%20 = acquire %2 : slot\n load_field %20, %1, %3, %3 [field = \"a\"]")),
            "ring: is filled, but no task waits for it");
  EXPECT_EQ(only_fault(kernel_text("", "%21 = wait_slot %2 : slot")), "ring: is waited for, but no task fills it");
}

TEST(Verify, LoweredIndicesThatAreConstants) {
  EXPECT_EQ(only_fault(lowered_text("", "")), "no fault");
  const std::string minus = "%30 = const [value = -1] : i32\n";
  const std::pair<std::string, const char*> cases[] = {
      {"%31 = view %4, %7 : view<64x64xf32>", "view: slot 2 is outside the 2 that there are"},
      {minus + "%31 = view %4, %30 : view<64x64xf32>", "view: slot -1 is outside the 2 that there are"},
      {"%31 = part %21, %7 : view<32x64xf32>", "part: part 2 is outside the 2 that there are"},
      {"wait %6, %7, %0", "wait: slot 2 is outside the 2 that there are"},
      {"arrive %6, %7 [per = \"instance\"]", "arrive: slot 2 is outside the 2 that there are"},
      {"expect %6, %7 [bytes = 16]", "expect: slot 2 is outside the 2 that there are"},
      {"buffer.store %4, %7, %22", "buffer.store: slot 2 is outside the 2 that there are"},
      {"buffer.put %5, %7, %0, %2", "buffer.put: slot 2 is outside the 2 that there are"},
      {"buffer.put %5, %0, %0, %0", "buffer.put: the element is f32, not i32; cast first"},
      {"%31 = tile.load %3, %0, %0, %2 [box = <64, 64>, ragged = 0] : tile<64x64xf32>",
       "tile.load: offsets are i32, not f32; cast first"},
      {"buffer.put %5, %0, %1, %2", "buffer.put: element 64 is outside the 64 that there are"},
      {"%31 = buffer.get %5, %0, %1 : f32", "buffer.get: element 64 is outside the 64 that there are"},
      {"copy.load %3, %4, %7, %6, %0, %0, %0 [box = <64, 64>, ragged = -1]",
       "copy.load: slot 2 is outside the 2 that there are"},
      {"copy.load %3, %4, %0, %6, %7, %0, %0 [box = <64, 64>, ragged = -1]",
       "copy.load: the barrier's slot 2 is outside the 2 that there are"},
      {"copy.store %3, %4, %7, %0, %0 [box = <64, 64>, ragged = -1]",
       "copy.store: slot 2 is outside the 2 that there are"},
  };
  for (const auto& [ops, message] : cases) EXPECT_EQ(only_fault(lowered_text("", ops)), message) << ops;
}

TEST(Verify, LoweredNumbersThatOverflow) {
  const std::pair<std::string, const char*> outside[] = {
      {"%10 = buffer [swizzle = 0, offset = 9223372036854775807] : buffer<1, 64xf32>",
       "buffer: offset is a multiple of 16, at least 0"},
      {"%10 = buffer [swizzle = 0, offset = 9223372036854775792] : buffer<1, 64xf32>",
       "buffer: ends beyond 2^31 bytes of shared memory"},
      {"%10 = buffer [swizzle = 0, offset = 1099511627776] : buffer<1, 64xf32>",
       "buffer: ends beyond 2^31 bytes of shared memory"},
      {"%10 = buffer [swizzle = 0, offset = 2147483392] : buffer<1, 64xf32>",
       "buffer: ends beyond 2^31 bytes of shared memory"},
      {"%10 = buffer [swizzle = 0] : buffer<2000000000, 4096x4096xf64>",
       "buffer: ends beyond 2^31 bytes of shared memory"},
      {"%10 = buffer [offset = 0] : buffer<1, 64xf32>", "buffer: attribute 'swizzle' is missing"},
      {"%10 = buffer [swizzle = 0, offset = 0] : buffer<1, 64xf4e2m1>",
       "buffer: f4e2m1 has no whole bytes: keep it in u8, and bitcast"},
      {"%10 = buffer [swizzle = 0, offset = -16] : buffer<1, 64xf32>",
       "buffer: offset is a multiple of 16, at least 0"},
      {"%10 = buffer [swizzle = 0, offset = \"0\"] : buffer<1, 64xf32>",
       "buffer: offset is a multiple of 16, at least 0"},
      {"%10 = buffer [swizzle = 64, offset = 256] : buffer<1, 64xf32>",
       "buffer: offset is a multiple of 512, at least 0"},
      {"%10 = buffer [swizzle = 0, offset = 0] : buffer<1, 1048576x1048576x1048576x1048576xf32>",
       "buffer: has at least 1 slot, of rank 1 to 5, each extent 1 to 2^20, at most 2^24 elements, unlike "
       "buffer<1, 1048576x1048576x1048576x1048576xf32>"},
      {"%10 = barrier [count = 1, name = \"c\", offset = 4] : barrier<1>",
       "barrier: offset is a multiple of 8, at least 0"},
      {"%10 = barrier [count = 1, name = \"c\", offset = 2147483640] : barrier<2>",
       "barrier: ends beyond 2^31 bytes of shared memory"},
      {"%10 = barrier [count = 1, name = \"c\", offset = 0] : barrier<2000000000>",
       "barrier: has 1 to 4096 slots, not 2000000000"},
  };
  for (const auto& [ops, message] : outside) EXPECT_EQ(only_fault(lowered_text(ops, "")), message) << ops;
  // 3 · this is 1 modulo 2^64.
  const std::string box = "[box = <3, 6148914691236517205, 3>, ragged = -1]";
  const std::pair<std::string, const char*> inside[] = {
      {"tile.store %11, %23, %0, %0, %0 " + box,
       "tile.store: each extent of the box is at least 1, their product at most 2^24"},
      {"copy.store %11, %12, %0, %0, %0, %0 " + box,
       "copy.store: each extent of the box is at least 1, their product at most 2^24"},
      {"%30 = acc.read %20 [col = 9223372036854775800] : tile<64x64xf32>",
       "acc.read: the columns are outside accumulator<64x64xf32>"},
      {"%30 = acc.read %20 [col = 4611686018427387904] : tile<64x4611686018427387904xf32>",
       "acc.read: the columns are outside accumulator<64x64xf32>"},
      {"if %13 {\n (%30: view<64x64xf32>)\n } {\n }", "if: its regions have no arguments"},
  };
  const std::string more =
      "%11 = tensor %1, %1, %1 [name = \"y\"] : tensor<3xf32>\n"
      "%12 = buffer [swizzle = 0] : buffer<1, 1xf32>\n%13 = const [value = 1] : b1\n";
  for (const auto& [ops, message] : inside) EXPECT_EQ(only_fault(lowered_text(more, ops)), message) << ops;
  std::string text = lowered_text("", "");
  text.replace(text.find("65536"), 5, "9223372036854775807");
  EXPECT_EQ(only_fault(text), "kernel 'k': shared_bytes is 0 to 2^31 − 1");
}

TEST(Verify, LongChainsOfViews) {
  const auto chain = [](int n) {
    std::string ops;
    for (int i = 0; i < n; ++i)
      ops += "%" + std::to_string(30 + i) + " = trans %" + std::to_string(i ? 29 + i : 21) + " : view<64x64xf32>\n";
    return lowered_text("", ops);
  };
  EXPECT_EQ(only_fault(chain(16)), "no fault");
  EXPECT_EQ(only_fault(chain(17)), "trans: a view is formed in at most 16 steps");
}

TEST(Verify, KernelsAsAWhole) {
  EXPECT_EQ(only_fault("tlx 1 portable\nkernel \"k\" {\n  %0 = sms : i32\n  grid %0\n}\n"),
            "kernel 'k': the kernel has no task: use task()");
  EXPECT_EQ(only_fault("tlx 1 portable\nkernel \"k\" {\n task [name = \"t\", warps = 1, replicas = 1] {\n }\n}\n"),
            "kernel 'k': the kernel has no grid: use persistent(), dynamic(), tiles() or grid()");
}

/// Names stand in lists, logs and messages: a line each.
TEST(Verify, NamesHaveNoControlCharacters) {
  for (const std::string c : {"\\n", "\r", "\t", "\x1b", "\x7f"}) {
    EXPECT_EQ(only_fault("tlx 1 portable\nkernel \"k" + c +
                         "\" {\n  %0 = const [value = 1] : i32\n  grid %0\n"
                         "  task [name = \"t\", warps = 1, replicas = 1] {\n  }\n}\n"),
              "kernel 'k?': its name has a control character");
    EXPECT_EQ(only_fault(kernel_text("  %8 = dim [name = \"M" + c + "\"] : i32\n", ring_ops)),
              "dim: its name has a control character");
  }
  EXPECT_EQ(only_fault(kernel_text("  %8 = scalar [name = \"größe\"] : i32\n", ring_ops)), "no fault");
}

TEST(Verify, GivesTheUsersLine) {
  auto module = parse("tlx 1 portable\nkernel \"k\" {\n %0 = const [value = 300] : u8 @ \"user.cpp\" 42\n}\n");
  ASSERT_TRUE(module.ok());
  const auto faults = verify(*module);
  ASSERT_GE(faults.size(), 1u);
  EXPECT_EQ(to_string(faults[0]), "user.cpp:42: user error in verify: const: 300 does not fit u8");
  const auto all = first_of(faults);
  ASSERT_FALSE(all.ok());
  EXPECT_EQ(all.error().message, "const: 300 does not fit u8 (and 2 more)");
  EXPECT_NE(all.error().log.find("the kernel has no task"), std::string::npos);
}

}  // namespace
}  // namespace tlxjit
