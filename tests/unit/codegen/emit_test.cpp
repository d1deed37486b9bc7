// tests/unit/codegen/emit_test.cpp — the text that the emitter writes, and what it refuses.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/nvidia/emit/emit_p.h"

#include <gmock/gmock.h>

#include "tests/support/text_module.h"

using namespace tlxjit;
using nvidia::emit_cuda;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

namespace {

std::string source_of(const Module& module) {
  auto kernel = emit_cuda(module);
  EXPECT_TRUE(kernel) << to_string(kernel.error());
  return kernel ? kernel->source : std::string();
}

/// A task of one warp group with an accumulator `%1` of 64×64 and this body.
Module with_sums(const std::string& body) {
  return lowered("task [name = \"t\", warps = 4, replicas = 1] {\n%1 = accumulator : accumulator<64x64xf32>\n" + body +
                 "}\n");
}

TEST(EmitTest, Gemm) {
  const std::string source = source_of(module_file("gemm_sm_90a.tlx"));
  EXPECT_THAT(source, AllOf(HasSubstr("__launch_bounds__(384, 1)"), HasSubstr("setmaxnreg_dec(40);"),
                            HasSubstr("setmaxnreg_inc(232);"), HasSubstr("warp == 0 && elect()"),
                            HasSubstr("m64n256k16.f32.bf16.bf16"), Not(HasSubstr("exp2_f32"))));
  EXPECT_EQ(source, source_of(module_file("gemm_sm_90a.tlx")));
}

TEST(EmitTest, BL_096_NamesNoMacroAndNoHeader) {
  const std::string special = source_of(with_sums(R"(
      %2 = const [value = -inf] : f32
      %3 = splat %2 : tile<64x64xf32>
      acc.write %1, %3
      %4 = const [value = nan] : f32
      %5 = splat %4 : tile<64x64xf32>
      acc.write %1, %5
  )"));
  for (const std::string& source :
       {special, source_of(module_file("gemm_sm_90a.tlx")), source_of(module_file("attention_sm_90a.tlx"))})
    for (const char* name : {"#include", "INFINITY", "NAN", "FLT_MAX", "HUGE_VAL"})
      EXPECT_THAT(source, Not(HasSubstr(name)));
}

TEST(EmitTest, WideBoxesGoBlockByBlock) {
  const std::string source = source_of(module_file("attention_sm_90a.tlx"));
  EXPECT_THAT(source, AllOf(HasSubstr("tma_load_3d(base + 0, map"), HasSubstr("tma_load_3d(base + 0 + 16384, map")));
}

TEST(EmitTest, RaggedBoundMovesIntoTwoMoreAxes) {
  const std::string source = source_of(lowered(R"(
    %0 = dim [name = "T"] : i32
    %1 = const [value = 64] : i32
    %2 = const [value = 0] : i32
    %3 = tensor %0, %1 [name = "x"] : tensor<2xbf16>
    %4 = buffer [swizzle = 128, offset = 0] : buffer<1, 64x64xbf16>
    %5 = barrier [count = 1, name = "b", offset = 8192] : barrier<1>
    task [name = "t", warps = 1, replicas = 1] {
      copy.load %3, %4, %2, %5, %2, %2, %2, %0 [box = <64, 64>, ragged = 0]
    }
  )"));
  EXPECT_THAT(source, HasSubstr("tma_load_4d(base + 0, map0, base + 8192, 0, 1073741824 - d_T + 0, d_T, 1073741824);"));
}

TEST(EmitTest, ShiftsByAnAmountModuloTheBits) {
  const std::string source = source_of(lowered(R"(
    %0 = scalar [name = "a"] : i32
    %1 = scalar [name = "b"] : u64
    task [name = "t", warps = 1, replicas = 1] {
      %2 = shl %0, %0 : i32
      %3 = shr %1, %1 : u64
    }
  )"));
  EXPECT_THAT(source, AllOf(HasSubstr(" << (s_a & 31))"), HasSubstr(" >> (s_b & 63);")));
}

TEST(EmitTest, ReadsOfSumsShareTheirRegistersUntilTheyAreOverwritten) {
  // %2 is read after the write to the sums: it must be a copy. %3 is not.
  const std::string source = source_of(with_sums(R"(
    %2 = acc.read %1 [col = 0] : tile<64x64xf32>
    %3 = acc.read %1 [col = 0] : tile<64x64xf32>
    %4 = add %3, %3 : tile<64x64xf32>
    acc.write %1, %4
    %5 = add %2, %2 : tile<64x64xf32>
    acc.write %1, %5
  )"));
  EXPECT_THAT(source, HasSubstr("f32 v1_0 = v0_0"));          // the copy
  EXPECT_THAT(source, HasSubstr("f32 v3_0 = v0_0 + v0_0;"));  // the shared one
  EXPECT_THAT(source, HasSubstr("f32 v4_0 = v1_0 + v1_0;"));
}

TEST(EmitTest, ValueReadBeforeALoopThatOverwritesIsACopy) {
  const std::string source = source_of(with_sums(R"(
    %10 = const [value = 0] : i32
    %11 = const [value = 9] : i32
    %12 = const [value = 1] : i32
    %2 = acc.read %1 [col = 0] : tile<64x64xf32>
    for %10, %11, %12 {
      (%3: i32)
      %4 = add %2, %2 : tile<64x64xf32>
      acc.write %1, %4
    }
  )"));
  EXPECT_THAT(source, HasSubstr("f32 v4_0 = v0_0"));
}

TEST(EmitTest, ElementwiseOpsAreWrittenElementByElement) {
  const std::string source = source_of(with_sums(R"(
    %2 = acc.read %1 [col = 0] : tile<64x64xf32>
    %3 = mul %2, %2 : tile<64x64xf32>
    %4 = exp2 %3 : tile<64x64xf32>
    acc.write %1, %4
  )"));
  EXPECT_THAT(source, HasSubstr("f32 v2_5 = v0_5 * v0_5; f32 v3_5; exp2_f32(v3_5, v2_5);\n"));
}

TEST(EmitTest, IntegersWrapUnlessTheyCannot) {
  const std::string source = source_of(lowered(R"(
    %0 = dim [name = "M"] : i32
    %1 = const [value = 16] : i32
    %5 = scalar [name = "s"] : i32
    %6 = tensor %0 [name = "x"] : tensor<1xi32>
    task [name = "t", warps = 1, replicas = 1] {
      %2 = mul %0, %1 : i32
      %3 = div %0, %1 : i32
      %4 = mul %3, %1 : i32
      %7 = div %5, %1 : i32
      %8 = load %6, %4 : i32
    }
  )"));
  EXPECT_THAT(source, HasSubstr("(i32)((u32)d_M * (u32)16)"));
  EXPECT_THAT(source, HasSubstr("(i32)((u32)d_M / (u32)16)"));
  EXPECT_THAT(source, HasSubstr("= s_s / 16;"));
  EXPECT_THAT(source, HasSubstr(" * 16;"));
  EXPECT_THAT(source, HasSubstr("= t_x[(i64)("));
}

TEST(EmitTest, NamesThatDifferInWhatCDoesNotHaveStayApart) {
  const std::string source = source_of(lowered(R"(
    %0 = dim [name = "B+1"] : i32
    %1 = dim [name = "B-1"] : i32
    %2 = dim [name = "B_1"] : i32
    %3 = tensor %0, %1 [name = "x"] : tensor<2xi32>
    %4 = tensor %2 [name = "x_stride0"] : tensor<1xi32>
    %5 = tensor %2 [name = "α"] : tensor<1xi32>
    %6 = tensor %2 [name = "β"] : tensor<1xi32>
    task [name = "t", warps = 1, replicas = 1] {
      %7 = load %3, %0, %1 : i32
      %8 = load %4, %7 : i32
      %9 = load %5, %8 : i32
      %10 = load %6, %9 : i32
    }
  )"));
  EXPECT_THAT(source,
              HasSubstr("(i32* __restrict__ t_x, i64 t_x_stride0, i32* __restrict__ t4_x_stride0, "
                        "i32* __restrict__ t5___, i32* __restrict__ t6___, i32 d0_B_1, i32 d1_B_1, i32 d_B_1)"));
}

TEST(EmitTest, AVariableOf64BitsIsOne) {
  const std::string source = source_of(lowered(R"(
    %0 = const [value = 0] : i64
    task [name = "t", warps = 4, replicas = 1] {
      %1 = splat %0 : tile<64xi64>
      %2 = var %1 : var<tile<64xi64>>
      %3 = get %2 : tile<64xi64>
      %4 = add %3, %3 : tile<64xi64>
      set %2, %4
      %5 = cast %4 : tile<64xf32>
      %6 = accumulator : accumulator<64x64xf32>
      %7 = broadcast %5 [axis = 1] : tile<64x64xf32>
      acc.write %6, %7
    }
  )"));
  EXPECT_THAT(source, HasSubstr("i64 v2_0 = (i64)0ll, v2_1 = (i64)0ll;"));
  EXPECT_THAT(source, Not(HasSubstr("v2_2")));
}

TEST(EmitTest, NegationsOfAllTypes) {
  const std::string source = source_of(lowered(R"(
    %0 = dim [name = "M"] : i32
    %1 = scalar [name = "l"] : i64
    %2 = scalar [name = "b"] : i8
    %3 = tensor %0 [name = "x"] : tensor<1xi32>
    %4 = const [value = -0.0] : f32
    task [name = "t", warps = 1, replicas = 1] {
      %5 = neg %1 : i64
      %6 = abs %1 : i64
      %7 = neg %2 : i8
      %8 = neg %4 : f32
      %9 = const [value = -9223372036854775808] : i64
      %10 = add %1, %9 : i64
    }
  )"));
  EXPECT_THAT(source, HasSubstr("= (i64)((u64)0 - (u64)s_l);"));
  EXPECT_THAT(source, HasSubstr("= s_l < 0 ? (i64)((u64)0 - (u64)s_l) : s_l;"));
  EXPECT_THAT(source, HasSubstr("= (signed char)((u32)0 - (u32)s_b);"));
  EXPECT_THAT(source, HasSubstr("= -(-0.0f);"));
  EXPECT_THAT(source, HasSubstr("(u64)(-9223372036854775807ll - 1)"));
}

TEST(EmitTest, SmallUnsignedTypesDoNotOverflowInInt) {
  EXPECT_THAT(source_of(lowered(R"(
    %0 = scalar [name = "a"] : u16
    task [name = "t", warps = 1, replicas = 1] {
      %1 = mul %0, %0 : u16
    }
  )")),
              HasSubstr("(unsigned short)((u32)s_a * (u32)s_a)"));
}

TEST(EmitTest, AStepThatMayPassTheTypeEndsTheLoop) {
  const auto loop = [](const std::string& end, const std::string& step) {
    return source_of(lowered(R"(
      %0 = dim [name = "M"] : i32
      %1 = const [value = 0] : i32
      %2 = const [value = 128] : i32
      %3 = div %0, %2 : i32
      %4 = const [value = 1] : i32
      task [name = "t", warps = 1, replicas = 1] {
        for %1, )" + end + ", " +
                             step + " {\n (%9: i32)\n }\n }\n"));
  };
  EXPECT_THAT(loop("%0", "%2"), AllOf(HasSubstr("+= 128)"), HasSubstr("if ((u32)d_M - (u32)v5 <= (u32)128) break;")));
  EXPECT_THAT(loop("%0", "%4"), AllOf(HasSubstr("; ++v5)"), Not(HasSubstr("break;"))));
  EXPECT_THAT(loop("%3", "%2"), Not(HasSubstr("break;")));
  EXPECT_THAT(loop("%3", "%0"), HasSubstr("break;"));
}

TEST(EmitTest, ADotOfACopiedVariableHasAFence) {
  const auto flow = [](const std::string& between, const std::string& after) {
    return source_of(lowered(R"(
      %0 = buffer [swizzle = 128, offset = 0] : buffer<1, 64x64xbf16>
      %1 = const [value = 0] : i32
      %2 = const [value = 1.0] : f32
      task [name = "t", warps = 4, replicas = 1] {
        %3 = accumulator : accumulator<64x64xf32>
        %4 = acc.read %3 [col = 0] : tile<64x64xf32>
        %5 = cast %4 : tile<64x64xbf16>
        %6 = var %5 : var<tile<64x64xbf16>>
        dot.fence
        %7 = get %6 : tile<64x64xbf16>
        )" + between + R"(
        %8 = view %0, %1 : view<64x64xbf16>
        dot %3, %7, %8 [overwrite = "never"]
        dot.commit
        dot.wait [pending = 0]
        )" + after + "}\n"));
  };
  const auto fences = [](const std::string& source) {
    size_t n = 0;
    for (size_t at = source.find("wgmma_fence();"); at != std::string::npos; at = source.find("wgmma_fence();", at + 1))
      ++n;
    return n;
  };
  EXPECT_EQ(fences(flow("", "set %6, %5")), 1u) << "the text's own: the dot reads the variable's registers";
  // The variable changes between: the dot reads a copy, which is written after the text's fence.
  const std::string copied = flow("set %6, %5", "");
  ASSERT_EQ(fences(copied), 2u);
  EXPECT_LT(copied.rfind("u32 v"), copied.rfind("wgmma_fence();"));
  EXPECT_LT(copied.rfind("wgmma_fence();"), copied.find("wgmma.mma_async"));
}

TEST(EmitTest, SharedMemoryBeyondTheTargets) {
  Module module = with_sums("");
  module.attrs.set("shared_bytes", int64_t{232448});
  EXPECT_TRUE(emit_cuda(module));
  module.attrs.set("shared_bytes", int64_t{232449});
  auto kernel = emit_cuda(module);
  ASSERT_FALSE(kernel);
  EXPECT_EQ(kernel.error().code, ErrorCode::out_of_resources);
  EXPECT_EQ(kernel.error().message, "the kernel needs 232449 bytes of shared memory, sm_90a has 232448");
}

Error error_of(const Module& module) {
  auto kernel = emit_cuda(module);
  EXPECT_FALSE(kernel);
  return kernel ? Error() : kernel.error();
}

TEST(EmitTest, RefusalsNameTheLine) {
  const Error reduce = error_of(with_sums(R"(
    %2 = acc.read %1 [col = 0] : tile<64x64xf32>
    %3 = reduce %2 [kind = "sum", axis = 0, partial = 0] : tile<64xf32> @"user.cpp" 21
  )"));
  EXPECT_EQ(to_string(reduce.location), "user.cpp:21");
  EXPECT_THAT(reduce.message, HasSubstr("reduce"));
  const Error registers =
      error_of(lowered("task [name = \"t\", warps = 4, replicas = 2, registers = 256] @\"user.cpp\" 4 { }\n", 256));
  EXPECT_EQ(registers.code, ErrorCode::out_of_resources);
  EXPECT_EQ(registers.message,
            "the tasks ask for 65536 registers together; a program of 256 threads has 63488: lower registers()");
  EXPECT_EQ(to_string(registers.location), "user.cpp:4");
  Module portable;
  EXPECT_EQ(error_of(portable).kind, ErrorKind::internal);
}

TEST(EmitTest, DivisionByZeroAndOfTheLeastNumberMeansWhatTheTableSays) {
  const auto source = [](const std::string& op, const std::string& elem) {
    return source_of(lowered("%0 = scalar [name = \"a\"] : " + elem + "\n%1 = scalar [name = \"b\"] : " + elem +
                             "\ntask [name = \"t\", warps = 1, replicas = 1] {\n%3 = " + op + " %0, %1 : " + elem +
                             "\n}\n"));
  };
  EXPECT_THAT(source("div", "i64"),
              HasSubstr("= s_b == 0 ? (i64)-1 : s_b == -1 ? (i64)((u64)0 - (u64)s_a) : s_a / s_b;"));
  EXPECT_THAT(source("mod", "i64"), HasSubstr("= s_b == 0 ? s_a : s_b == -1 ? 0 : s_a % s_b;"));
  EXPECT_THAT(source("div", "u64"), HasSubstr("= s_b == 0 ? (u64)-1 : s_a / s_b;"));
  EXPECT_THAT(source("div", "i32"), HasSubstr("= s_a / s_b;"));
}

TEST(EmitTest, NewerOpsAreRefusedByName) {
  const std::pair<const char*, const char*> scalars[] = {{"exp %0 : f32", "exp"},
                                                         {"log %0 : f32", "log"},
                                                         {"sqrt %0 : f32", "sqrt"},
                                                         {"rsqrt %0 : f32", "rsqrt"},
                                                         {"sin %0 : f32", "sin"},
                                                         {"cos %0 : f32", "cos"},
                                                         {"tanh %0 : f32", "tanh"},
                                                         {"erf %0 : f32", "erf"},
                                                         {"floor %0 : f32", "floor"},
                                                         {"ceil %0 : f32", "ceil"},
                                                         {"trunc %0 : f32", "trunc"},
                                                         {"round %0 : f32", "round"},
                                                         {"fma %0, %0, %0 : f32", "fma"},
                                                         {"min_nan %0, %0 : f32", "min_nan"},
                                                         {"max_nan %0, %0 : f32", "max_nan"},
                                                         {"floor_div %1, %1 : i32", "floor_div"},
                                                         {"floor_mod %1, %1 : i32", "floor_mod"},
                                                         {"mulhi %1, %1 : i32", "mulhi"},
                                                         {"popcount %1 : i32", "popcount"},
                                                         {"clz %1 : i32", "clz"},
                                                         {"bitcast %0 : i32", "bitcast"},
                                                         {"cast %0 [saturate = 1] : i32", "cast"},
                                                         {"cast %0 : f8e4m3", "cast"},
                                                         {"cast %0 : u8", "cast"},
                                                         {"exp2 %2 : f64", "exp2"},
                                                         {"cast %3 : f32", "cast"},
                                                         {"cast %3 : b1", "cast"}};
  for (const auto& [op, name] : scalars) {
    const Error error = error_of(
        lowered("%0 = scalar [name = \"a\"] : f32\n%1 = scalar [name = \"b\"] : i32\n%2 = scalar [name = \"c\"] : f64\n"
                "%3 = scalar [name = \"d\"] : f8e5m2\ntask [name = \"t\", warps = 1, replicas = 1] {\n%9 = " +
                std::string(op) + " @\"user.cpp\" 5\n}\n"));
    EXPECT_EQ(to_string(error.location), "user.cpp:5") << op;
    EXPECT_EQ(error.code, ErrorCode::unsupported) << op;
    EXPECT_TRUE(error.message.starts_with(std::string(name) + ": ")) << error.message;
  }
  for (const char* op :
       {"tanh %2 : tile<64x64xf32>", "cast %2 [rounding = \"rtz\"] : tile<64x64xbf16>",
        "cast %2 [saturate = 1] : tile<64x64xf16>", "cast %2 : tile<64x64xf8e4m3>", "bitcast %2 : tile<64x64xi32>"}) {
    const Error error = error_of(
        with_sums("%2 = acc.read %1 [col = 0] : tile<64x64xf32>\n%3 = " + std::string(op) + " @\"user.cpp\" 6\n"));
    EXPECT_EQ(to_string(error.location), "user.cpp:6") << op << ' ' << error.message;
  }
}

}  // namespace
