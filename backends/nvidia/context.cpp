// backends/nvidia/context.cpp — opens a device, and keeps the caller's context as it was.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/nvidia/context_p.h"

#include <fmt/format.h>

TLXJIT_NAMESPACE_BEGIN
namespace nvidia {

std::string DeviceInfo::target() const {
  // Only the targets that the emitter knows; `a` because wgmma and setmaxnreg belong to this one architecture.
  if (major == 9 && minor == 0) return "sm_90a";
  return {};
}

Result<int> Context::device_count(const Driver& driver) {
  if (!driver.of_this_process()) return Driver::forked(Stage::load);
  int count = 0;
  const CuResult result = driver.cuDeviceGetCount(&count);
  if (result == cu_no_device) return 0;
  TLXJIT_TRY(driver.check(result, "cuDeviceGetCount", Stage::load));
  return count;
}

Result<std::shared_ptr<Context>> Context::open(std::shared_ptr<Driver> driver, int ordinal) {
  auto count = device_count(*driver);
  if (!count) return count.error();
  if (ordinal < 0 || ordinal >= *count)
    return Error{ErrorKind::user,
                 Stage::load,
                 ErrorCode::bad_argument,
                 fmt::format("there is no NVIDIA device {}; this process sees {} of them", ordinal, *count),
                 {},
                 {},
                 {}};

  std::shared_ptr<Context> context(new Context);
  context->driver_ = driver;
  DeviceInfo& info = context->info_;
  info.ordinal = ordinal;
  info.driver_version = driver->version();
  TLXJIT_TRY(driver->check(driver->cuDeviceGet(&context->device_, ordinal), "cuDeviceGet", Stage::load));
  const CuDevice device = context->device_;

  char text[256] = {};
  TLXJIT_TRY(driver->check(driver->cuDeviceGetName(text, sizeof text, device), "cuDeviceGetName", Stage::load));
  info.name = text;
  if (driver->cuDeviceGetPCIBusId && driver->cuDeviceGetPCIBusId(text, sizeof text, device) == cu_success)
    info.pci = text;
  TLXJIT_TRY(driver->check(driver->cuDeviceTotalMem(&info.memory_bytes, device), "cuDeviceTotalMem", Stage::load));
  int clusters = 0, tensor_maps = 0;
  const struct {
    int attribute;
    int* value;
  } wanted[] = {
      {cu_device_compute_major, &info.major},
      {cu_device_compute_minor, &info.minor},
      {cu_device_multiprocessor_count, &info.sm_count},
      {cu_device_max_shared_per_block_optin, &info.shared_per_block},
      {cu_device_max_shared_per_multiprocessor, &info.shared_per_sm},
      {cu_device_l2_cache_size, &info.l2_bytes},
      {cu_device_cluster_launch, &clusters},
      {cu_device_tensor_map_supported, &tensor_maps},
  };
  for (const auto& [attribute, value] : wanted)
    TLXJIT_TRY(
        driver->check(driver->cuDeviceGetAttribute(value, attribute, device), "cuDeviceGetAttribute", Stage::load));
  info.clusters = clusters != 0;
  info.tensor_maps = tensor_maps != 0;

  TLXJIT_TRY(driver->check(driver->cuDevicePrimaryCtxRetain(&context->handle_, device), "cuDevicePrimaryCtxRetain",
                           Stage::load));
  return context;
}

Context::~Context() {
  if (handle_ && driver_->of_this_process()) driver_->cuDevicePrimaryCtxRelease(device_);
}

Result<void> Context::synchronize() const {
  const CurrentContext current(*this);
  TLXJIT_TRY(current.status());
  return driver_->check(driver_->cuCtxSynchronize(), "cuCtxSynchronize");
}

Result<std::pair<size_t, size_t>> Context::memory() const {
  const CurrentContext current(*this);
  TLXJIT_TRY(current.status());
  size_t free = 0, total = 0;
  TLXJIT_TRY(driver_->check(driver_->cuMemGetInfo(&free, &total), "cuMemGetInfo"));
  return std::pair{free, total};
}

CurrentContext::CurrentContext(const Context& context, Stage stage)
    : driver_(context.driver()), stage_(stage), usable_(driver_.of_this_process()) {
  if (!usable_) return;
  CuContext before = nullptr;
  if (driver_.cuCtxGetCurrent(&before) == cu_success && before == context.handle()) return;
  result_ = driver_.cuCtxPushCurrent(context.handle());
  pushed_ = result_ == cu_success;
}

CurrentContext::~CurrentContext() {
  CuContext ours = nullptr;
  if (pushed_) driver_.cuCtxPopCurrent(&ours);
}

}  // namespace nvidia
TLXJIT_NAMESPACE_END
