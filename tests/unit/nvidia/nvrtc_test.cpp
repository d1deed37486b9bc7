// tests/unit/nvidia/nvrtc_test.cpp — real compiles: cubins, logs, refusals, cancelling, SASS of a main loop.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/nvidia/nvrtc_p.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "backends/nvidia/ptxas_log_p.h"
#include "backends/nvidia/sass_p.h"
#include "tests/unit/nvidia/nvrtc_fixture.h"

using namespace tlxjit;
using namespace tlxjit::nvidia;
using testing::HasSubstr;

namespace {

constexpr const char* copy_source = R"(
extern "C" __global__ void __launch_bounds__(256, 1) copy(float* to, const float* from) {
  to[threadIdx.x] = from[threadIdx.x];
}
)";

// A persistent tile loop around a K loop of wait, MMA and release, as in the library's kernels.
// `RELEASE` is what the release is made of.
std::string pipeline_source(const std::string& release) {
  return "#define RELEASE \"" + release + R"("
typedef unsigned u32; typedef unsigned long long u64;
extern "C" __global__ void __launch_bounds__(128, 1) pipeline(float* out, u64 da, u64 db, u32 bar, u32 tiles, u32 nk) {
  u32 phase = 0;
#pragma unroll 1
  for (u32 t = blockIdx.x; t < tiles; t += gridDim.x) {
    float d[4] = {};
#pragma unroll 1
    for (u32 k = 0; k < nk; ++k) {
      asm volatile("{ .reg .pred p; L: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1; @p bra D; bra L; D: }" ::"r"(bar), "r"(phase) : "memory");
      asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
      asm volatile("wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%0, %1, %2, %3}, %4, %5, 1, 1, 1, 0, 0;"
                   : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "l"(da), "l"(db));
      asm volatile("wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;" ::: "memory");
      asm volatile(RELEASE ::"r"(bar + 8) : "memory");
      phase ^= 1;
    }
    out[t * 128 + threadIdx.x] = d[0] + d[1] + d[2] + d[3];
    asm volatile("fence.acq_rel.gpu;" ::: "memory");
  }
}
)";
}

class NvrtcTest : public WithNvrtc {};

TEST_F(NvrtcTest, CompilesToACubinWithAReport) {
  NvrtcOptions options;
  options.ptx = true;
  auto result = nvrtc->compile(copy_source, "copy", "sm_90a", options);
  ASSERT_TRUE(result) << to_string(result.error());
  EXPECT_THAT(result->ptx, HasSubstr(".entry copy"));
  EXPECT_GT(result->cpu_ms, 0);
  EXPECT_GT(result->wall_ms, 0);
  const auto report = parse_ptxas_log(result->log);
  EXPECT_TRUE(report.clean());
  EXPECT_GT(report.registers, 0);
  auto sass = inspect_cubin(result->cubin);
  ASSERT_TRUE(sass) << to_string(sass.error());
  EXPECT_EQ(sass->kernel, "copy");
  EXPECT_EQ(sass->registers, report.registers);
  EXPECT_EQ(sass->count("LDG"), 1);
  EXPECT_EQ(sass->count("STG"), 1);
  EXPECT_EQ(sass->mma_loops, 0);
}

TEST_F(NvrtcTest, IdentityNamesVersionAndBuild) {
  EXPECT_THAT(nvrtc->identity(), testing::MatchesRegex("nvrtc [0-9]+\\.[0-9]+ [0-9a-f]+ [0-9a-f]*"));
}

TEST_F(NvrtcTest, ConcurrentCompilesAgree) {
  std::vector<std::vector<char>> cubins(4);
  std::vector<std::thread> threads;
  for (auto& cubin : cubins)
    threads.emplace_back([&] {
      if (auto result = nvrtc->compile(copy_source, "copy", "sm_90a")) cubin = std::move(result->cubin);
    });
  for (auto& thread : threads) thread.join();
  for (const auto& cubin : cubins) {
    EXPECT_FALSE(cubin.empty());
    EXPECT_EQ(cubin, cubins[0]);
  }
}

TEST_F(NvrtcTest, RefusedSourceIsOurFaultAndCarriesTheLog) {
  auto result = nvrtc->compile("__global__ void k() { nonsense; }", "k", "sm_90a");
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().kind, ErrorKind::internal);
  EXPECT_EQ(result.error().stage, Stage::compile);
  EXPECT_EQ(result.error().code, ErrorCode::compiler_failed);
  EXPECT_THAT(result.error().log, HasSubstr("nonsense"));
}

TEST_F(NvrtcTest, UnknownTargetIsTheEnvironments) {
  auto result = nvrtc->compile(copy_source, "copy", "sm_999a");
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().kind, ErrorKind::environment);
  EXPECT_THAT(result.error().message, HasSubstr("sm_999a"));
}

TEST_F(NvrtcTest, CanBeCancelled) {
  if (!nvrtc->can_cancel()) GTEST_SKIP() << "NOT RUN: this NVRTC has no flow callback";
  std::atomic<int> asked{0};
  NvrtcOptions options;
  options.cancelled = [&] { return ++asked, true; };
  auto result =
      nvrtc->compile(pipeline_source("mbarrier.arrive.shared::cta.b64 _, [%0];"), "pipeline", "sm_90a", options);
  ASSERT_FALSE(result);
  EXPECT_GT(asked, 0);
  EXPECT_EQ(result.error().kind, ErrorKind::environment);
  EXPECT_THAT(result.error().message, HasSubstr("cancelled"));
}

TEST_F(NvrtcTest, AThrowingCallbackCancels) {
  if (!nvrtc->can_cancel()) GTEST_SKIP() << "NOT RUN: this NVRTC has no flow callback";
  NvrtcOptions options;
  options.cancelled = []() -> bool { throw 1; };
  EXPECT_FALSE(nvrtc->compile(copy_source, "copy", "sm_90a", options).ok());
}

TEST_F(NvrtcTest, SassOfAnotherArchitectureIsRefused) {
  auto result = nvrtc->compile(copy_source, "copy", "sm_80");
  ASSERT_TRUE(result) << to_string(result.error());
  auto sass = inspect_cubin(result->cubin);
  ASSERT_FALSE(sass);
  EXPECT_THAT(sass.error().message, HasSubstr("not for sm_90"));
}

TEST_F(NvrtcTest, SetmaxnregWithoutBoundsIsReported) {
  auto result = nvrtc->compile(
      R"(extern "C" __global__ void k(float* p) { asm volatile("setmaxnreg.dec.sync.aligned.u32 40;"); p[0] = 1; })",
      "k", "sm_90a");
  ASSERT_TRUE(result) << to_string(result.error());
  const auto report = parse_ptxas_log(result->log);
  EXPECT_TRUE(report.setmaxnreg_ignored);
  EXPECT_TRUE(report.has_remark("C7508"));
}

TEST_F(NvrtcTest, MainLoopIsFoundAndClean) {
  auto result = nvrtc->compile(pipeline_source("mbarrier.arrive.shared::cta.b64 _, [%0];"), "pipeline", "sm_90a");
  ASSERT_TRUE(result) << to_string(result.error());
  EXPECT_TRUE(parse_ptxas_log(result->log).clean()) << result->log;
  auto sass = inspect_cubin(result->cubin, "pipeline");
  ASSERT_TRUE(sass) << to_string(sass.error());
  EXPECT_EQ(sass->mma_loops, 1);
  EXPECT_EQ(sass->count("HGMMA"), 1);
  EXPECT_EQ(sass->count_in_mma_loops("HGMMA"), 1);
  EXPECT_GT(sass->count("MEMBAR"), 0) << "the fence of the tile loop";
  EXPECT_EQ(sass->count_in_mma_loops("MEMBAR"), 0);
  EXPECT_EQ(sass->count_in_mma_loops("STG"), 0);
  for (const auto& [name, n] : sass->counts)
    EXPECT_FALSE(name.starts_with("OP_")) << name << " is missing in sass_opcodes.def";
}

// The release of h200.md section 1 that cost a quarter of the speed.
TEST_F(NvrtcTest, MembarInAMainLoopIsSeen) {
  auto result = nvrtc->compile(pipeline_source("{ .reg .b32 r; mapa.shared::cluster.u32 r, %0, 0; "
                                               "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [r]; }"),
                               "pipeline", "sm_90a");
  ASSERT_TRUE(result) << to_string(result.error());
  auto sass = inspect_cubin(result->cubin);
  ASSERT_TRUE(sass) << to_string(sass.error());
  EXPECT_GT(sass->count_in_mma_loops("MEMBAR"), 0);
}

TEST(NvrtcLoad, MissingLibrarySaysWhereToGetIt) {
  NvrtcSearch search;
  search.path = "/nonexistent/libnvrtc.so.13";
  auto nvrtc = Nvrtc::load(search);
  ASSERT_FALSE(nvrtc);
  EXPECT_EQ(nvrtc.error().kind, ErrorKind::environment);
  EXPECT_EQ(nvrtc.error().code, ErrorCode::library_missing);
  EXPECT_THAT(nvrtc.error().message, HasSubstr("TLXJIT_NVRTC_DIR"));
  EXPECT_THAT(nvrtc.error().log, HasSubstr("/nonexistent/libnvrtc.so.13"));
}

TEST(NvrtcLoad, AnotherLibraryIsRefused) {
  NvrtcSearch search;
  search.path = "libm.so.6";
  auto nvrtc = Nvrtc::load(search);
  ASSERT_FALSE(nvrtc);
  EXPECT_THAT(nvrtc.error().message, HasSubstr("lacks nvrtcVersion"));
}

}  // namespace
