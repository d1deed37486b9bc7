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

TEST(Driver, EachFailureHasItsWayOut) {
  const std::pair<CuResult, const char*> cases[] = {
      {cu_out_of_memory, "; free device memory or use smaller tensors"},
      {cu_stub_library, "; a toolkit's stub was loaded in place of the driver: remove its folder from LD_LIBRARY_PATH"},
      {cu_no_device, "; no NVIDIA device is visible (see nvidia-smi and CUDA_VISIBLE_DEVICES)"},
      {cu_no_binary_for_gpu, "; the binary was compiled for another GPU or a newer driver"},
      {cu_unsupported_ptx_version,
       "; it was compiled by a newer CUDA than the driver's: update the driver, or name an older NVRTC by "
       "TLXJIT_NVRTC_DIR"},
      {cu_launch_out_of_resources, "; the kernel needs more registers or shared memory than an SM has"},
      {cu_stream_capture_unsupported,
       "; the call is not allowed while a stream is being captured: prepare the kernel before"},
      {803, "; libcuda and the kernel driver do not match: reboot after a driver update, or remove cuda-compat"},
      {719, "; a kernel went wrong on the device, and this process must open the device anew"},
      {1, ""},
  };
  const auto driver = fake_driver();
  for (const auto& [result, way_out] : cases)
    EXPECT_EQ(driver->failure(result, "cuCall", Stage::run).message,
              "cuCall failed with CUDA_ERROR_SOMETHING (" + std::to_string(result) + "): described" + way_out);
  driver->cuGetErrorName = nullptr;
  driver->cuGetErrorString = nullptr;
  EXPECT_EQ(driver->failure(1, "cuCall", Stage::run).message, "cuCall failed with CUresult 1 (1): unknown error");
}

TEST(DeviceBuffer, SaysWhatWasWanted) {
  auto driver = fake_driver();
  driver->cuMemAlloc = [](CuDevicePtr*, size_t) { return cu_out_of_memory + 0; };
  auto refused = DeviceBuffer::allocate(*Context::open(driver), 4096);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::out_of_resources);
  EXPECT_THAT(refused.error().message, testing::EndsWith("use smaller tensors (4096 bytes wanted)"));

  driver->cuMemAlloc = [](CuDevicePtr* address, size_t) { return *address = 0x10000, cu_success + 0; };
  driver->cuMemFree = [](CuDevicePtr) { return cu_success + 0; };
  auto buffer = DeviceBuffer::allocate(*Context::open(driver), 16);
  ASSERT_TRUE(buffer);
  std::byte bytes[8];
  const auto outside = buffer->upload(bytes, 12);
  ASSERT_FALSE(outside);
  EXPECT_EQ(outside.error().message, "a copy of 8 bytes at 12 does not fit a buffer of 16 bytes");
}

TEST(Context, FactsAndTarget) {
  auto context = Context::open(fake_driver());
  ASSERT_TRUE(context) << to_string(context.error());
  const DeviceInfo& info = (*context)->info();
  EXPECT_EQ(info.name, "Fake H200");
  EXPECT_EQ(info.sm_count, 132);
  EXPECT_EQ(info.driver_version, 12040);
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

int major_told = 0, minor_told = 0;

TEST(Driver, BL_238_TheCapabilityIsTheDriversOwnNumbers) {
  const struct {
    int major, minor;
    const char* target;
  } cases[] = {{7, 5, ""}, {8, 9, ""}, {9, 0, "sm_90a"}, {9, 1, ""}, {10, 0, ""}, {10, 3, ""}, {12, 1, ""}};
  for (const auto& c : cases) {
    auto driver = fake_driver();
    major_told = c.major, minor_told = c.minor;
    driver->cuDeviceGetAttribute = [](int* value, int attribute, CuDevice) {
      *value = attribute == cu_device_compute_major   ? major_told
               : attribute == cu_device_compute_minor ? minor_told
                                                      : 1;
      return cu_success + 0;
    };
    const auto context = Context::open(driver);
    ASSERT_TRUE(context) << to_string(context.error());
    EXPECT_EQ((*context)->info().major, c.major);
    EXPECT_EQ((*context)->info().minor, c.minor);
    EXPECT_EQ((*context)->info().target(), c.target) << c.major << '.' << c.minor;
  }
}

}  // namespace
