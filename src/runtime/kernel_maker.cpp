// src/runtime/kernel_maker.cpp — makes executables: out of the disk cache, or by a compile.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "src/runtime/kernel_maker_p.h"

#include "src/passes/lower_p.h"
#include "src/runtime/executable_p.h"
#include "src/runtime/key_p.h"
#include "src/runtime/material_p.h"
#include "tlxjit/ir/text.h"

TLXJIT_NAMESPACE_BEGIN
namespace runtime {
namespace {

const std::string& target_of(const MakeRequest& request) {
  return request.options.as.empty() ? request.device.target() : request.options.as;
}

Result<void> check_target(const MakeRequest& request) {
  const std::string& target = target_of(request);
  if (request.backend->runs(target)) return {};
  return error_of(ErrorKind::user, Stage::lower, ErrorCode::unsupported,
                  request.device.name() + " cannot run code for '" + target + "'" +
                      (request.device.target() == target ? "" : "; CompileOptions::as is for the CPU"));
}

/// The module as `target` runs it.
Result<Module> lowered(const Module& module, const std::string& target, StageTimes& times) {
  StopWatch watch;
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

/// ABI and call plan of the lowered module that stands in the state.
Result<void> plan(ExecutableState& state) {
  auto facts = find_target(state.module.target);
  if (!facts) return facts.error();
  auto abi = make_abi(state.module, facts->tensor_maps);
  if (!abi) return abi.error();
  state.abi = std::move(*abi);
  auto made = CallPlan::make(state.module, state.abi);
  if (!made) return made.error();
  state.plan = std::move(*made);
  return {};
}

void finish(ExecutableState& state, CompiledKernel compiled) {
  state.compiled = std::move(compiled);
  state.times.emit += state.compiled.emit_ms;
  state.times.compile = state.compiled.compile_ms;
  state.times.load = state.compiled.load_ms;
  const Abi& a = state.abi;
  state.resources = {a.threads,
                     a.shared_bytes,
                     a.workspace_words,
                     static_cast<int>(a.maps.size()),
                     state.compiled.kernel ? state.compiled.kernel->programs_at_once() : state.device.sms(),
                     static_cast<int>(numbered_ops(state.module).size())};
}

/// An error of a compile; where there is no compiler, what a service that ships bundles does about it.
Error with_way_out(Error error, const std::string& shipped_material, const std::string& refusal) {
  if (error.code != ErrorCode::library_missing) return error;
  error.key = key_text(shipped_material);
  if (refusal.empty())
    error.message = "there is no compiler, and no bundle has the key " + error.key +
                    ": install one, or add the kernel to the bundle; " + error.message;
  else
    error.message =
        "there is no compiler, and what is kept of the kernel cannot be loaded: install one, or make the "
        "bundle of kernels that can be; " +
        error.message + "; " + refusal;
  return error;
}

/// The back end's compile, on a thread of the engine. What it works on is kept alive by it: it may be left behind.
Result<CompiledKernel> compile_on(CompileThreads& threads, const MakeRequest& request,
                                  const std::shared_ptr<ExecutableState>& state, bool image) {
  struct Job {
    std::shared_ptr<DeviceBackend> backend;
    std::shared_ptr<ExecutableState> state;
    bool lineinfo, image;
    std::optional<Result<CompiledKernel>> result;
    std::atomic<bool> abandoned = false;
  };
  std::shared_ptr<Job> job(new Job{request.backend, state, request.options.lineinfo, image, {}});
  const auto work = [job] {
    CompileInput input{job->state->module, job->state->abi, job->lineinfo, job->image};
    input.abandoned = &job->abandoned;
    job->result = guarded(Stage::compile, [&] { return job->backend->compile(input); });
  };
  TLXJIT_TRY(threads.run(request.deadline, state->module.name, work, {job, &job->abandoned}));
  return std::move(*job->result);
}

DiskCacheOptions tiers_of(const EngineOptions& options, const KernelMaker::Log& log, std::shared_ptr<Events> events) {
  DiskCacheOptions tiers;
  tiers.events = std::move(events);
  tiers.store = options.store;
  tiers.user_directory = options.cache_directory;
  tiers.system_directory = options.system_cache_directory;
  tiers.bundles = options.cache_bundles;
  tiers.most_bytes = options.cache_bytes;
  tiers.longest_wait = options.cache_wait;
  tiers.log = log;
  if (!tiers.user_directory.empty() || !options.read_environment) return tiers;
  auto directory = default_cache_directory();
  if (directory)
    tiers.user_directory = std::move(*directory);
  else
    log(directory.error().message);
  return tiers;
}

}  // namespace

KernelMaker::KernelMaker(const EngineOptions& options, Log log, std::shared_ptr<Events> events)
    : log_(std::move(log)), events_(std::move(events)) {
  if (!options.disk_cache) return;
  auto disk = std::make_unique<DiskCache>(tiers_of(options, log_, events_));
  if (disk->empty()) return;
  disk_ = std::move(disk);
  publisher_ = std::make_unique<Publisher>(*disk_);
}
KernelMaker::~KernelMaker() = default;

std::string KernelMaker::material(const MakeRequest& request, std::string_view compiler) {
  const std::string runs_on = request.backend->runs_on();
  return material_of(
      {request.device.target(), target_of(request), request.options.lineinfo, runs_on, compiler, request.text});
}

KernelMaker::State KernelMaker::from_entry(const MakeRequest& request, const Entry& entry) {
  auto module = parse(entry.module);
  if (!module) return bad_content("its module does not parse: " + module.error().message);
  if (module->level != Level::lowered || module->target != target_of(request))
    return bad_content("its module is not lowered for " + target_of(request));
  // Not verified: it is what these sources made of a verified one, and its image is executed unseen.
  auto state = std::make_shared<ExecutableState>(request.device);
  state->module = std::move(*module);
  state->times.verify = request.verify_ms;
  TLXJIT_TRY(plan(*state));
  state->events = events_;
  auto loaded = request.backend->load({state->module, state->abi, request.options.lineinfo, false}, entry.image);
  if (!loaded) return loaded.error();
  finish(*state, std::move(*loaded));
  return state;
}

/// Nothing where no entry is of use.
std::optional<KernelMaker::State> KernelMaker::from_tiers(const MakeRequest& request, const std::string& material,
                                                          std::optional<Entry> entry, Search& search) {
  if (!entry) return {};
  const auto key = [&] { return key_text(material); };
  auto state = guarded(Stage::load, [&] { return from_entry(request, *entry); });
  if (state) {
    (*state)->times.look_up = search.watch.lap() - (*state)->times.load;
    events_->happened({.kind = EventKind::disk_hit,
                       .kernel = (*state)->module.name,
                       .bytes = entry->image.size(),
                       .times = &(*state)->times},
                      key);
    return state;
  }
  search.refusal = state.error().message;
  const std::string& why = search.refusal;
  if (state.error().code == ErrorCode::bad_content && disk_->drop(material, why)) return {};
  // It is good for others, say, a driver that is too old refuses it; or it stands where nothing is taken out.
  events_->happened({.kind = EventKind::disk_unusable, .kernel = entry->kernel, .text = why}, key);
  tell_once(told_refused_, "`" + entry->kernel + "` is compiled anew, what is kept of it cannot be loaded: " + why);
  return {};
}

KernelMaker::State KernelMaker::make(const MakeRequest& request) {
  TLXJIT_TRY(check_target(request));
  if (!disk_) return compile(request);
  Search search;
  auto compiler = request.backend->compiler();
  if (!compiler) return make_unkept(request, compiler.error());
  const std::string key = material(request, *compiler);
  if (auto state = from_tiers(request, key, disk_->find(key), search)) return std::move(*state);
  DiskCache::Flight flight = disk_->begin(key, request.deadline);
  if (auto state = from_tiers(request, key, std::move(flight.entry), search)) return std::move(*state);
  events_->happened({.kind = EventKind::disk_miss, .kernel = request.module.name}, [&] { return key_text(key); });
  std::vector<char> image;
  auto state = compile(request, &image);
  if (!state) return with_way_out(std::move(state).error(), without_compiler(key), search.refusal);
  if (image.empty()) return state;
  // A compiler that was loaded may turn out to be another than its files let expect.
  compiler = request.backend->compiler();
  if (!compiler) return state;
  Entry entry;
  entry.kernel = (*state)->module.name;
  entry.target = request.device.target();
  entry.material = material(request, *compiler);
  entry.module = print((*state)->module, true);
  entry.image = std::move(image);
  entry.report = (*state)->compiled.report.log;
  publisher_->publish(std::move(entry), std::move(flight));
  return state;
}

/// Where nobody knows which compiler it is, or there is none: only what any has made is looked up.
KernelMaker::State KernelMaker::make_unkept(const MakeRequest& request, const Error& unknown_compiler) {
  Search search;
  const std::string key = material(request, "");
  if (disk_->any_compiler())
    if (auto state = from_tiers(request, key, disk_->find(key), search)) return std::move(*state);
  auto state = compile(request);
  if (!state) return with_way_out(std::move(state).error(), key, search.refusal);
  tell_once(told_identity_, "compiled kernels are not kept: " + unknown_compiler.message);
  return state;
}

KernelMaker::State KernelMaker::compile(const MakeRequest& request) { return compile(request, nullptr); }

/// `image`: null, or where it is put.
KernelMaker::State KernelMaker::compile(const MakeRequest& request, std::vector<char>* image) {
  const std::string& name = request.module.name;
  const auto happened = [&](Event event) { events_->happened(event, [&] { return key_text(request.key); }); };
  happened({.kind = EventKind::compile_started, .kernel = name});
  auto state = guarded(Stage::compile, [&] { return compile_unseen(request, image); });
  if (state) {
    const ExecutableState& made = **state;
    happened({.kind = EventKind::compile_finished,
              .kernel = name,
              .bytes = image ? image->size() : made.compiled.binary.size(),
              .times = &made.times});
  } else {
    const ErrorCode code = state.error().code;
    happened({.kind = code == ErrorCode::timed_out   ? EventKind::compile_timed_out
                      : code == ErrorCode::cancelled ? EventKind::compile_cancelled
                                                     : EventKind::compile_failed,
              .kernel = name,
              .text = state.error().message});
  }
  return state;
}

KernelMaker::State KernelMaker::compile_unseen(const MakeRequest& request, std::vector<char>* image) {
  TLXJIT_TRY(check_target(request));
  auto state = std::make_shared<ExecutableState>(request.device);
  state->times.verify = request.verify_ms;
  auto module = lowered(request.module, target_of(request), state->times);
  if (!module) return module.error();
  state->module = std::move(*module);
  StopWatch watch;
  TLXJIT_TRY(plan(*state));
  state->times.emit = watch.lap();
  auto compiled = compile_on(threads_, request, state, image != nullptr);
  if (!compiled) return compiled.error();
  if (image) *image = std::move(compiled->image);
  finish(*state, std::move(*compiled));
  state->events = events_;
  return state;
}

void KernelMaker::tell_once(std::atomic<bool>& told, const std::string& text) const {
  if (!told.exchange(true)) log_(text);
}

void KernelMaker::settle() {
  if (publisher_) publisher_->wait();
}

}  // namespace runtime
TLXJIT_NAMESPACE_END
