// src/runtime/executable.cpp — compiled kernels and their launch.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "src/runtime/executable_p.h"

#include "src/runtime/guard_p.h"
#include "tlxjit/ir/text.h"

TLXJIT_NAMESPACE_BEGIN

Executable::Executable(std::shared_ptr<runtime::ExecutableState> state) : state_(std::move(state)) {}

namespace {

/// The state of an executable; of one that was moved from, one of which nothing can be told.
const runtime::ExecutableState& told_of(const std::shared_ptr<runtime::ExecutableState>& state) {
  static const auto* none = [] {
    auto* empty = new runtime::ExecutableState(Device());
    empty->module.name.clear();
    return empty;
  }();
  return state ? *state : *none;
}

}  // namespace

const std::string& Executable::name() const { return told_of(state_).module.name; }
const Device& Executable::device() const { return told_of(state_).device; }
const std::string& Executable::target() const { return told_of(state_).module.target; }
const std::vector<Parameter>& Executable::parameters() const { return told_of(state_).plan.parameters(); }
std::string Executable::signature() const { return told_of(state_).plan.signature(); }
const Resources& Executable::resources() const { return told_of(state_).resources; }
const StageTimes& Executable::times() const { return told_of(state_).times; }
const CompileReport& Executable::report() const { return told_of(state_).compiled.report; }
const std::string& Executable::source() const { return told_of(state_).compiled.source; }
std::span<const char> Executable::binary() const { return told_of(state_).compiled.binary; }
std::string Executable::lowered_text(bool with_locations) const {
  return state_ ? print(state_->module, with_locations) : std::string();
}

Result<void> Executable::launch(const Stream& stream, std::span<const Argument> arguments,
                                std::source_location at) const {
  auto result = runtime::guarded(Stage::launch, [&]() -> Result<void> {
    if (!state_)
      return runtime::error_of(ErrorKind::user, Stage::launch, ErrorCode::bad_argument,
                               "an executable that was moved from is launched here");
    runtime::CallFrame frame;
    const runtime::CallPlace place{state_->resources.programs_at_once, state_->place};
    if (auto bound = state_->plan.bind(arguments, place, frame); !bound) {
      if (const auto events = state_->events.lock())
        events->happened({.kind = EventKind::launch_refused, .kernel = name(), .text = bound.error().message});
      return bound;
    }
    if (!state_->compiled.kernel)
      return runtime::error_of(ErrorKind::user, Stage::launch, ErrorCode::unsupported,
                               "`" + name() + "` was compiled for " + state_->device.name() +
                                   ", which only compiles; take a device of Engine::devices()");
    if (frame.grid == 0) return {};
    return state_->compiled.kernel->launch(state_->plan.view(frame), stream.handle());
  });
  if (result || result.error().location.known()) return result;
  Error error = std::move(result).error();
  try {
    error.location = at;
  } catch (...) {  // no memory for the name of a file
  }
  return error;
}

TLXJIT_NAMESPACE_END
