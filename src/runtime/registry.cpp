// src/runtime/registry.cpp — the back ends that there are; the one file of src/ that sees them.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "src/runtime/registry_p.h"

#include "backends/nvidia/device_p.h"
#include "src/runtime/options_p.h"

TLXJIT_NAMESPACE_BEGIN
namespace runtime {

Registry::Registry(EngineOptions options)
    : options_(std::move(options)), events_(std::make_shared<Events>(options_.event)) {
  std::vector<std::string> faults;
  read_environment(options_, faults);
  for (const std::string& fault : faults) log(fault);
  modules_ = std::make_unique<LoadedModules>(options_.loaded_modules, events_);
  libraries_.push_back(nvidia::device_library(options_.libcuda, options_.nvrtc_directories));
  libraries_.push_back(cpu_library(options_));
  maker_ = std::make_unique<KernelMaker>(options_, [this](std::string_view text) { log(text); }, events_);
}

Result<std::shared_ptr<DeviceBackend>> Registry::open(std::string_view name) {
  Open& open = open_.get();
  std::lock_guard lock(open.mutex);
  if (auto found = open.devices.find(name); found != open.devices.end()) return found->second;
  std::string known;
  for (const auto& library : libraries_) {
    auto device = library->open(name);
    if (!device) return device;
    if (*device) return open.devices.emplace(std::string(name), *device).first->second;
    known += (known.empty() ? "" : ", ") + std::string(library->names());
  }
  Error error;
  error.kind = ErrorKind::user;
  error.stage = Stage::load;
  error.code = ErrorCode::bad_argument;
  error.message = "there is no device '" + std::string(name) + "'; names are " + known;
  return error;
}

std::vector<std::shared_ptr<DeviceBackend>> Registry::open_all() {
  std::vector<std::shared_ptr<DeviceBackend>> devices;
  for (const auto& library : libraries_) {
    auto names = library->list();
    if (!names)
      log(to_string(names.error()));
    else
      for (const std::string& name : *names) {
        auto device = open(name);
        if (device)
          devices.push_back(*device);
        else
          log(to_string(device.error()));
      }
  }
  return devices;
}

size_t Registry::captured_alone() const {
  Open& open = open_.get();
  std::lock_guard lock(open.mutex);
  size_t all = 0;
  for (const auto& [name, device] : open.devices) all += device->captured_alone();
  return all;
}

void Registry::log(std::string_view text) const {
  try {
    if (options_.log) options_.log(text);
  } catch (...) {  // as with a line of a kernel that cannot be told
  }
}

}  // namespace runtime
TLXJIT_NAMESPACE_END
