// tests/unit/nvidia/library_test.cpp — libraries of CUDA that are not there, or lack a symbol.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backends/nvidia/driver_p.h"
#include "backends/nvidia/nvrtc_p.h"

using namespace tlxjit;
using namespace tlxjit::nvidia;
using testing::HasSubstr;

namespace {

TEST(CudaLibraries, BL_241_TheMessageNamesTheSymbolThatADriverLacks) {
  const auto driver = Driver::load(STUB_WITHOUT_cuMemFree_v2);
  ASSERT_FALSE(driver);
  EXPECT_EQ(driver.error().code, ErrorCode::library_missing);
  EXPECT_EQ(driver.error().message,
            STUB_WITHOUT_cuMemFree_v2 " lacks cuMemFree_v2; tlxjit needs an NVIDIA driver for CUDA 12.0 or newer");
}

TEST(CudaLibraries, BL_241_TheMessageNamesTheSymbolThatAnNvrtcLacks) {
  NvrtcSearch search;
  search.path = STUB_WITHOUT_nvrtcGetCUBIN;
  const auto nvrtc = Nvrtc::load(search);
  ASSERT_FALSE(nvrtc);
  EXPECT_EQ(nvrtc.error().code, ErrorCode::library_missing);
  EXPECT_EQ(nvrtc.error().message,
            STUB_WITHOUT_nvrtcGetCUBIN " lacks nvrtcGetCUBIN; it is not an NVRTC of CUDA 12 or newer");
}

TEST(CudaLibraries, BL_239_AMissingNvrtcIsNamedWithThePlacesTried) {
  NvrtcSearch search;
  search.path = "/nonexistent/cuda/libnvrtc.so.13";
  const auto nvrtc = Nvrtc::load(search);
  ASSERT_FALSE(nvrtc);
  EXPECT_EQ(nvrtc.error().kind, ErrorKind::environment);
  EXPECT_THAT(nvrtc.error().message, HasSubstr("libnvrtc.so"));
  EXPECT_THAT(nvrtc.error().log, HasSubstr("/nonexistent/cuda/libnvrtc.so.13"));
}

}  // namespace
