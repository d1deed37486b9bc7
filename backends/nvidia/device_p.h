// backends/nvidia/device_p.h — NVIDIA devices behind the runtime's device interface.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "src/runtime/backend_p.h"

TLXJIT_NAMESPACE_BEGIN
namespace nvidia {

/// Devices `cuda:0`, `cuda:1`, … and, for compiling without a device, the targets by name (`sm_90a`). libcuda and
/// NVRTC are loaded when they are first needed. `libcuda`: its file, empty: through the loader; `nvrtc`: folders
/// that are searched first.
std::unique_ptr<runtime::BackendLibrary> device_library(std::string libcuda, std::vector<std::string> nvrtc);

}  // namespace nvidia
TLXJIT_NAMESPACE_END
