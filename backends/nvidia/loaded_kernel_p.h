// backends/nvidia/loaded_kernel_p.h — a generated kernel on a device: parameters, tensor maps, workspaces, launch.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "backends/nvidia/launch_p.h"
#include "src/runtime/backend_p.h"

TLXJIT_NAMESPACE_BEGIN
namespace nvidia {

/// Code and memory that graphs hold addresses of. They may be replayed whenever, and nothing tells when they end: all
/// of it stays until it is released, or a device of the engine and all its kernels have ended. Thread safe.
class CapturedCode {
 public:
  void keep(std::shared_ptr<const void> code);
  bool has(const void* code) const;
  /// How much nobody else has.
  size_t alone() const;
  void release();

 private:
  mutable std::mutex mutex_;
  std::vector<std::shared_ptr<const void>> kept_;
};

/// Loads a cubin whose parameters are as Abi says. `abi` outlives the kernel. What it launches into captures is given
/// to `captured`. `compiler` as in Module::load.
Result<std::unique_ptr<runtime::LoadedKernel>> load_kernel(std::shared_ptr<Context> context,
                                                           std::span<const char> cubin, const std::string& entry,
                                                           const Abi& abi, std::shared_ptr<CapturedCode> captured,
                                                           const std::string& compiler = {});

/// The tensor map of a call's tensor. A tensor without elements gets a map of one element at `nothing`, which loads
/// zeros wherever it is read and keeps stores away from everything else (`nothing`: 16 bytes that hold zeros for
/// loads, anything for stores).
TensorMapSpec map_spec(const AbiMap& map, const AbiTensor& tensor, const runtime::BoundTensor& bound,
                       CuDevicePtr nothing);

}  // namespace nvidia
TLXJIT_NAMESPACE_END
