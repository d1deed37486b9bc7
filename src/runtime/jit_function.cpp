// src/runtime/jit_function.cpp — JitFunction: the handle.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tlxjit/runtime/jit_function.h"

#include "src/runtime/backend_p.h"
#include "src/runtime/guard_p.h"
#include "src/runtime/jit_state_p.h"
#include "tlxjit/ir/verify.h"

TLXJIT_NAMESPACE_BEGIN

namespace {

Error nothing_in_it(Stage stage) {
  return runtime::error_of(ErrorKind::user, stage, ErrorCode::bad_argument,
                           "a JitFunction that was moved from, or whose engine or device is empty, is used here");
}

template <class T>
Result<T> at_line(Result<T> result, const std::source_location& at) {
  if (result || result.error().location.known()) return result;
  Error error = std::move(result).error();
  try {
    error.location = at;
  } catch (...) {  // no memory for the name of a file
  }
  return error;
}

}  // namespace

JitFunction::JitFunction(const Engine& engine, const Device& device, std::string name, Generator generator,
                         JitOptions options) {
  static_cast<void>(runtime::guarded(Stage::build, [&]() -> Result<void> {
    make(
        engine, device, std::move(name),
        [generator = std::move(generator)](const Signature& signature, const Config& config) -> Result<Module> {
          if (!generator)
            return runtime::error_of(ErrorKind::user, Stage::build, ErrorCode::bad_argument,
                                     "JitOptions: there is no generator");
          return runtime::call_host(Stage::build, "the generator",
                                    [&] { return generator(signature, config).module(); });
        },
        std::move(options));
    return {};
  }));
}

JitFunction::JitFunction(const Engine& engine, const Device& device, std::string name, const Module& kernel,
                         JitOptions options) {
  static_cast<void>(runtime::guarded(Stage::build, [&]() -> Result<void> {
    make(
        engine, device, std::move(name),
        [kernel = std::make_shared<const Module>(kernel.clone())](const Signature&, const Config&) -> Result<Module> {
          TLXJIT_TRY(first_of(verify(*kernel)));
          if (kernel->level == Level::portable) return kernel->clone();
          return runtime::error_of(
              ErrorKind::user, Stage::build, ErrorCode::bad_argument,
              "a JitFunction specialises portable IR, and `" + kernel->name + "` is lowered for " + kernel->target);
        },
        std::move(options));
    return {};
  }));
}

void JitFunction::make(const Engine& engine, const Device& device, std::string name, Modules modules,
                       JitOptions options) {
  if (!engine.registry_ || !device.backend_) return;
  auto state = std::make_shared<runtime::JitState>(engine.share(), device, std::move(name), std::move(modules),
                                                   std::move(options));
  state->begin();
  state_ = std::move(state);
}

Result<void> JitFunction::launch(const Stream& stream, std::span<const Argument> arguments,
                                 std::source_location at) const {
  return at_line(runtime::guarded(Stage::launch,
                                  [&]() -> Result<void> {
                                    if (!state_) return nothing_in_it(Stage::launch);
                                    return state_->launch(stream, arguments, at);
                                  }),
                 at);
}

Result<void> JitFunction::prepare(std::span<const Argument> arguments) const {
  return runtime::guarded(Stage::compile, [&]() -> Result<void> {
    if (!state_) return nothing_in_it(Stage::compile);
    return state_->prepare(arguments);
  });
}

Result<Executable> JitFunction::version(std::span<const Argument> arguments) const {
  return runtime::guarded(Stage::compile, [&]() -> Result<Executable> {
    if (!state_) return nothing_in_it(Stage::compile);
    return state_->version(arguments);
  });
}

void JitFunction::wait() const {
  if (state_) state_->wait();
}

void JitFunction::set_tier(Tier tier) const {
  if (state_) state_->set_tier(tier);
}

const std::string& JitFunction::name() const {
  static const std::string none;
  return state_ ? state_->name() : none;
}

JitCounters JitFunction::counters() const { return state_ ? state_->counters() : JitCounters(); }

TLXJIT_NAMESPACE_END
