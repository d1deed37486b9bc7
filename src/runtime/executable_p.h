// src/runtime/executable_p.h — what an Executable points to.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "src/runtime/call_plan_p.h"
#include "src/runtime/events_p.h"
#include "src/runtime/loaded_modules_p.h"

TLXJIT_NAMESPACE_BEGIN
namespace runtime {

/// Never moves: the plan and the kernel point to the module and the ABI.
struct ExecutableState {
  explicit ExecutableState(Device d)
      : device(std::move(d)), place(device.can_launch() ? device_mark(device.name()) : std::array<char, 16>{}) {}
  ExecutableState(const ExecutableState&) = delete;
  ExecutableState& operator=(const ExecutableState&) = delete;

  Device device;
  const std::array<char, 16> place;  ///< where it runs, as TensorArg::device; zeros where it is compiled only
  Module module;                     // lowered
  Abi abi;
  CallPlan plan;
  Resources resources;
  StageTimes times;
  CompiledKernel compiled;
  std::string key;               ///< in the engine, as Error::key and events of compiles have it
  std::weak_ptr<Events> events;  ///< of the engine, as long as there is one
  LoadedModule loaded;           ///< that the engine counts

  static const std::shared_ptr<ExecutableState>& of(const Executable& executable) { return executable.state_; }
  static std::shared_ptr<ExecutableState> taken(Executable executable) { return std::move(executable.state_); }
};

/// For ModuleHolder::list; the holder's lock keeps it as it is.
inline ModuleHolder::Kept kept_of(const std::shared_ptr<ExecutableState>& state, uint64_t last_use) {
  const LoadedKernel* kernel = state->compiled.kernel.get();
  const bool stays = !state->loaded.of_this_process() || (kernel && kernel->captured());
  return {state.get(), state.use_count(), last_use, stays};
}

}  // namespace runtime
TLXJIT_NAMESPACE_END
