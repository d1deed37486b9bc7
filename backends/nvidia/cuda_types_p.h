// backends/nvidia/cuda_types_p.h — the types of the driver's ABI that tlxjit needs, declared by itself.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// No cuda.h: tlxjit builds where there is no CUDA toolkit. Sizes and values are those of CUDA 12 and
// 13, which the driver keeps stable; the static_asserts pin the layouts.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tlxjit/core/export.h"

TLXJIT_NAMESPACE_BEGIN
namespace nvidia {

using CuResult = int;
using CuDevice = int;
using CuDevicePtr = uint64_t;
using CuContext = struct CuContextTag*;
using CuStream = struct CuStreamTag*;
using CuEvent = struct CuEventTag*;
using CuLibrary = struct CuLibraryTag*;
using CuKernel = struct CuKernelTag*;
using CuGraph = struct CuGraphTag*;
using CuGraphExec = struct CuGraphExecTag*;
using CuFunction = struct CuFunctionTag*;

enum : CuResult {
  cu_success = 0,
  cu_invalid_value = 1,
  cu_out_of_memory = 2,
  cu_deinitialized = 4,
  cu_stub_library = 34,
  cu_no_device = 100,
  cu_invalid_image = 200,
  cu_no_binary_for_gpu = 209,
  cu_unsupported_ptx_version = 222,
  cu_not_ready = 600,
  cu_launch_out_of_resources = 701,
  cu_stream_capture_unsupported = 900,
};

enum : int {  // CUdevice_attribute
  cu_device_max_threads_per_block = 1,
  cu_device_clock_rate = 13,
  cu_device_multiprocessor_count = 16,
  cu_device_memory_clock_rate = 36,
  cu_device_memory_bus_width = 37,
  cu_device_l2_cache_size = 38,
  cu_device_compute_major = 75,
  cu_device_compute_minor = 76,
  cu_device_max_shared_per_multiprocessor = 81,
  cu_device_max_shared_per_block_optin = 97,
  cu_device_cluster_launch = 120,
  cu_device_tensor_map_supported = 127,
};

enum : int {  // CUfunction_attribute
  cu_function_max_threads_per_block = 0,
  cu_function_shared_size_bytes = 1,
  cu_function_local_size_bytes = 3,
  cu_function_num_regs = 4,
  cu_function_max_dynamic_shared_bytes = 8,
  cu_function_nonportable_cluster_allowed = 14,
};

enum : int { cu_stream_non_blocking = 1, cu_event_default = 0, cu_event_disable_timing = 2 };
enum : int { cu_capture_mode_global = 0, cu_capture_mode_thread_local = 1, cu_capture_mode_relaxed = 2 };
enum : int { cu_capture_none = 0, cu_capture_active = 1, cu_capture_invalidated = 2 };

enum : unsigned {  // CUlaunchAttributeID
  cu_launch_cooperative = 2,
  cu_launch_cluster_dimension = 4,
  cu_launch_programmatic_serialization = 6,
};

struct CuLaunchAttribute {
  unsigned id = 0;
  unsigned pad = 0;
  union Value {
    char bytes[64];
    int flag;
    struct {
      unsigned x, y, z;
    } cluster;
  } value = {};
};
static_assert(sizeof(CuLaunchAttribute) == 72 && offsetof(CuLaunchAttribute, value) == 8);

struct CuLaunchConfig {
  unsigned grid_x = 1, grid_y = 1, grid_z = 1;
  unsigned block_x = 1, block_y = 1, block_z = 1;
  unsigned shared_bytes = 0;
  CuStream stream = nullptr;
  CuLaunchAttribute* attributes = nullptr;
  unsigned attribute_count = 0;
};
static_assert(sizeof(CuLaunchConfig) == 56 && offsetof(CuLaunchConfig, stream) == 32);

// CUDA 12 asks for 64 bytes on the host, CUDA 13 for 128.
struct alignas(128) CuTensorMap {
  uint64_t opaque[16] = {};
};
static_assert(sizeof(CuTensorMap) == 128);

enum : int {  // CUtensorMapDataType
  cu_tensor_uint8 = 0,
  cu_tensor_uint16 = 1,
  cu_tensor_uint32 = 2,
  cu_tensor_int32 = 3,
  cu_tensor_uint64 = 4,
  cu_tensor_int64 = 5,
  cu_tensor_float16 = 6,
  cu_tensor_float32 = 7,
  cu_tensor_float64 = 8,
  cu_tensor_bfloat16 = 9,
};
enum : int {
  cu_tensor_swizzle_none = 0,
  cu_tensor_swizzle_32 = 1,
  cu_tensor_swizzle_64 = 2,
  cu_tensor_swizzle_128 = 3
};
enum : int { cu_tensor_l2_none = 0, cu_tensor_l2_64 = 1, cu_tensor_l2_128 = 2, cu_tensor_l2_256 = 3 };

}  // namespace nvidia
TLXJIT_NAMESPACE_END
