// tests/unit/nvidia/launch_test.cpp — what a launch passes to the driver, and that it allocates nothing.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/nvidia/launch_p.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <new>

#include "tests/support/allocations.h"
#include "tests/unit/nvidia/fake_driver.h"
#include "tests/unit/runtime/child.h"

using namespace tlxjit;
using namespace tlxjit::nvidia;
using testing::HasSubstr;

namespace {

struct Launch : testing::Test {
  std::shared_ptr<Driver> driver = fake_driver();
  std::shared_ptr<Context> context = *Context::open(driver);
  std::shared_ptr<Module> module = *Module::load(context, std::vector<char>{'x'});
};

TEST_F(Launch, FunctionIsPreparedOnce) {
  auto function = module->function("gemm", 213056, 16);
  ASSERT_TRUE(function) << to_string(function.error());
  EXPECT_EQ(function->registers, 168);
  EXPECT_EQ(fake_log().max_shared, 213056);
  EXPECT_TRUE(fake_log().nonportable);
  EXPECT_EQ(fake_log().loaded_early, 1);
  EXPECT_TRUE(fake_log().stack.empty()) << "no context is left behind";
}

TEST_F(Launch, TooMuchSharedMemoryIsTheUsersError) {
  auto function = module->function("gemm", 300000);
  ASSERT_FALSE(function);
  EXPECT_EQ(function.error().code, ErrorCode::out_of_resources);
  EXPECT_THAT(function.error().message, HasSubstr("`gemm` needs 300000 bytes"));
  EXPECT_EQ(fake_log().max_shared, -1);
}

TEST_F(Launch, FunctionKeepsItsModule) {
  auto function = *module->function("gemm", 0);
  module.reset();
  EXPECT_EQ(fake_log().unloaded, 0);
  function = {};
  EXPECT_EQ(fake_log().unloaded, 1);
}

TEST_F(Launch, BadImageIsAnError) {
  fake_log().next = cu_invalid_image;
  auto bad = Module::load(context, std::vector<char>{'x'});
  ASSERT_FALSE(bad);
  EXPECT_THAT(bad.error().message, HasSubstr("CUDA_ERROR_INVALID_IMAGE (200)"));
  EXPECT_EQ(fake_log().unloaded, 0);
}

// Of a compiler that is newer than the driver, the error names both.
TEST_F(Launch, BL_237_AnImageThatTheDriverRefusesIsToldWithBothVersions) {
  const auto refused = [&](CuResult result, const std::string& compiler) {
    fake_log().next = result;
    const auto bad = Module::load(context, std::vector<char>{'x'}, compiler);
    return bad ? "it is loaded" : bad.error().message;
  };
  for (const CuResult result : {cu_invalid_image + 0, cu_no_binary_for_gpu + 0, cu_unsupported_ptx_version + 0}) {
    EXPECT_THAT(refused(result, "NVRTC 12.9"),
                testing::EndsWith(" (the driver supports CUDA 12.4; compiled by NVRTC 12.9)"));
    EXPECT_THAT(refused(result, ""), testing::EndsWith(" (the driver supports CUDA 12.4)"));
  }
  EXPECT_THAT(refused(cu_unsupported_ptx_version, "NVRTC 12.9"),
              HasSubstr("(222): described; it was compiled by a newer CUDA than the driver's: update the driver, or "
                        "name an older NVRTC by TLXJIT_NVRTC_DIR (the driver supports"));
  EXPECT_THAT(refused(cu_out_of_memory, "NVRTC 12.9"), testing::Not(HasSubstr("CUDA 12.4")));
}

TEST_F(Launch, BL_232_AForkedChildIsToldAndGivesNothingBack) {
  auto function = *module->function("gemm", 0);
  EXPECT_TRUE(runtime_test::in_child([&] {
    const auto forked = [](const auto& result) { return !result && result.error().code == ErrorCode::forked; };
    const auto loaded = Module::load(context, std::vector<char>{'x'});
    ParamBuffer params;
    const bool told = forked(loaded) && forked(module->function("gemm", 0)) && forked(Context::open(driver)) &&
                      forked(launch(function, LaunchShape{}, nullptr, params)) && forked(context->synchronize());
    if (!loaded) std::fputs((loaded.error().message + "\n").c_str(), stderr);
    function = {};
    module.reset();
    context.reset();
    return told && fake_log().unloaded == 0 && fake_log().launches == 0;
  }));
  module.reset();
  function = {};
  EXPECT_EQ(fake_log().unloaded, 1) << "the parent's is";
}

TEST_F(Launch, AllocatesNothing) {
  const auto function = *module->function("gemm", 1024);
  driver->cuLaunchKernelEx = [](const CuLaunchConfig*, CuFunction, void**, void**) { return cu_success + 0; };
  driver->cuTensorMapEncodeTiled = [](CuTensorMap*, int, uint32_t, void*, const uint64_t*, const uint64_t*,
                                      const uint32_t*, const uint32_t*, int, int, int, int) { return cu_success + 0; };
  fake_log().stack.reserve(8);
  TensorMapSpec spec;
  spec.base = 0x1000;
  spec.rank = 1;
  spec.dims = {64};
  spec.box = {64};
  LaunchShape shape;
  shape.cluster = {1, 1, 1};
  shape.overlap_previous = true;

  const int before = allocations_so_far();
  CuTensorMap map;
  ParamBuffer params;
  bool ok = encode_tensor_map(*driver, spec, map).ok();
  ok = ok && params.push(map) && params.push(uint32_t{7});
  ok = ok && launch(function, shape, nullptr, params).ok();
  EXPECT_EQ(allocations_so_far(), before);
  EXPECT_TRUE(ok);
}

TEST(Params, KeepsEachAtItsAlignment) {
  CuTensorMap map;
  map.opaque[15] = 42;
  ParamBuffer params;
  EXPECT_TRUE(params.push(uint32_t{7}));
  EXPECT_TRUE(params.push(map));
  EXPECT_TRUE(params.push(uint32_t{9}));
  EXPECT_TRUE(params.push(uint64_t{11}));
  ASSERT_EQ(params.count(), 4u);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(params.at(1)) % 64, 0u);
  uint64_t word = 0;
  std::memcpy(&word, params.at(1) + 15 * 8, 8);
  EXPECT_EQ(word, 42u);
  std::memcpy(&word, params.at(3), 8);
  EXPECT_EQ(word, 11u);
}

TEST_F(Launch, ConfigReachesTheDriver) {
  const auto function = *module->function("gemm", 1024);
  LaunchShape shape;
  shape.grid = {132, 2, 1};
  shape.block = {384, 1, 1};
  shape.cluster = {2, 1, 1};
  shape.overlap_previous = true;
  ParamBuffer params;
  params.push(uint32_t{5});
  fake_log().expected_param_bytes = 4;
  ASSERT_TRUE(launch(function, shape, reinterpret_cast<CuStream>(0x77), params).ok());
  const FakeLog& log = fake_log();
  EXPECT_EQ(log.at_launch, fake_context);
  EXPECT_EQ(log.config.grid_x, 132u);
  EXPECT_EQ(log.config.grid_y, 2u);
  EXPECT_EQ(log.config.block_x, 384u);
  EXPECT_EQ(log.config.shared_bytes, 1024u);
  EXPECT_EQ(log.config.stream, reinterpret_cast<CuStream>(0x77));
  ASSERT_EQ(log.attributes.size(), 2u);
  EXPECT_EQ(log.attributes[0].id, 4u);
  EXPECT_EQ(log.attributes[0].value.cluster.x, 2u);
  EXPECT_EQ(log.attributes[1].id, 6u);
  EXPECT_EQ(log.attributes[1].value.flag, 1);
  EXPECT_EQ(log.params, (std::vector<char>{5, 0, 0, 0}));
}

TEST_F(Launch, EmptyGridIsNoLaunch) {
  const auto function = *module->function("gemm", 0);
  LaunchShape shape;
  shape.grid = {0, 1, 1};
  EXPECT_TRUE(launch(function, shape, nullptr, ParamBuffer()).ok());
  EXPECT_EQ(fake_log().launches, 0);
}

TEST_F(Launch, GridMustBeMadeOfClusters) {
  const auto function = *module->function("gemm", 0);
  LaunchShape shape;
  shape.grid = {131, 1, 1};
  shape.cluster = {2, 1, 1};
  auto result = launch(function, shape, nullptr, ParamBuffer());
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(fake_log().launches, 0);
}

TEST(Params, FullBufferRefuses) {
  ParamBuffer params;
  std::vector<std::byte> big(ParamBuffer::capacity);
  EXPECT_TRUE(params.push(big.data(), big.size(), 1));
  EXPECT_FALSE(params.push(uint32_t{1}));
  EXPECT_EQ(params.count(), 1u);
  ParamBuffer many;
  for (size_t i = 0; i < ParamBuffer::max_count; ++i) EXPECT_TRUE(many.push(uint8_t{1}));
  EXPECT_FALSE(many.push(uint8_t{1}));
}

}  // namespace
