// backends/nvidia/loaded_kernel_p.h — a generated kernel on a device: parameters, tensor maps, workspaces, launch.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <memory>
#include <span>
#include <string>

#include "backends/nvidia/launch_p.h"
#include "src/runtime/backend_p.h"

TLXJIT_NAMESPACE_BEGIN
namespace nvidia {

/// Loads a cubin whose parameters are as Abi says. `abi` outlives the kernel.
Result<std::unique_ptr<runtime::LoadedKernel>> load_kernel(std::shared_ptr<Context> context,
                                                           std::span<const char> cubin, const std::string& entry,
                                                           const Abi& abi);

/// The tensor map of a call's tensor. A tensor without elements gets a map of one element at `nothing`, which loads
/// zeros wherever it is read and keeps stores away from everything else (`nothing`: 16 bytes that hold zeros for
/// loads, anything for stores).
TensorMapSpec map_spec(const AbiMap& map, const AbiTensor& tensor, const runtime::BoundTensor& bound,
                       CuDevicePtr nothing);

}  // namespace nvidia
TLXJIT_NAMESPACE_END
