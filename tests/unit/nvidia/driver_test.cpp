// tests/unit/nvidia/driver_test.cpp — a driver that is not there, and the texts of its errors.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/nvidia/driver_p.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/nvidia/fake_driver.h"

using namespace tlxjit;
using namespace tlxjit::nvidia;
using testing::HasSubstr;

namespace {

TEST(Driver, MissingFile) {
  auto driver = Driver::load("/nonexistent/libcuda.so.1");
  ASSERT_FALSE(driver);
  EXPECT_EQ(driver.error().kind, ErrorKind::environment);
  EXPECT_EQ(driver.error().stage, Stage::load);
  EXPECT_EQ(driver.error().code, ErrorCode::library_missing);
  EXPECT_THAT(driver.error().log, HasSubstr("/nonexistent/libcuda.so.1"));
}

TEST(Driver, AnotherLibraryIsRefused) {
  auto driver = Driver::load("libm.so.6");
  ASSERT_FALSE(driver);
  EXPECT_EQ(driver.error().code, ErrorCode::library_missing);
  EXPECT_THAT(driver.error().message, HasSubstr("lacks cuInit"));
}

TEST(Driver, FailureNamesCallResultAndWayOut) {
  const auto driver = fake_driver();
  EXPECT_TRUE(driver->check(cu_success, "cuInit").ok());
  const auto result = driver->check(cu_invalid_image, "cuLibraryLoadData", Stage::load);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code, ErrorCode::driver_failed);
  EXPECT_EQ(result.error().stage, Stage::load);
  EXPECT_EQ(result.error().message,
            "cuLibraryLoadData failed with CUDA_ERROR_INVALID_IMAGE (200): described; the binary was compiled for "
            "another GPU or a newer driver");
}

TEST(Driver, OutOfMemoryIsOutOfResources) {
  EXPECT_EQ(fake_driver()->failure(cu_out_of_memory, "cuMemAlloc", Stage::run).code, ErrorCode::out_of_resources);
}

TEST(Context, FactsAndTarget) {
  auto context = Context::open(fake_driver());
  ASSERT_TRUE(context) << to_string(context.error());
  const DeviceInfo& info = (*context)->info();
  EXPECT_EQ(info.name, "Fake H200");
  EXPECT_EQ(info.sm_count, 132);
  EXPECT_EQ(info.shared_per_block, 232448);
  EXPECT_EQ(info.target(), "sm_90a");
  EXPECT_EQ(DeviceInfo{}.target(), "");
}

TEST(Context, NoSuchDevice) {
  auto context = Context::open(fake_driver(), 3);
  ASSERT_FALSE(context);
  EXPECT_EQ(context.error().code, ErrorCode::bad_argument);
}

TEST(Context, TheCallersContextComesBack) {
  auto context = *Context::open(fake_driver());
  const auto theirs = reinterpret_cast<CuContext>(0x9999);
  fake_log().stack = {theirs};
  {
    const CurrentContext current(*context);
    EXPECT_TRUE(current.status().ok());
    EXPECT_EQ(fake_log().stack.back(), fake_context);
  }
  EXPECT_EQ(fake_log().stack, std::vector{theirs});

  fake_log().stack = {fake_context};
  fake_log().pushes = 0;
  {
    const CurrentContext current(*context);
  }
  EXPECT_EQ(fake_log().pushes, 0);
}

}  // namespace
