// tools/tlxjit/warm.cpp — `tlxjit warm`: compiles kernels' generic versions, and the keys of JitFunctions' manifests,
// into the disk cache.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <thread>

#include "src/runtime/directory_files_p.h"
#include "src/runtime/guard_p.h"
#include "src/runtime/jit_versions_p.h"
#include "src/runtime/key_p.h"
#include "src/runtime/manifest_p.h"
#include "tlxjit/ir/text.h"
#include "tools/tlxjit/commands.h"
#include "tools/tlxjit/files.h"
#include "tools/tlxjit/kernel_file.h"
#include "tools/tlxjit/policies.h"
#include "tools/tlxjit/progress.h"

namespace tlxjit::cli {

namespace {

Error bad(std::string message) {
  return runtime::error_of(ErrorKind::user, Stage::parse, ErrorCode::invalid_text, std::move(message));
}

std::string member(const Json& key, const char* name) {
  const auto found = key.is_object() ? key.find(name) : key.end();
  return found != key.end() && found->is_string() ? found->get<std::string>() : std::string();
}

/// What is compiled for: a device's target, and CompileOptions::as.
struct For {
  std::string target, as;
  auto operator<=>(const For&) const = default;
  std::string text() const { return as.empty() ? target : target + " as " + as; }
};

/// Keys of one function: what it is asked for, and its part of the manifests.
struct Function {
  std::string name, ir;
  For compiled_for;
  std::string policies;
  auto operator<=>(const Function&) const = default;
};

/// A version to be there.
struct Job {
  std::string kernel;
  For compiled_for;
  std::optional<Json> key;  ///< of the manifest; none: the generic version
  std::function<Result<void>()> run;

  std::string promises() const { return key ? member(*key, "promises") : "nothing"; }
};

struct Failure {
  Job job;
  Error error;
};

class Warm {
 public:
  Warm(const WarmCommand& command, const CommonOptions& common) : command_(command), common_(common) {}

  Result<Report> run() {
    TLXJIT_TRY(read_manifests());
    TLXJIT_TRY(read_kernels());
    EngineOptions options = common_.engine();
    options.cache_directory = command_.cache_directory;
    options.kept_kernels = 1;    // they are wanted on disk
    options.loaded_modules = 0;  // whatever the environment says: what is unloaded is on disk all the same
    std::vector<std::string> log;
    options.log = [&](std::string_view line) {
      std::lock_guard lock(mutex_);
      log.emplace_back(line);
    };
    EngineCounters counters;
    {
      const Engine engine(std::move(options));
      add_generics(engine);
      for (const auto& [function, keys] : functions_) add_keys(engine, function, keys);
      work_off();
      engine.settle();
      counters = engine.counters();
    }
    return report(counters, log);
  }

 private:
  Result<void> read_manifests() {
    constexpr uint64_t most = uint64_t{64} << 20;
    std::set<Json> known;
    for (const std::string& file : command_.manifests) {
      auto text = read_file(file, most);
      if (!text) return text.error();
      auto keys = runtime::read_manifest(*text);
      if (!keys) return bad(file + ": " + keys.error().message);
      for (Json& key : *keys) {
        Function function{member(key, "function"),
                          member(key, "ir"),
                          {member(key, "target"), member(key, "as")},
                          member(key, "policies")};
        auto& of_function = functions_[std::move(function)];
        if (!known.insert(key).second) continue;  // manifests of one service have much in common
        of_function.push_back(std::move(key));
        ++keys_;
      }
    }
    return {};
  }

  Result<void> read_kernels() {
    for (const std::string& file : command_.kernels) {
      auto module = read_kernel(file);
      if (!module) return module.error();
      const std::string hash = runtime::key_text(print(*module));
      kernels_.insert_or_assign(hash, std::move(*module));
    }
    return {};
  }

  CompileOptions compile_options(const For& compiled_for) const {
    CompileOptions options;
    options.as = compiled_for.as;
    options.lineinfo = command_.lineinfo;
    options.time_limit = std::chrono::milliseconds(command_.time_limit_ms);
    return options;
  }

  /// A kernel's is for what its keys are for; that of a kernel without keys, for what any is.
  void add_generics(const Engine& engine) {
    if (command_.no_generic) return;
    std::set<For> all;
    std::map<std::string, std::set<For>> of_kernel;
    for (const auto& [function, keys] : functions_) {
      if (function.compiled_for.target.empty()) continue;
      all.insert(function.compiled_for);
      of_kernel[function.ir].insert(function.compiled_for);
    }
    for (const auto& [hash, kernel] : kernels_) {
      const auto found = of_kernel.find(hash);
      std::set<For> wanted = found == of_kernel.end() ? all : found->second;
      for (const std::string& target : command_.targets) wanted.insert({target, ""});
      for (const For& to : wanted) {
        ++generics_;
        jobs_.push_back({kernel.name, to, {}, [this, &engine, &kernel, to]() -> Result<void> {
                           auto device = engine.device(to.target);
                           if (!device) return device.error();
                           auto made = engine.compile(kernel, *device, compile_options(to));
                           return made ? Result<void>() : made.error();
                         }});
      }
    }
  }

  void add_keys(const Engine& engine, const Function& function, const std::vector<Json>& keys) {
    const auto kernel = kernels_.find(function.ir);
    if (kernel == kernels_.end() && runtime::is_key(function.ir)) others_ += keys.size();
    auto options = [&]() -> Result<JitOptions> {
      if (kernel == kernels_.end())
        return bad(
            fmt::format("function `{}`: no file that was given has the kernel {}: its portable text, as "
                        "tlxjit::print writes it, is what --kernel names",
                        function.name, function.ir));
      return options_of(kernel->second, function.policies);
    }();
    auto device = engine.device(function.compiled_for.target);
    std::shared_ptr<JitFunction> jit;
    constexpr size_t most_versions = runtime::VersionTable::max_versions_kept;
    for (size_t i = 0; const Json& key : keys) {
      Job job{function.name, function.compiled_for, key, {}};
      if (!options || !device) {
        job.run = [error = options ? device.error() : options.error()]() -> Result<void> { return error; };
      } else {
        if (i++ % most_versions == 0) {
          options->compile = compile_options(function.compiled_for);
          options->max_versions = most_versions;
          jit = std::make_shared<JitFunction>(engine, *device, function.name, kernel->second, *options);
        }
        job.run = [jit, key]() -> Result<void> {
          auto report = jit->warm(text_of(key));
          if (!report) return report.error();
          return report->errors.empty() ? Result<void>() : std::move(report->errors.front());
        };
      }
      jobs_.push_back(std::move(job));
    }
  }

  void work_off() {
    Progress progress("warm", jobs_.size(), common_.quiet || common_.json);
    std::atomic<size_t> next = 0;
    const auto work = [&] {
      for (size_t i; (i = next++) < jobs_.size();) {
        Job job = std::move(jobs_[i]);  // with its function, which unloads its versions as it ends
        auto done = runtime::guarded(Stage::compile, job.run);
        progress.step(job.promises());
        if (done) continue;
        std::lock_guard lock(mutex_);
        job.run = nullptr;
        failures_.push_back({std::move(job), std::move(done).error()});
      }
    };
    std::vector<std::jthread> threads;
    const size_t helpers = std::min(static_cast<size_t>(command_.threads), std::max<size_t>(jobs_.size(), 1)) - 1;
    for (size_t i = 0; i < helpers; ++i) threads.emplace_back(work);
    work();
  }

  Report report(const EngineCounters& counters, const std::vector<std::string>& log) const {
    const uint64_t made = counters.compiles - counters.failures - counters.timed_out - counters.cancelled;
    const uint64_t not_kept = made - std::min(made, counters.disk.published);
    const size_t failed = failures_.size() - others_;
    Report report;
    Json& json = report.json;
    json["keys"] = keys_;
    json["generic"] = generics_;
    json["compiled"] = made;
    json["found"] = counters.disk_hits;
    json["failed"] = failed;
    json["other_kernels"] = others_;
    json["not_kept"] = not_kept;
    json["errors"] = Json::array();
    std::map<std::string, std::string> told;  // what failed of equal messages
    for (Failure failure : failures_) {
      const std::string hash = runtime::is_key(failure.error.key) ? failure.error.key : "";
      const Job& job = failure.job;
      failure.error.key = job.key ? job.key->dump(-1, ' ', false, Json::error_handler_t::replace) : "";
      Json error = json_of(failure.error);
      error["kernel"] = job.kernel;
      error["promises"] = job.promises();
      if (!hash.empty()) error["hash"] = hash;
      json["errors"].push_back(std::move(error));
      told[to_string(failure.error)] +=
          job.key ? fmt::format("  key: {}\n", failure.error.key)
                  : fmt::format("  the generic version of `{}` for {}\n", job.kernel, job.compiled_for.text());
    }
    json["log"] = log;
    for (const std::string& line : log) report.notes += fmt::format("note: {}\n", line);
    for (const auto& [message, which] : told) report.text += fmt::format("{}\n{}", message, which);
    report.text += count_text(keys_, "key");
    if (generics_ > 0) report.text += ", " + count_text(generics_, "generic version");
    report.text += fmt::format(": {} compiled, {} found on disk, {} failed\n", made, counters.disk_hits, failed);
    if (others_ > 0) report.text += fmt::format("{} of kernels that were not given\n", count_text(others_, "key"));
    if (not_kept > 0)
      report.text += fmt::format("{} of what was compiled {} not in the cache: it is off, or cannot be written\n",
                                 not_kept, not_kept == 1 ? "is" : "are");
    report.exit = not_kept > 0 ? exit_environment : failures_.empty() ? exit_done : exit_refused;
    return report;
  }

  const WarmCommand& command_;
  const CommonOptions& common_;
  std::map<Function, std::vector<Json>> functions_;
  std::map<std::string, Module> kernels_;  // by the hash of their text
  std::vector<Job> jobs_;
  size_t keys_ = 0, generics_ = 0, others_ = 0;
  std::mutex mutex_;
  std::vector<Failure> failures_;
};

}  // namespace

Result<Report> warm(const WarmCommand& command, const CommonOptions& common) { return Warm(command, common).run(); }

}  // namespace tlxjit::cli
