// tools/tlxjit/run.cpp — `tlxjit run`: allocates, launches, tells what was written and how long it took.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fmt/format.h>

#include <algorithm>
#include <mutex>

#include "src/runtime/guard_p.h"
#include "tools/tlxjit/call.h"
#include "tools/tlxjit/commands.h"
#include "tools/tlxjit/free_memory.h"
#include "tools/tlxjit/progress.h"
#include "tools/tlxjit/summary.h"

namespace tlxjit::cli {

namespace {

class Run {
 public:
  Run(const RunCommand& command, const CommonOptions& common) : command_(command), common_(common) {}

  Result<Report> run() {
    auto module = read_kernel(command_.file);
    if (!module) return module.error();
    EngineOptions options = common_.engine();
    options.cache_directory = command_.cache_directory;
    options.disk_cache = !command_.no_cache;
    options.log = [this](std::string_view line) { told(line); };
    if (common_.json) options.print = [this](std::string_view line) { printed(line); };
    const Engine engine(std::move(options));
    const std::vector<std::string> of_engine = log_lines();
    auto device = command_.device.empty() ? engine.best_device() : engine.device(command_.device);
    if (!device) return device.error();
    {  // why other devices are not there is told by `tlxjit devices`
      std::lock_guard lock(mutex_);
      log_ = of_engine;
    }
    auto kernel = lower_for(*module, target_of(*module, command_.as, device->target()));
    if (!kernel) return kernel.error();
    auto call = make_call(command_, **kernel, device->sms());
    if (!call) return call.error();
    call_ = std::move(*call);
    TLXJIT_TRY(outputs_exist());
    TLXJIT_TRY(memory_suffices(*device));
    TLXJIT_TRY(launch(engine, *device, *module, (*kernel)->module.target));
    for (const std::string& line : log_lines()) report_.notes += "note: " + line + "\n";
    return std::move(report_);
  }

 private:
  Result<void> outputs_exist() const {
    for (const Named& output : command_.outputs)
      if (std::ranges::none_of(call_.tensors, [&](const TensorInput& t) { return t.name == output.name; }))
        return bad_argument("--out " + output.name + ": the kernel has no tensor of this name");
    return {};
  }

  Result<void> memory_suffices(const Device& device) const {
    uint64_t most = 0, sum = 0;
    for (const TensorInput& tensor : call_.tensors) {
      most = std::max(most, tensor.bytes);
      sum += tensor.bytes;
    }
    const uint64_t wanted = most + (device.target() == Device::cpu ? sum : 0), free = free_memory();
    if (wanted <= free) return {};
    return runtime::error_of(ErrorKind::environment, Stage::launch, ErrorCode::out_of_resources,
                             fmt::format("the tensors of this call take {} of this machine's memory, of which {} are "
                                         "free: smaller sizes, or a machine with more",
                                         bytes_text(wanted), bytes_text(free)));
  }

  Result<void> launch(const Engine& engine, const Device& device, const Module& module, const std::string& target) {
    tlxjit::CompileOptions options;
    if (target != device.target()) options.as = target;
    options.time_limit = std::chrono::milliseconds(command_.time_limit_ms);
    auto executable = engine.compile(module, device, options);
    if (!executable) return executable.error();
    TLXJIT_TRY(upload(device));
    Json& json = report_.json;
    json["kernel"] = executable->name();
    json["signature"] = executable->signature();
    json["device"] = device.name();
    json["target"] = target;
    json["dims"] = Json::object();
    for (const auto& [name, value] : call_.dims) json["dims"][name] = value;
    json["times_ms"] = json_of(executable->times());
    const bool from_cache = engine.counters().disk_hits > 0;
    json["from_cache"] = from_cache;
    auto first = timed(*executable, device);
    if (!first) return first.error();
    json["first_ms"] = *first;
    report_.notes = fmt::format("{} on {}, {} in {}, ran {}\n", executable->signature(), device.name(),
                                from_cache ? "found on disk" : "compiled", time_text(executable->times().total()),
                                time_text(*first));
    TLXJIT_TRY(outputs());
    TLXJIT_TRY(repeat(*executable, device));
    json["log"] = log_lines();
    json["printed"] = lines_;
    if (lines_left_out_ > 0) json["printed_left_out"] = lines_left_out_;
    return {};
  }

  Result<void> upload(const Device& device) {
    for (size_t i = 0; i < call_.tensors.size(); ++i) {
      TensorInput& tensor = call_.tensors[i];
      auto elements = elements_of(tensor, command_.seed + i);
      if (!elements) return elements.error();
      auto buffer = device.allocate(elements->size());
      if (!buffer) return buffer.error();
      TLXJIT_TRY(buffer->upload(*elements));
      TensorArg argument = tlxjit::tensor(tensor.elem, buffer->data(), {});
      argument.capacity = static_cast<int64_t>(buffer->size());
      argument.rank = static_cast<int>(tensor.dims.size());
      uint64_t stride = 1;  // that of a tensor without elements may be too large for it
      for (size_t axis = tensor.dims.size(); axis-- > 0;) {
        argument.dims[axis] = tensor.dims[axis];
        argument.strides[axis] = static_cast<int64_t>(stride);
        stride *= static_cast<uint64_t>(tensor.dims[axis]);
      }
      arguments_.push_back(arg(tensor.name, argument));
      buffers_.push_back(std::move(*buffer));
      tensor.file = {};
    }
    for (const ScalarInput& scalar : call_.scalars) {
      Argument argument{TensorArg()};
      argument.scalar = scalar.elem;
      argument.bits = scalar.bits;
      arguments_.push_back(arg(scalar.name, argument));
    }
    return {};
  }

  /// Milliseconds from the call to the end of its work.
  Result<double> timed(const Executable& executable, const Device& device) {
    runtime::StopWatch watch;
    TLXJIT_TRY(without_line(executable.launch(arguments_)));
    TLXJIT_TRY(device.synchronize());
    return watch.lap();
  }

  /// The line of the launch in this program tells nobody anything.
  static Result<void> without_line(Result<void> result) {
    if (result) return result;
    Error error = std::move(result).error();
    if (error.location.file == __FILE__) error.location = {};
    return error;
  }

  Result<void> outputs() {
    Json& json = report_.json["outputs"] = Json::array();
    for (size_t i = 0; i < call_.tensors.size(); ++i) {
      const TensorInput& tensor = call_.tensors[i];
      const auto file = std::ranges::find_if(command_.outputs, [&](const Named& o) { return o.name == tensor.name; });
      if (!tensor.use.written && file == command_.outputs.end()) continue;
      std::vector<char> elements(tensor.bytes);
      TLXJIT_TRY(buffers_[i].download(elements));
      Json summary = summary_of(tensor, elements);
      report_.text += summary_text(summary) + "\n";
      if (command_.print) {
        const std::string text = elements_text(tensor, elements);
        summary["elements"] = text;
        report_.text += text + "\n";
      }
      if (file != command_.outputs.end()) {
        TLXJIT_TRY(write_tensor(file->text, tensor, elements));
        summary["file"] = file->text;
      }
      json.push_back(std::move(summary));
    }
    return {};
  }

  Result<void> repeat(const Executable& executable, const Device& device) {
    if (command_.repeat == 0) return {};
    Progress progress("run", static_cast<uint64_t>(command_.repeat), common_.quiet || common_.json);
    std::vector<double> times;
    for (int i = 0; i < command_.repeat; ++i) {
      auto ms = timed(executable, device);
      if (!ms) return ms.error();
      times.push_back(*ms);
      progress.step();
    }
    std::ranges::sort(times);
    const double median = (times[(times.size() - 1) / 2] + times[times.size() / 2]) / 2;
    report_.json["repeat"] = {
        {"calls", times.size()}, {"median_ms", median}, {"min_ms", times.front()}, {"max_ms", times.back()}};
    report_.text += fmt::format("median of {}: {}, least {}, most {}\n", count_text(times.size(), "call"),
                                time_text(median), time_text(times.front()), time_text(times.back()));
    return {};
  }

  /// From any thread.
  void told(std::string_view line) {
    std::lock_guard lock(mutex_);
    log_.emplace_back(line);
  }
  std::vector<std::string> log_lines() {
    std::lock_guard lock(mutex_);
    return log_;
  }

  void printed(std::string_view line) {
    constexpr size_t most = 1000;
    if (lines_.size() < most)
      lines_.emplace_back(line);
    else
      ++lines_left_out_;
  }

  const RunCommand& command_;
  const CommonOptions& common_;
  Report report_;
  Call call_;
  std::vector<Argument> arguments_;
  std::vector<Buffer> buffers_;
  std::vector<std::string> lines_;  // told one at a time
  size_t lines_left_out_ = 0;
  std::mutex mutex_;
  std::vector<std::string> log_;
};

}  // namespace

Result<Report> run(const RunCommand& command, const CommonOptions& common) { return Run(command, common).run(); }

}  // namespace tlxjit::cli
