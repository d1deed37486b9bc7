// backends/nvidia/module_p.h — a cubin on a device, and the functions in it.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <memory>
#include <span>
#include <string>

#include "backends/nvidia/context_p.h"

TLXJIT_NAMESPACE_BEGIN
namespace nvidia {

class Module;

/// A kernel that is loaded and ready: its code is on the device and its attributes are set, so a
/// launch does nothing but launch. Keeps its module loaded.
struct Function {
  std::shared_ptr<const Module> module;
  CuFunction handle = nullptr;
  unsigned shared_bytes = 0;  ///< the dynamic shared memory that it was prepared for
  int registers = 0;
  int local_bytes = 0;  ///< stack and spills, each thread
  int static_shared_bytes = 0;
  int max_threads = 0;  ///< in a block, as compiled
};

class Module : public std::enable_shared_from_this<Module> {
 public:
  /// Captures of other threads are left alone (BesideCaptures). Not while this thread captures: ask `is_capturing`.
  /// `compiler` is who made the cubin, if that is known: one that the driver refuses is told of with both versions.
  static Result<std::shared_ptr<Module>> load(std::shared_ptr<const Context> context, std::span<const char> cubin,
                                              const std::string& compiler = {});
  ~Module();
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;

  /// Finds `name`, uploads it and raises its shared-memory limit to `shared_bytes`. `cluster_ctas`
  /// above eight are allowed for on top.
  Result<Function> function(const std::string& name, unsigned shared_bytes, unsigned cluster_ctas = 1) const;

  const Context& context() const { return *context_; }

 private:
  Module() = default;

  std::shared_ptr<const Context> context_;
  CuLibrary handle_ = nullptr;
};

/// Blocks of `threads` that an SM holds at once: the size of a persistent grid over SMs.
Result<int> blocks_per_sm(const Function& function, int threads);

}  // namespace nvidia
TLXJIT_NAMESPACE_END
