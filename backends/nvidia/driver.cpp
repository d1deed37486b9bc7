// backends/nvidia/driver.cpp — loads libcuda, resolves its symbols, names its errors.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/nvidia/driver_p.h"

#include <dlfcn.h>
#include <fmt/format.h>

TLXJIT_NAMESPACE_BEGIN
namespace nvidia {
namespace {

constexpr int oldest_driver = 12000;  // cuLibraryLoadData, cuLaunchKernelEx with clusters, tensor maps

// A stub has the symbols of a driver and none of its function; once it is in the process, the
// loader hands it to everyone who asks for libcuda.so.1 later.
bool is_substitute(const std::string& path) {
  return path.find("/stubs/") != std::string::npos || path.find("/compat/") != std::string::npos;
}

const char* way_out(CuResult result) {
  switch (result) {
    case cu_out_of_memory: return "; free device memory or use smaller tensors";
    case cu_stub_library:
      return "; a toolkit's stub was loaded in place of the driver: remove its folder from LD_LIBRARY_PATH";
    case cu_no_device: return "; no NVIDIA device is visible (see nvidia-smi and CUDA_VISIBLE_DEVICES)";
    case cu_invalid_image:
    case cu_no_binary_for_gpu: return "; the binary was compiled for another GPU or a newer driver";
    case cu_unsupported_ptx_version:
      return "; it was compiled by a newer CUDA than the driver's: update the driver, or name an older NVRTC by "
             "TLXJIT_NVRTC_DIR";
    case cu_launch_out_of_resources: return "; the kernel needs more registers or shared memory than an SM has";
    case cu_stream_capture_unsupported:
      return "; the call is not allowed while a stream is being captured: prepare the kernel before";
    case 803:  // CUDA_ERROR_SYSTEM_DRIVER_MISMATCH
    case 804:  // CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE
      return "; libcuda and the kernel driver do not match: reboot after a driver update, or remove cuda-compat";
    // After these the context is lost.
    case 700:
    case 715:
    case 716:
    case 717:
    case 718:
    case 719: return "; a kernel went wrong on the device, and this process must open the device anew";
    default: return "";
  }
}

}  // namespace

Result<std::shared_ptr<Driver>> Driver::load(const std::string& path) {
  std::string why;
  Library library = open_library(path.empty() ? "libcuda.so.1" : path, why);
  if (!library && !path.empty())
    return missing(fmt::format("the NVIDIA driver cannot be loaded: {}; name the driver's file, or none to have "
                               "libcuda.so.1 looked for",
                               why),
                   why);
  if (!library)
    return missing("the NVIDIA driver was not found (libcuda.so.1); install it, or use the CPU back end",
                   std::move(why));
  if (path.empty() && is_substitute(library.path)) {
    dlclose(library.handle);  // the one library that is closed: nothing of it has run yet
    return missing(
        fmt::format("{} is a toolkit's substitute for the driver; remove its folder from LD_LIBRARY_PATH, or name a "
                    "driver by option",
                    library.path));
  }
  auto driver = std::make_shared<Driver>();
  driver->library_ = std::move(library);
  TLXJIT_TRY(driver->bind());
  TLXJIT_TRY(driver->check(driver->cuInit(0), "cuInit", Stage::load));
  const int version = driver->version();
  if (version < oldest_driver)
    return missing(fmt::format("the NVIDIA driver supports CUDA {}.{}; tlxjit needs one for CUDA 12.0 or newer",
                               version / 1000, version % 1000 / 10));
  return driver;
}

Result<void> Driver::bind() {
#define OPTIONAL false
#define REQUIRED true
#define TLXJIT_CU(need, name, suffix, params)                                                                      \
  name = reinterpret_cast<CuResult(*) params>(library_.symbol(#name #suffix));                                     \
  if (need && !name)                                                                                               \
    return missing(fmt::format("{} lacks {}; tlxjit needs an NVIDIA driver for CUDA 12.0 or newer", library_.path, \
                               #name #suffix));
#include "backends/nvidia/symbols.def"
#undef TLXJIT_CU
#undef OPTIONAL
#undef REQUIRED
  return {};
}

std::string Driver::name_of(CuResult result) const {
  const char* text = nullptr;
  if (cuGetErrorName && cuGetErrorName(result, &text) == cu_success && text) return text;
  return fmt::format("CUresult {}", result);
}

Error Driver::forked(Stage stage) {
  return {ErrorKind::environment,
          stage,
          ErrorCode::forked,
          "the GPU was opened before this process was forked, and CUDA does not work in a child: open it in the child "
          "alone, or start the child anew (exec, or Python's `spawn`)",
          {},
          {},
          {}};
}

Error Driver::failure(CuResult result, const char* call, Stage stage) const {
  Error error{ErrorKind::environment, stage, ErrorCode::driver_failed, {}, {}, {}, {}};
  if (result == cu_out_of_memory) error.code = ErrorCode::out_of_resources;
  const char* text = nullptr;
  if (!cuGetErrorString || cuGetErrorString(result, &text) != cu_success || !text) text = "unknown error";
  error.message = fmt::format("{} failed with {} ({}): {}{}", call, name_of(result), result, text, way_out(result));
  return error;
}

}  // namespace nvidia
TLXJIT_NAMESPACE_END
