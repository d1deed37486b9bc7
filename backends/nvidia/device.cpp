// backends/nvidia/device.cpp — NVIDIA devices: compile by NVRTC, load, memory, streams.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/nvidia/device_p.h"

#include <fmt/format.h>

#include <charconv>
#include <mutex>

#include "backends/nvidia/emit/emit_p.h"
#include "backends/nvidia/image_p.h"
#include "backends/nvidia/loaded_kernel_p.h"
#include "backends/nvidia/nvrtc_files_p.h"
#include "backends/nvidia/ptxas_log_p.h"
#include "src/runtime/guard_p.h"
#include "src/runtime/per_process_p.h"

TLXJIT_NAMESPACE_BEGIN
namespace nvidia {
namespace {

using runtime::CompiledKernel;
using runtime::CompileInput;
using runtime::DeviceBackend;
using runtime::StopWatch;

/// Loads NVRTC at the first compile.
class Compiler {
 public:
  explicit Compiler(std::vector<std::string> folders) { search_.directories = std::move(folders); }

  Result<std::shared_ptr<Nvrtc>> get() {
    OfProcess& own = own_.get();
    std::lock_guard lock(own.mutex);
    return load(own);
  }

  /// Which one it is. Loads it only where its files do not tell.
  Result<std::string> build_ids() {
    OfProcess& own = own_.get();
    std::lock_guard lock(own.mutex);
    if (!own.loaded) {
      if (own.of_files.empty()) own.of_files = nvrtc_build_ids_of_files(search_);
      if (!own.of_files.empty()) return own.of_files;
      if (auto loaded = load(own); !loaded) return loaded.error();
    }
    const std::string& ids = own.loaded->build_ids();
    if (ids.starts_with(' ') || ids.ends_with(' '))
      return runtime::error_of(ErrorKind::environment, Stage::load, ErrorCode::unsupported,
                               own.loaded->path() +
                                   " or its builtins have no build-id, so that what they compile cannot "
                                   "be told from what another version does");
    return ids;
  }

 private:
  struct OfProcess {
    std::mutex mutex;
    std::string of_files;  // build-ids; "": not asked for, or not known
    std::shared_ptr<Nvrtc> loaded;
  };
  Result<std::shared_ptr<Nvrtc>> load(OfProcess& own) const {
    if (own.loaded) return own.loaded;
    auto loaded = Nvrtc::load(search_);
    if (loaded) own.loaded = *loaded;
    return loaded;
  }

  NvrtcSearch search_;
  runtime::PerProcess<OfProcess> own_;  // a child loads the libraries that are in its memory once more
};

CompileReport report_of(std::string log) {
  const PtxasReport said = parse_ptxas_log(log);
  CompileReport report;
  report.registers = said.registers;
  report.spill_store_bytes = said.spill_store_bytes;
  report.spill_load_bytes = said.spill_load_bytes;
  report.stack_bytes = said.stack_bytes;
  report.barriers = said.barriers;
  report.remarks = said.remarks;
  report.log = std::move(log);
  auto& list = report.diagnostics;
  if (said.spill_store_bytes || said.spill_load_bytes)
    list.push_back(fmt::format("registers are spilled: {} bytes stored, {} bytes loaded", said.spill_store_bytes,
                               said.spill_load_bytes));
  if (said.stack_bytes) list.push_back(fmt::format("each thread has a stack of {} bytes", said.stack_bytes));
  if (said.wgmma_serialized) list.push_back("dots are serialised: each waits for the one before");
  if (said.setmaxnreg_ignored) list.push_back("the tasks' register hints are ignored");
  return report;
}

class NvidiaDevice final : public DeviceBackend {
 public:
  /// Without a context it only compiles, for `target`.
  NvidiaDevice(std::string name, std::string target, std::shared_ptr<Context> context,
               std::shared_ptr<Compiler> compiler)
      : context_(std::move(context)), compiler_(std::move(compiler)) {
    facts_.name = std::move(name);
    facts_.target = std::move(target);
    facts_.can_launch = context_ != nullptr;
    if (context_) {
      const DeviceInfo& info = context_->info();
      facts_.description =
          fmt::format("{}, {} multiprocessors, {} GiB", info.name, info.sm_count, info.memory_bytes >> 30);
      facts_.sms = info.sm_count;
    } else {
      facts_.description = "compiles for " + facts_.target + ", without a device";
    }
  }

  /// What is on disk may make a compiler superfluous: as long as its files tell which one it is, it is not loaded.
  Result<void> can_compile() override {
    auto ids = compiler_->build_ids();
    if (ids) return {};
    auto nvrtc = compiler_->get();
    if (!nvrtc) return nvrtc.error();
    return {};
  }

  Result<CompiledKernel> compile(const CompileInput& input) override {
    CompiledKernel out;
    StopWatch watch;
    auto emitted = emit_cuda(input.module);
    if (!emitted) return emitted.error();
    out.emit_ms = watch.lap();
    auto nvrtc = compiler_->get();
    if (!nvrtc) return nvrtc.error();
    watch.lap();
    NvrtcOptions options;
    options.lineinfo = input.lineinfo;
    if (input.abandoned) options.cancelled = [abandoned = input.abandoned] { return abandoned->load(); };
    auto made = (*nvrtc)->compile(emitted->source, input.module.name, facts_.target, options);
    if (!made) return made.error();
    out.compile_ms = watch.lap();
    Image image{std::move(emitted->entry), std::move(made->log), std::move(emitted->source), std::move(made->cubin)};
    if (input.image) out.image = write_image(image);
    TLXJIT_TRY(take(std::move(image), input, out, fmt::format("NVRTC {}.{}", (*nvrtc)->major(), (*nvrtc)->minor())));
    return out;
  }

  Result<std::string> compiler() override { return compiler_->build_ids(); }

  Result<CompiledKernel> load(const CompileInput& input, std::span<const char> bytes) override {
    auto image = read_image(bytes);
    if (!image)
      return runtime::error_of(ErrorKind::environment, Stage::load, ErrorCode::bad_content,
                               "the bytes are no image of a kernel for " + facts_.target);
    CompiledKernel out;
    TLXJIT_TRY(take(std::move(*image), input, out));
    return out;
  }

  Result<void*> allocate(size_t bytes) override {
    TLXJIT_TRY(device_needed());
    const auto address = allocate_bytes(*context_, bytes);
    if (!address) return address.error();
    return reinterpret_cast<void*>(static_cast<uintptr_t>(*address));
  }
  void release(void* memory) override {
    const CurrentContext current(*context_);
    if (!current.usable()) return;
    const BesideCaptures beside(driver());
    driver().cuMemFree(address_of(memory));
  }
  Result<void> upload(void* to, const void* from, size_t bytes) override {
    return after_all([&] {
      return driver().check(driver().cuMemcpyHtoDAsync(address_of(to), from, bytes, nullptr), "cuMemcpyHtoDAsync");
    });
  }
  Result<void> download(void* to, const void* from, size_t bytes) override {
    return after_all([&] {
      return driver().check(driver().cuMemcpyDtoHAsync(to, address_of(from), bytes, nullptr), "cuMemcpyDtoHAsync");
    });
  }
  Result<void> fill(void* to, uint8_t byte, size_t bytes) override {
    return after_all([&] {
      return driver().check(driver().cuMemsetD8Async(address_of(to), byte, bytes, nullptr), "cuMemsetD8Async");
    });
  }

  bool capturing(void* stream) override {
    if (!context_) return false;
    const auto captured = is_capturing(*context_, static_cast<CuStream>(stream));
    return captured && *captured;  // what the launch finds wrong with the stream it says itself
  }
  size_t captured_alone() override { return captured_->alone(); }
  void release_captured() override { captured_->release(); }
  Result<void*> create_stream() override {
    TLXJIT_TRY(device_needed());
    const auto stream = create_handle(*context_);
    if (!stream) return stream.error();
    return static_cast<void*>(*stream);
  }
  void destroy_stream(void* stream) override {
    const CurrentContext current(*context_);
    if (!current.usable()) return;
    const BesideCaptures beside(driver());
    driver().cuStreamDestroy(static_cast<CuStream>(stream));
  }
  Result<void> synchronize(void* stream) override {
    TLXJIT_TRY(device_needed());
    const BesideCaptures beside(driver());
    return nvidia::synchronize(*context_, static_cast<CuStream>(stream));
  }
  Result<void> synchronize_all() override {
    TLXJIT_TRY(device_needed());
    const BesideCaptures beside(driver());
    return context_->synchronize();
  }

 private:
  const Driver& driver() const { return context_->driver(); }
  static CuDevicePtr address_of(const void* memory) { return reinterpret_cast<uintptr_t>(memory); }

  /// What is told of an image, and, where there is a device, its kernel. `compiler`: who made it, if that is known.
  Result<void> take(Image image, const CompileInput& input, CompiledKernel& out, const std::string& compiler = {}) {
    out.source = std::move(image.source);
    out.binary = std::move(image.cubin);
    out.report = report_of(std::move(image.log));
    if (!context_) return {};
    StopWatch watch;
    auto loaded = load_kernel(context_, out.binary, image.entry, input.abi, captured_, compiler);
    if (!loaded) return loaded.error();
    out.kernel = std::move(*loaded);
    out.load_ms = watch.lap();
    return {};
  }

  Result<void> device_needed() const {
    if (context_) return {};
    return runtime::error_of(ErrorKind::user, Stage::run, ErrorCode::unsupported,
                             facts_.name + " only compiles: it has no memory and no streams");
  }
  template <class Fn>
  Result<void> after_all(Fn&& fn) {
    TLXJIT_TRY(device_needed());
    const CurrentContext current(*context_);
    TLXJIT_TRY(current.status());
    const BesideCaptures beside(driver());
    TLXJIT_TRY(driver().check(driver().cuCtxSynchronize(), "cuCtxSynchronize"));
    TLXJIT_TRY(fn());
    return driver().check(driver().cuStreamSynchronize(nullptr), "cuStreamSynchronize");
  }

  std::shared_ptr<Context> context_;
  std::shared_ptr<Compiler> compiler_;
  const std::shared_ptr<CapturedCode> captured_ = std::make_shared<CapturedCode>();
};

class NvidiaLibrary final : public runtime::BackendLibrary {
 public:
  NvidiaLibrary(std::string libcuda, std::vector<std::string> nvrtc)
      : libcuda_(std::move(libcuda)), compiler_(std::make_shared<Compiler>(std::move(nvrtc))) {}

  std::string_view names() const override { return "cuda:0, cuda:1, … (sm_90a to compile only)"; }

  Result<std::vector<std::string>> list() override {
    auto loaded = driver();
    if (!loaded) return loaded.error();
    auto count = Context::device_count(**loaded);
    if (!count) return count.error();
    std::vector<std::string> names;
    for (int i = 0; i < *count; ++i) names.push_back(fmt::format("cuda:{}", i));
    return names;
  }

  Result<std::shared_ptr<DeviceBackend>> open(std::string_view name) override {
    if (name == "sm_90a")
      return std::shared_ptr<DeviceBackend>(
          std::make_shared<NvidiaDevice>(std::string(name), std::string(name), nullptr, compiler_));
    constexpr std::string_view prefix = "cuda:";
    int ordinal = -1;
    if (!name.starts_with(prefix)) return std::shared_ptr<DeviceBackend>();
    const char *first = name.data() + prefix.size(), *last = name.data() + name.size();
    if (std::from_chars(first, last, ordinal).ptr != last || ordinal < 0 ||
        fmt::format("{}{}", prefix, ordinal) != name)
      return std::shared_ptr<DeviceBackend>();  // one name for each device: no 00
    auto loaded = driver();
    if (!loaded) return loaded.error();
    auto context = Context::open(*loaded, ordinal);
    if (!context) return context.error();
    const std::string target = (*context)->info().target();
    if (target.empty())
      return runtime::error_of(
          ErrorKind::user, Stage::load, ErrorCode::unsupported,
          fmt::format("{} is a {} of compute capability {}.{}, for which tlxjit makes no code", name,
                      (*context)->info().name, (*context)->info().major, (*context)->info().minor));
    return std::shared_ptr<DeviceBackend>(
        std::make_shared<NvidiaDevice>(std::string(name), target, std::move(*context), compiler_));
  }

 private:
  struct OfProcess {
    std::mutex mutex;
    std::shared_ptr<Driver> driver;
    bool forked = false;

    /// The parent's driver says what is wrong with it here; one that was being loaded then is of no use either.
    void inherit(OfProcess& parents) {
      const std::unique_lock lock(parents.mutex, std::try_to_lock);
      if (lock)
        driver = parents.driver;
      else
        forked = true;
    }
  };
  Result<std::shared_ptr<Driver>> driver() {
    OfProcess& own = own_.get();
    std::lock_guard lock(own.mutex);
    if (own.forked) return Driver::forked(Stage::load);
    if (own.driver) return own.driver;
    auto loaded = Driver::load(libcuda_);
    if (loaded) own.driver = *loaded;
    return loaded;
  }

  const std::string libcuda_;
  const std::shared_ptr<Compiler> compiler_;
  runtime::PerProcess<OfProcess> own_;
};

}  // namespace

std::unique_ptr<runtime::BackendLibrary> device_library(std::string libcuda, std::vector<std::string> nvrtc) {
  return std::make_unique<NvidiaLibrary>(std::move(libcuda), std::move(nvrtc));
}

}  // namespace nvidia
TLXJIT_NAMESPACE_END
