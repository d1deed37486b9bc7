// src/runtime/cpu_backend.cpp — the CPU as a device: the plug-in behind the device interface.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <mutex>

#include "src/passes/lower_p.h"
#include "src/runtime/build_id_p.h"
#include "src/runtime/call_plan_p.h"
#include "src/runtime/compiler_use_p.h"
#include "src/runtime/cpu_plugin_p.h"
#include "src/runtime/cpu_report_p.h"
#include "src/runtime/guard_p.h"
#include "src/runtime/per_process_p.h"
#include "src/runtime/plugin_loader_p.h"
#include "src/runtime/registry_p.h"
#include "src/runtime/usable_cpus_p.h"
#include "tlxjit/ir/text.h"

TLXJIT_NAMESPACE_BEGIN
namespace runtime {

namespace {

/// Workspaces of a kernel: one per launch in flight, zero whenever none uses it.
class Workspaces {
 public:
  explicit Workspaces(int64_t words) : words_(static_cast<size_t>(words)) {}

  std::unique_ptr<int32_t[]> take() {
    if (words_ == 0) return nullptr;
    OfProcess& own = process_.get();
    std::lock_guard lock(own.mutex);
    if (!own.idle.empty()) {
      auto words = std::move(own.idle.back());
      own.idle.pop_back();
      return words;
    }
    own.idle.reserve(own.made + 1);  // so that giving it back does not allocate
    auto words = std::make_unique<int32_t[]>(words_);
    ++own.made;
    return words;
  }
  void give(std::unique_ptr<int32_t[]> words) {
    if (!words) return;
    OfProcess& own = process_.get();
    std::lock_guard lock(own.mutex);
    own.idle.push_back(std::move(words));
  }

 private:
  struct OfProcess {
    std::mutex mutex;
    std::vector<std::unique_ptr<int32_t[]>> idle;
    size_t made = 0;
  };
  const size_t words_;
  PerProcess<OfProcess> process_;
};

/// Where the lines go that kernels print: to one reader, one at a time. The reader is called without a lock, and may
/// launch kernels that print: a line that comes while it is called waits until it has returned.
class Printer {
 public:
  explicit Printer(std::function<void(std::string_view)> print) : print_(std::move(print)) {}

  void line(std::string text) {
    OfProcess& own = process_.get();
    std::unique_lock lock(own.mutex);
    own.waiting.push_back(std::move(text));
    if (own.telling) return;
    own.telling = true;
    while (!own.waiting.empty()) {
      const std::string next = std::move(own.waiting.front());
      own.waiting.pop_front();
      lock.unlock();
      tell(next);
      lock.lock();
    }
    own.telling = false;
  }

 private:
  struct OfProcess {
    std::mutex mutex;
    std::deque<std::string> waiting;
    bool telling = false;
  };
  void tell(const std::string& text) const noexcept try {
    if (print_)
      print_(text);
    else
      std::fprintf(stderr, "%s\n", text.c_str());
  } catch (...) {  // a line that cannot be told is lost: nothing may pass through the plug-in
  }

  const std::function<void(std::string_view)> print_;
  PerProcess<OfProcess> process_;
};

class CpuKernel final : public LoadedKernel {
 public:
  CpuKernel(const tlxjit_cpu_backend& plugin, tlxjit_cpu_kernel* kernel, const CompileInput& input, int threads,
            std::shared_ptr<Printer> printer)
      : plugin_(plugin),
        kernel_(kernel),
        module_(input.module),
        threads_(threads),
        printer_(std::move(printer)),
        workspaces_(input.abi.workspace_words) {}
  ~CpuKernel() override { plugin_.destroy(kernel_); }

  int programs_at_once() const override { return threads_; }

  Result<void> launch(const BoundCall& call, void*) const override {
    std::array<tlxjit_cpu_tensor, max_tensors> tensors;
    for (size_t i = 0; i < call.tensors.size(); ++i) {
      tensors[i].data = call.tensors[i].data;
      std::copy_n(call.tensors[i].strides.begin(), std::size(tensors[i].strides), tensors[i].strides);
    }
    auto words = workspaces_.take();
    tlxjit_cpu_failure failure;
    failure.blocked_count = 0;
    const tlxjit_cpu_launch launch{
        call.dims.data(), tensors.data(), call.scalars.data(),         words.get(), call.grid,
        threads_,         print,          const_cast<CpuKernel*>(this)};
    const tlxjit_cpu_status status = plugin_.launch(kernel_, &launch, &failure);
    workspaces_.give(std::move(words));  // the plug-in zeroes it after a failure
    if (status == TLXJIT_CPU_OK) return {};
    return cpu_error(module_, failure, Stage::run);
  }

 private:
  static void print(void* kernel, uint32_t op, const tlxjit_cpu_place* at, const void* const* values) noexcept try {
    const auto& self = *static_cast<const CpuKernel*>(kernel);
    self.printer_->line(printed_line(self.module_, op, *at, values));
  } catch (...) {  // no memory for it
  }

  const tlxjit_cpu_backend& plugin_;
  tlxjit_cpu_kernel* const kernel_;
  const Module& module_;
  const int threads_;
  const std::shared_ptr<Printer> printer_;
  mutable Workspaces workspaces_;
};

/// Of all plug-ins of the process.
CompilerUse& llvm() {
  static auto* const use = new CompilerUse;
  return *use;
}

class CpuDevice final : public DeviceBackend {
 public:
  CpuDevice(const tlxjit_cpu_backend& plugin, int threads, std::string without_features,
            std::shared_ptr<Printer> printer)
      : plugin_(plugin), without_features_(std::move(without_features)), printer_(std::move(printer)) {
    const std::string count = std::to_string(threads) + (threads == 1 ? " thread" : " threads");
    facts_ = {"cpu", "cpu", std::string(plugin.cpu_name) + ", " + count, threads, true};
  }

  bool runs(std::string_view target) const override { return find_target(target).ok(); }
  Result<void> can_compile() override { return {}; }

  Result<CompiledKernel> compile(const CompileInput& input) override {
    const auto inside = llvm().enter(Stage::compile);
    if (!inside) return inside.error();
    CompiledKernel compiled;
    StopWatch watch;
    const std::string text = print(input.module);
    compiled.emit_ms = watch.lap();
    tlxjit_cpu_kernel* kernel = nullptr;
    auto failure = std::make_unique<tlxjit_cpu_failure>();
    const tlxjit_cpu_options options{without_features_.c_str(), input.image ? keep<std::vector<char>> : nullptr,
                                     &compiled.image, input.source ? keep<std::string> : nullptr, &compiled.source};
    const tlxjit_cpu_status status = plugin_.compile(text.data(), text.size(), &options, &kernel, failure.get());
    compiled.compile_ms = watch.lap();
    if (status != TLXJIT_CPU_OK) return cpu_error(input.module, *failure, Stage::compile);
    compiled.kernel = std::make_unique<CpuKernel>(plugin_, kernel, input, facts_.sms, printer_);
    return compiled;
  }

  std::string runs_on() const override {
    return std::string(plugin_.cpu_name) + "\n" + plugin_.cpu_features + "\nwithout " + without_features_ + "\nlinks " +
           plugin_.links + "\n";
  }

  Result<std::string> compiler() override {
    const std::string build = build_id_at(&plugin_);
    if (build.empty())
      return error_of(ErrorKind::environment, Stage::load, ErrorCode::unsupported,
                      "the CPU plug-in has no build-id (link it with --build-id), so that its kernels cannot be told "
                      "from those of another build");
    return "plug-in " + build;
  }

  Result<CompiledKernel> load(const CompileInput& input, std::span<const char> image) override {
    const auto inside = llvm().enter(Stage::load);
    if (!inside) return inside.error();
    CompiledKernel compiled;
    StopWatch watch;
    tlxjit_cpu_kernel* kernel = nullptr;
    auto failure = std::make_unique<tlxjit_cpu_failure>();
    const tlxjit_cpu_status status = plugin_.load(image.data(), image.size(), &kernel, failure.get());
    if (status != TLXJIT_CPU_OK) return cpu_error(input.module, *failure, Stage::load);
    compiled.kernel = std::make_unique<CpuKernel>(plugin_, kernel, input, facts_.sms, printer_);
    compiled.load_ms = watch.lap();
    return compiled;
  }

  Result<void*> allocate(size_t bytes) override {
    constexpr size_t alignment = 256;
    const size_t rounded = (bytes + alignment) / alignment * alignment;
    if (void* memory = rounded > bytes ? std::aligned_alloc(alignment, rounded) : nullptr) return memory;
    return error_of(ErrorKind::environment, Stage::run, ErrorCode::out_of_resources,
                    "no memory for a buffer of " + std::to_string(bytes) + " bytes");
  }
  void release(void* memory) override { std::free(memory); }
  Result<void> upload(void* to, const void* from, size_t bytes) override { return copy(to, from, bytes); }
  Result<void> download(void* to, const void* from, size_t bytes) override { return copy(to, from, bytes); }
  Result<void> fill(void* to, uint8_t byte, size_t bytes) override {
    if (bytes) std::memset(to, byte, bytes);
    return {};
  }
  Result<void*> create_stream() override { return static_cast<void*>(nullptr); }
  void destroy_stream(void*) override {}
  Result<void> synchronize(void*) override { return {}; }
  Result<void> synchronize_all() override { return {}; }

 private:
  /// Without memory for the bytes there are none.
  template <class Bytes>
  static void keep(void* to, const char* bytes, size_t size) noexcept try {
    static_cast<Bytes*>(to)->assign(bytes, bytes + size);
  } catch (...) {
  }
  static Result<void> copy(void* to, const void* from, size_t bytes) {
    if (bytes) std::memcpy(to, from, bytes);
    return {};
  }
  const tlxjit_cpu_backend& plugin_;  // never unloaded
  const std::string without_features_;
  const std::shared_ptr<Printer> printer_;
};

class CpuLibrary final : public BackendLibrary {
 public:
  explicit CpuLibrary(const EngineOptions& options)
      : path_(options.cpu_plugin),
        without_features_(options.cpu_without_features),
        threads_(options.cpu_threads > 0 ? options.cpu_threads : usable_cpus()),
        printer_(std::make_shared<Printer>(options.print)) {}

  Result<std::vector<std::string>> list() override {
    auto plugin = load();
    if (!plugin) return plugin.error();
    return std::vector<std::string>{"cpu"};
  }
  Result<std::shared_ptr<DeviceBackend>> open(std::string_view name) override {
    if (name != "cpu") return std::shared_ptr<DeviceBackend>();
    auto plugin = load();
    if (!plugin) return plugin.error();
    return std::shared_ptr<DeviceBackend>(std::make_shared<CpuDevice>(**plugin, threads_, without_features_, printer_));
  }
  std::string_view names() const override { return "cpu"; }

 private:
  Result<const tlxjit_cpu_backend*> load() {
    if (const tlxjit_cpu_backend* loaded = plugin_.load()) return loaded;
    auto plugin = load_cpu_plugin(path_);
    if (plugin) plugin_ = *plugin;  // of two threads that load it, both get the same
    return plugin;
  }

  const std::string path_, without_features_;
  const int threads_;
  const std::shared_ptr<Printer> printer_;
  std::atomic<const tlxjit_cpu_backend*> plugin_ = nullptr;
};

}  // namespace

std::unique_ptr<BackendLibrary> cpu_library(const EngineOptions& options) {
  return std::make_unique<CpuLibrary>(options);
}

}  // namespace runtime
TLXJIT_NAMESPACE_END
