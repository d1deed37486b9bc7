// tests/unit/nvidia/fake_driver.h — a Driver of plain functions that record what they are called with.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "backends/nvidia/context_p.h"

namespace tlxjit::nvidia {

/// What the fake driver has seen. One per process, cleared by `fake_driver`.
struct FakeLog {
  std::vector<CuContext> stack;  ///< the thread's context stack
  int pushes = 0;
  CuContext at_launch = nullptr;
  CuLaunchConfig config;
  std::vector<CuLaunchAttribute> attributes;
  std::vector<char> params;
  int launches = 0;
  int encoded = 0;
  int tensor_type = -1, swizzle = -1;
  std::vector<uint64_t> dims, strides;
  int max_shared = -1;
  bool nonportable = false;
  int unloaded = 0, loaded_early = 0;
  size_t expected_param_bytes = 0;  ///< of the first parameter, which a launch then records
  int driver_version = 12040;
  CuResult next = cu_success;  ///< what cuLibraryLoadData and cuLaunchKernelEx answer
};

inline FakeLog& fake_log() {
  static FakeLog log;
  return log;
}

inline const CuContext fake_context = reinterpret_cast<CuContext>(0x1000);

inline std::shared_ptr<Driver> fake_driver() {
  fake_log() = {};
  auto d = std::make_shared<Driver>();
  d->cuGetErrorName = [](CuResult r, const char** text) {
    *text = r == cu_invalid_image ? "CUDA_ERROR_INVALID_IMAGE" : "CUDA_ERROR_SOMETHING";
    return cu_success + 0;
  };
  d->cuGetErrorString = [](CuResult, const char** text) { return *text = "described", cu_success + 0; };
  d->cuDriverGetVersion = [](int* n) { return *n = fake_log().driver_version, cu_success + 0; };
  d->cuDeviceGetCount = [](int* n) { return *n = 1, cu_success + 0; };
  d->cuDeviceGet = [](CuDevice* device, int) { return *device = 0, cu_success + 0; };
  d->cuDeviceGetName = [](char* name, int, CuDevice) { return std::strcpy(name, "Fake H200"), cu_success + 0; };
  d->cuDeviceTotalMem = [](size_t* bytes, CuDevice) { return *bytes = 1 << 30, cu_success + 0; };
  d->cuDeviceGetAttribute = [](int* value, int attribute, CuDevice) {
    switch (attribute) {
      case cu_device_compute_major: *value = 9; break;
      case cu_device_compute_minor: *value = 0; break;
      case cu_device_multiprocessor_count: *value = 132; break;
      case cu_device_max_shared_per_block_optin: *value = 232448; break;
      default: *value = 1;
    }
    return cu_success + 0;
  };
  d->cuDevicePrimaryCtxRetain = [](CuContext* c, CuDevice) { return *c = fake_context, cu_success + 0; };
  d->cuDevicePrimaryCtxRelease = [](CuDevice) { return cu_success + 0; };
  d->cuCtxGetCurrent = [](CuContext* c) {
    *c = fake_log().stack.empty() ? nullptr : fake_log().stack.back();
    return cu_success + 0;
  };
  d->cuCtxPushCurrent = [](CuContext c) { return fake_log().stack.push_back(c), ++fake_log().pushes, cu_success + 0; };
  d->cuCtxPopCurrent = [](CuContext* c) {
    return *c = fake_log().stack.back(), fake_log().stack.pop_back(), cu_success + 0;
  };
  d->cuLibraryLoadData = [](CuLibrary* l, const void*, int*, void**, unsigned, int*, void**, unsigned) {
    return *l = reinterpret_cast<CuLibrary>(0x2000), fake_log().next;
  };
  d->cuStreamCreate = [](CuStream* s, unsigned) { return *s = reinterpret_cast<CuStream>(0x5000), cu_success + 0; };
  d->cuStreamDestroy = [](CuStream) { return cu_success + 0; };
  d->cuCtxSynchronize = [] { return cu_success + 0; };
  d->cuLibraryUnload = [](CuLibrary) { return ++fake_log().unloaded, cu_success + 0; };
  d->cuLibraryGetKernel = [](CuKernel* k, CuLibrary, const char*) {
    return *k = reinterpret_cast<CuKernel>(0x3000), cu_success + 0;
  };
  d->cuKernelGetFunction = [](CuFunction* f, CuKernel) {
    return *f = reinterpret_cast<CuFunction>(0x4000), cu_success + 0;
  };
  d->cuFuncLoad = [](CuFunction) { return ++fake_log().loaded_early, cu_success + 0; };
  d->cuFuncGetAttribute = [](int* value, int attribute, CuFunction) {
    return *value = attribute == cu_function_num_regs ? 168 : 0, cu_success + 0;
  };
  d->cuFuncSetAttribute = [](CuFunction, int attribute, int value) {
    if (attribute == cu_function_max_dynamic_shared_bytes) fake_log().max_shared = value;
    if (attribute == cu_function_nonportable_cluster_allowed) fake_log().nonportable = value != 0;
    return cu_success + 0;
  };
  d->cuLaunchKernelEx = [](const CuLaunchConfig* config, CuFunction, void** params, void**) {
    FakeLog& log = fake_log();
    ++log.launches;
    log.config = *config;
    log.attributes.assign(config->attributes, config->attributes + config->attribute_count);
    log.at_launch = log.stack.empty() ? nullptr : log.stack.back();
    if (log.expected_param_bytes) {
      const auto* bytes = static_cast<const char*>(params[0]);
      log.params.assign(bytes, bytes + log.expected_param_bytes);
    }
    return log.next;
  };
  d->cuTensorMapEncodeTiled = [](CuTensorMap*, int type, uint32_t rank, void*, const uint64_t* dims,
                                 const uint64_t* strides, const uint32_t*, const uint32_t*, int, int swizzle, int,
                                 int) {
    FakeLog& log = fake_log();
    ++log.encoded;
    log.tensor_type = type;
    log.swizzle = swizzle;
    log.dims.assign(dims, dims + rank);
    log.strides.assign(strides, strides + rank - 1);
    return cu_success + 0;
  };
  return d;
}

}  // namespace tlxjit::nvidia
