// src/runtime/engine.cpp — the engine: devices and compiles.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tlxjit/runtime/engine.h"

#include <optional>

#include "src/passes/lower_p.h"
#include "src/runtime/background_p.h"
#include "src/runtime/executable_p.h"
#include "src/runtime/guard_p.h"
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
    const int threads =
        options.background_threads > 0 ? options.background_threads : std::max(1, runtime::usable_cpus() / 4);
    auto background = std::make_shared<runtime::Background>(threads, options.background_queue);
    auto kernels = std::make_shared<runtime::MemoryCache>(options.kept_kernels);
    registry_ = std::make_shared<runtime::Registry>(std::move(options));
    kernels_ = std::move(kernels);
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

/// The module as `target` runs it.
Result<Module> lowered(const Module& module, const std::string& target, StageTimes& times) {
  runtime::StopWatch watch;
  auto found = find_target(target);
  if (!found) return found.error();
  if (module.level == Level::lowered) {
    if (module.target != target)
      return error_of(ErrorKind::user, Stage::lower, ErrorCode::unsupported,
                      "the module is lowered for " + module.target + ", and is compiled for " + target);
    TLXJIT_TRY(check_capabilities(module, *found));
    return module.clone();
  }
  auto result = lower(module, *found);
  times.lower = watch.lap();
  return result;
}

/// The back end's compile, on a thread of the engine. What it works on is kept alive by it: it may be left behind.
Result<runtime::CompiledKernel> compile_on(runtime::CompileThreads& threads,
                                           const std::shared_ptr<runtime::DeviceBackend>& backend,
                                           const std::shared_ptr<runtime::ExecutableState>& state,
                                           const CompileOptions& options, const runtime::Deadline& deadline) {
  struct Job {
    std::shared_ptr<runtime::DeviceBackend> backend;
    std::shared_ptr<runtime::ExecutableState> state;
    bool lineinfo;
    std::optional<Result<runtime::CompiledKernel>> result;
  };
  auto job = std::make_shared<Job>(Job{backend, state, options.lineinfo, {}});
  TLXJIT_TRY(threads.run(deadline, state->module.name, [job] {
    job->result = guarded(Stage::compile,
                          [&] { return job->backend->compile({job->state->module, job->state->abi, job->lineinfo}); });
  }));
  return std::move(*job->result);
}

Result<std::shared_ptr<runtime::ExecutableState>> build(const Module& module, const Device& device,
                                                        const std::shared_ptr<runtime::DeviceBackend>& backend,
                                                        runtime::CompileThreads& threads, const CompileOptions& options,
                                                        const runtime::Deadline& deadline, double verify_ms) {
  const std::string& target = options.as.empty() ? device.target() : options.as;
  if (!backend->runs(target))
    return error_of(ErrorKind::user, Stage::lower, ErrorCode::unsupported,
                    device.name() + " cannot run code for '" + target + "'" +
                        (device.target() == target ? "" : "; CompileOptions::as is for the CPU"));
  auto state = std::make_shared<runtime::ExecutableState>(device);
  state->times.verify = verify_ms;
  auto made = lowered(module, target, state->times);
  if (!made) return made.error();
  state->module = std::move(*made);

  runtime::StopWatch watch;
  auto facts = find_target(target);
  if (!facts) return facts.error();
  auto abi = make_abi(state->module, facts->tensor_maps);
  if (!abi) return abi.error();
  state->abi = std::move(*abi);
  auto plan = runtime::CallPlan::make(state->module, state->abi);
  if (!plan) return plan.error();
  state->plan = std::move(*plan);
  const double plan_ms = watch.lap();

  auto compiled = compile_on(threads, backend, state, options, deadline);
  if (!compiled) return compiled.error();
  state->compiled = std::move(*compiled);
  state->times.emit = plan_ms + state->compiled.emit_ms;
  state->times.compile = state->compiled.compile_ms;
  state->times.load = state->compiled.load_ms;
  const Abi& a = state->abi;
  state->resources = {a.threads,
                      a.shared_bytes,
                      a.workspace_words,
                      static_cast<int>(a.maps.size()),
                      state->compiled.kernel ? state->compiled.kernel->programs_at_once() : device.sms(),
                      static_cast<int>(numbered_ops(state->module).size())};
  return state;
}

/// All that a compiled kernel depends on; every field of CompileOptions that changes it stands here.
std::string key_of(const Module& module, const Device& device, const CompileOptions& options) {
  return device.name() + '\n' + options.as + '\n' + (options.lineinfo ? "lineinfo\n" : "\n") + print(module);
}

Error with_key(Error error, const std::string& key) {
  error.key = runtime::key_text(key);
  return error;
}

/// `module` is verified, which took `verify_ms`.
Result<std::shared_ptr<runtime::ExecutableState>> find_or_build(const Module& module, const Device& device,
                                                                const std::shared_ptr<runtime::DeviceBackend>& backend,
                                                                const CompileOptions& options, double verify_ms,
                                                                runtime::MemoryCache& kernels,
                                                                runtime::CompileThreads& threads) {
  if (options.time_limit.count() < 0)
    return error_of(
        ErrorKind::user, Stage::compile, ErrorCode::bad_argument,
        "a time limit is 0, which is none, or more, not " + std::to_string(options.time_limit.count()) + " ms");
  const runtime::Deadline deadline(options.time_limit, options.stop);
  const auto make = [&] { return build(module, device, backend, threads, options, deadline, verify_ms); };
  if (!options.reuse) {
    auto made = kernels.make_uncached(make);
    if (!made) return with_key(std::move(made).error(), key_of(module, device, options));
    return made;
  }
  const std::string key = key_of(module, device, options);
  auto found = kernels.get(key, deadline, make);
  if (!found) return with_key(std::move(found).error(), key);
  return found;
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
        find_or_build(*module, device, device.backend_, options, watch.lap(), *kernels_, registry_->compiles());
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
    auto state = find_or_build(module, device, device.backend_, options, watch.lap(), *kernels_, registry_->compiles());
    if (!state) return state.error();
    return Executable(std::move(*state));
  });
}

EngineCounters Engine::counters() const { return kernels_ ? kernels_->counters() : EngineCounters(); }

TLXJIT_NAMESPACE_END
