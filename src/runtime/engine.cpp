// src/runtime/engine.cpp — the engine: devices and compiles.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tlxjit/runtime/engine.h"

#include "src/runtime/background_p.h"
#include "src/runtime/executable_p.h"
#include "src/runtime/guard_p.h"
#include "src/runtime/kernel_maker_p.h"
#include "src/runtime/key_p.h"
#include "src/runtime/memory_cache_p.h"
#include "src/runtime/registry_p.h"
#include "src/runtime/usable_cpus_p.h"
#include "tlxjit/ir/text.h"
#include "tlxjit/ir/verify.h"

TLXJIT_NAMESPACE_BEGIN

using runtime::error_of;
using runtime::guarded;

namespace {

Error nothing_in_it() {
  return error_of(ErrorKind::environment, Stage::load, ErrorCode::out_of_resources,
                  "the engine is empty: there was no memory to make it, or it was moved from");
}

}  // namespace

Engine::Engine(EngineOptions options) {
  const auto made = guarded(Stage::load, [&]() -> Result<void> {
    auto registry = std::make_shared<runtime::Registry>(std::move(options));
    const EngineOptions& o = registry->options();
    auto background = std::make_shared<runtime::Background>(
        o.background_threads > 0 ? o.background_threads : std::max(1, runtime::usable_cpus() / 4), o.background_queue);
    kernels_ = std::make_shared<runtime::MemoryCache>(o.kept_kernels, registry->events(),
                                                      runtime::MemoryCache::default_hash, registry->modules().clock());
    registry->modules().add(kernels_);
    registry_ = std::move(registry);
    background_ = std::move(background);
    return {};
  });
  static_cast<void>(made);  // all calls of an empty engine say so
}
Engine::~Engine() = default;
Engine::Engine(Engine&&) noexcept = default;
Engine& Engine::operator=(Engine&&) noexcept = default;

Engine::Engine(std::shared_ptr<runtime::MemoryCache> kernels, std::shared_ptr<runtime::Registry> registry,
               std::shared_ptr<runtime::Background> background)
    : kernels_(std::move(kernels)), registry_(std::move(registry)), background_(std::move(background)) {}
Engine Engine::share() const { return {kernels_, registry_, background_}; }

std::vector<Device> Engine::devices() const {
  std::vector<Device> devices;
  if (!registry_) return devices;
  const auto all = guarded(Stage::load, [&]() -> Result<void> {
    for (auto& backend : registry_->open_all()) devices.push_back(Device(std::move(backend)));
    return {};
  });
  // Those found before it are there all the same.
  if (!all)
    static_cast<void>(guarded(Stage::load, [&]() -> Result<void> {
      registry_->log("some devices are left out: " + to_string(all.error()));
      return {};
    }));
  return devices;
}

Result<Device> Engine::device(std::string_view name) const {
  return guarded(Stage::load, [&]() -> Result<Device> {
    if (!registry_) return nothing_in_it();
    auto backend = registry_->open(name);
    if (!backend) return backend.error();
    return Device(std::move(*backend));
  });
}

Result<Device> Engine::best_device() const {
  return guarded(Stage::load, [&]() -> Result<Device> {
    if (!registry_) return nothing_in_it();
    for (auto& backend : registry_->open_all()) {
      if (auto ready = backend->can_compile(); ready)
        return Device(std::move(backend));
      else
        registry_->log(backend->facts().name + " is left out: " + to_string(ready.error()));
    }
    return device(Device::cpu);  // for its error
  });
}

namespace {

/// All that a compiled kernel depends on within an engine; every field of CompileOptions that changes it stands here
/// and in KernelMaker::material.
std::string key_of(const std::string& text, const Device& device, const CompileOptions& options) {
  return device.name() + '\n' + options.as + '\n' + (options.lineinfo ? "lineinfo\n" : "\n") + text;
}

/// `module` is verified, which took `verify_ms`.
Result<std::shared_ptr<runtime::ExecutableState>> find_or_make(const Module& module, const Device& device,
                                                               const std::shared_ptr<runtime::DeviceBackend>& backend,
                                                               const CompileOptions& options, double verify_ms,
                                                               runtime::MemoryCache& kernels,
                                                               runtime::Registry& registry,
                                                               runtime::Background& background) {
  if (options.time_limit.count() < 0)
    return error_of(
        ErrorKind::user, Stage::compile, ErrorCode::bad_argument,
        "a time limit is 0, which is none, or more, not " + std::to_string(options.time_limit.count()) + " ms");
  const runtime::Deadline deadline(options.time_limit, options.stop);
  const std::string text = print(module);
  const std::string key = key_of(text, device, options);
  const runtime::MakeRequest request{module, text, device, backend, options, deadline, verify_ms, key};
  bool loaded = false;
  const auto make = [&] {
    auto state = options.reuse ? registry.maker().make(request) : registry.maker().compile(request);
    if (state) (*state)->key = runtime::key_text(key);
    loaded = state && (*state)->compiled.kernel;
    if (loaded) (*state)->loaded = registry.modules().one_more();
    return state;
  };
  auto made = options.reuse ? kernels.get(key, deadline, make) : make();
  // What is not unloaded for want of memory is left to the next one.
  if (loaded)
    static_cast<void>(guarded(Stage::load, [&]() -> Result<void> {
      background.destroy(registry.modules().trim());
      return {};
    }));
  if (made) return made;
  Error error = std::move(made).error();
  if (error.key.empty()) error.key = runtime::key_text(key);
  return error;
}

}  // namespace

Result<Executable> Engine::compile(const Kernel& kernel, const Device& device, const CompileOptions& options) const {
  return guarded(Stage::compile, [&]() -> Result<Executable> {
    runtime::StopWatch watch;
    if (!registry_) return nothing_in_it();
    if (!device.backend_) return runtime::no_device(Stage::compile);
    auto module = kernel.module();  // verified
    if (!module) return module.error();
    auto state =
        find_or_make(*module, device, device.backend_, options, watch.lap(), *kernels_, *registry_, *background_);
    if (!state) return state.error();
    return Executable(std::move(*state));
  });
}

Result<Executable> Engine::compile(const Module& module, const Device& device, const CompileOptions& options) const {
  return guarded(Stage::compile, [&]() -> Result<Executable> {
    runtime::StopWatch watch;
    if (!registry_) return nothing_in_it();
    if (!device.backend_) return runtime::no_device(Stage::compile);
    TLXJIT_TRY(first_of(verify(module)));
    auto state =
        find_or_make(module, device, device.backend_, options, watch.lap(), *kernels_, *registry_, *background_);
    if (!state) return state.error();
    return Executable(std::move(*state));
  });
}

void Engine::settle() const {
  if (registry_) registry_->maker().settle();
}

EngineCounters Engine::counters() const {
  if (!registry_) return {};
  EngineCounters counters = runtime::engine_counters(registry_->events()->sums());
  counters.loaded_modules = registry_->modules().count() + registry_->captured_alone();
  return counters;
}

TLXJIT_NAMESPACE_END
