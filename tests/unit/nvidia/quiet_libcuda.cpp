// tests/unit/nvidia/quiet_libcuda.cpp — a libcuda with two Hopper devices that take what they are given and run
// nothing.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include "backends/nvidia/cuda_types_p.h"

using namespace tlxjit::nvidia;

#define CALL extern "C" __attribute__((visibility("default"))) int

namespace {
thread_local int depth = 0;  // of the contexts that are pushed
bool gone = false;           // as a driver is once the process ends
pid_t process = 0;           // that it was initialised in: a forked child must not call it
/// What a call gives that works on something: after the end nothing is given back any more.
int worked() {
  if (getpid() != process) std::abort();
  return gone ? cu_deinitialized : cu_success;
}
template <class T>
int give(T* to, uintptr_t handle) {
  return *to = reinterpret_cast<T>(handle), cu_success;
}
}  // namespace

CALL cuInit(unsigned) {
  process = getpid();
  return std::atexit([] { gone = true; }), cu_success;
}
CALL cuDriverGetVersion(int* version) { return *version = 13000, cu_success; }
CALL cuGetErrorName(CuResult, const char** text) { return *text = "CUDA_ERROR", cu_success; }
CALL cuGetErrorString(CuResult, const char** text) { return *text = "an error", cu_success; }
CALL cuDeviceGetCount(int* count) { return *count = 2, cu_success; }
CALL cuDeviceGet(CuDevice* device, int ordinal) { return *device = ordinal, cu_success; }
CALL cuDeviceGetName(char* name, int, CuDevice) { return std::strcpy(name, "Quiet"), cu_success; }
CALL cuDeviceTotalMem_v2(size_t* bytes, CuDevice) { return *bytes = size_t{1} << 30, cu_success; }
CALL cuDeviceGetAttribute(int* value, int attribute, CuDevice) {
  *value = attribute == cu_device_compute_major                ? 9
           : attribute == cu_device_compute_minor              ? 0
           : attribute == cu_device_max_shared_per_block_optin ? 232448
                                                               : 1;
  return cu_success;
}
CALL cuDevicePrimaryCtxRetain(CuContext* context, CuDevice) { return give(context, 0x1000); }
CALL cuCtxGetCurrent(CuContext* context) { return gone ? cu_deinitialized : give(context, depth > 0 ? 0x1000 : 0); }
CALL cuCtxPushCurrent_v2(CuContext) { return depth += !gone, worked(); }
CALL cuCtxSynchronize() { return worked(); }
CALL cuThreadExchangeStreamCaptureMode(int*) { return worked(); }
CALL cuDevicePrimaryCtxRelease_v2(CuDevice) { return worked(); }
CALL cuStreamDestroy_v2(CuStream) { return worked(); }
CALL cuLibraryUnload(CuLibrary) { return worked(); }
CALL cuCtxPopCurrent_v2(CuContext* context) { return --depth, give(context, 0x1000); }
CALL cuStreamCreate(CuStream* stream, unsigned) { return give(stream, 0x5000); }
CALL cuStreamIsCapturing(CuStream, int* is) { return *is = cu_capture_none, cu_success; }
CALL cuMemAlloc_v2(CuDevicePtr* address, size_t bytes) {
  return *address = reinterpret_cast<uintptr_t>(std::malloc(bytes)), cu_success;
}
CALL cuMemFree_v2(CuDevicePtr address) {
  std::free(reinterpret_cast<void*>(address));  // the host's, after the end too
  return worked();
}
CALL cuLibraryLoadData(CuLibrary* library, const void*, int*, void**, unsigned, int*, void**, unsigned) {
  return give(library, 0x2000);
}
CALL cuLibraryGetKernel(CuKernel* kernel, CuLibrary, const char*) { return give(kernel, 0x3000); }
CALL cuKernelGetFunction(CuFunction* function, CuKernel) { return give(function, 0x4000); }
CALL cuFuncGetAttribute(int* value, int, CuFunction) { return *value = 0, cu_success; }
CALL cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, CuFunction, int, size_t) {
  return *blocks = 1, cu_success;
}
