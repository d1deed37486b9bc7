// src/runtime/registry_p.h — which devices there are, and how they are opened.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "src/runtime/backend_p.h"
#include "src/runtime/events_p.h"
#include "src/runtime/kernel_maker_p.h"
#include "src/runtime/loaded_modules_p.h"
#include "tlxjit/runtime/engine.h"

TLXJIT_NAMESPACE_BEGIN
namespace runtime {

/// The engine's insides: options with the environment applied, back ends, open devices.
class Registry {
 public:
  explicit Registry(EngineOptions options);
  /// As the program and the environment have set them.
  const EngineOptions& options() const { return options_; }

  Result<std::shared_ptr<DeviceBackend>> open(std::string_view name);
  std::vector<std::shared_ptr<DeviceBackend>> open_all();
  /// Kernels that stay loaded for graphs alone.
  size_t captured_alone() const;
  /// What the host's function throws is dropped.
  void log(std::string_view text) const;
  const std::shared_ptr<Events>& events() const { return events_; }
  LoadedModules& modules() { return *modules_; }
  KernelMaker& maker() { return *maker_; }

 private:
  EngineOptions options_;
  const std::shared_ptr<Events> events_;
  std::unique_ptr<LoadedModules> modules_;
  std::vector<std::unique_ptr<BackendLibrary>> libraries_;
  struct Open {
    std::mutex mutex;
    std::map<std::string, std::shared_ptr<DeviceBackend>, std::less<>> devices;
  };
  PerProcess<Open> open_;
  std::unique_ptr<KernelMaker> maker_;
};

/// The CPU: loads the plug-in at the first use. An empty path looks near the library's own file.
std::unique_ptr<BackendLibrary> cpu_library(const EngineOptions& options);

}  // namespace runtime
TLXJIT_NAMESPACE_END
