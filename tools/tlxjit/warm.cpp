// tools/tlxjit/warm.cpp — `tlxjit warm`: compiles the keys of JitFunctions' manifests into the disk cache.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fmt/format.h>

#include <map>
#include <mutex>

#include "src/runtime/guard_p.h"
#include "src/runtime/key_p.h"
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

/// Keys of one function: what it is asked for, and its part of the manifest.
struct Function {
  std::string name, ir, target, policies;
  auto operator<=>(const Function&) const = default;
};

class Warm {
 public:
  Warm(const WarmCommand& command, const CommonOptions& common) : command_(command), common_(common) {}

  Result<Report> run() {
    TLXJIT_TRY(read_manifest());
    TLXJIT_TRY(read_kernels());
    EngineOptions options = common_.engine();
    options.cache_directory = command_.cache_directory;
    options.kept_kernels = 1;  // they are wanted on disk
    std::vector<std::string> log;
    std::mutex mutex;
    options.log = [&](std::string_view line) {
      std::lock_guard lock(mutex);
      log.emplace_back(line);
    };
    EngineCounters counters;
    {
      const Engine engine(std::move(options));
      Progress progress("warm", count_, common_.quiet || common_.json);
      for (const auto& [function, keys] : functions_) warm(engine, function, keys, progress);
      counters = engine.counters();
    }  // whose end waits until all is published
    return report(counters, log);
  }

 private:
  Result<void> read_manifest() {
    constexpr uint64_t most = uint64_t{64} << 20;
    auto text = read_file(command_.manifest, most);
    if (!text) return text.error();
    Json json = Json::parse(*text, nullptr, false);
    if (!json.is_object()) return bad(command_.manifest + " is no manifest: a JSON object was expected");
    if (!json.contains("tlxjit_manifest")) json = {{"keys", Json::array({json})}};  // a key alone is one, too
    if (!json.contains("keys") || !json["keys"].is_array()) return bad(command_.manifest + " has no list `keys`");
    for (Json& key : json["keys"]) {
      const auto text_at = [&](const char* name) {
        const auto found = key.is_object() ? key.find(name) : key.end();
        return found != key.end() && found->is_string() ? found->get<std::string>() : std::string();
      };
      const Function function{text_at("function"), text_at("ir"), text_at("target"), text_at("policies")};
      functions_[function].push_back(std::move(key));
      ++count_;
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

  void warm(const Engine& engine, const Function& function, const std::vector<Json>& keys, Progress& progress) {
    auto warmed = [&]() -> Result<WarmReport> {
      const auto kernel = kernels_.find(function.ir);
      if (kernel == kernels_.end())
        return bad(
            fmt::format("function `{}`: no file that was given has the kernel {}: its portable text, as "
                        "tlxjit::print writes it, is what --kernel names",
                        function.name, function.ir));
      auto options = options_of(kernel->second, function.policies);
      if (!options) return options.error();
      options->compile.lineinfo = command_.lineinfo;
      options->compile.time_limit = std::chrono::milliseconds(command_.time_limit_ms);
      auto device = engine.device(function.target);
      if (!device) return device.error();
      const JitFunction jit(engine, *device, function.name, kernel->second, std::move(*options));
      WarmOptions how;
      how.threads = command_.threads;
      how.progress = [&](const WarmProgress& at) { return progress.step(at.key), true; };
      return jit.warm(text_of({{"tlxjit_manifest", 1}, {"keys", keys}}), how);
    }();
    if (!warmed) {
      errors_.push_back(std::move(warmed).error());
      for (size_t i = 0; i < keys.size(); ++i) progress.step();
      failed_ += keys.size();
      return;
    }
    failed_ += warmed->errors.size();
    for (Error& error : warmed->errors) errors_.push_back(std::move(error));
  }

  Report report(const EngineCounters& counters, const std::vector<std::string>& log) const {
    Report report;
    Json& json = report.json;
    json["keys"] = count_;
    json["compiled"] = counters.disk_misses;
    json["found"] = counters.disk_hits;
    json["failed"] = failed_;
    json["errors"] = Json::array();
    for (const Error& error : errors_) json["errors"].push_back(json_of(error));
    json["log"] = log;
    for (const std::string& line : log) report.notes += "note: " + line + "\n";
    for (const Error& error : errors_)
      report.text += to_string(error) + (error.key.empty() ? "" : "\n  key: " + error.key) + "\n";
    report.text += fmt::format("{}: {} compiled, {} found on disk, {} failed\n", count_text(count_, "key"),
                               counters.disk_misses, counters.disk_hits, failed_);
    report.exit = failed_ > 0 ? exit_refused : exit_done;
    return report;
  }

  const WarmCommand& command_;
  const CommonOptions& common_;
  std::map<Function, std::vector<Json>> functions_;
  std::map<std::string, Module> kernels_;  // by the hash of their text
  size_t count_ = 0, failed_ = 0;
  std::vector<Error> errors_;
};

}  // namespace

Result<Report> warm(const WarmCommand& command, const CommonOptions& common) { return Warm(command, common).run(); }

}  // namespace tlxjit::cli
