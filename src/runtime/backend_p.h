// src/runtime/backend_p.h — what the runtime asks of a device: compile, load, launch, memory, streams.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/codegen/abi_p.h"
#include "tlxjit/runtime/executable.h"

TLXJIT_NAMESPACE_BEGIN
namespace runtime {

/// What does not change while a device is open.
struct DeviceFacts {
  std::string name;
  std::string target;
  std::string description;
  int sms = 1;
  bool can_launch = true;
};

/// A device's name as TensorArg::device. Names are shorter; of one that were not, what stands there is compared.
inline std::array<char, 16> device_mark(std::string_view name) {
  std::array<char, 16> mark{};
  name.copy(mark.data(), mark.size() - 1);
  return mark;
}

/// A tensor of a call that has passed all checks. Strides of axes with at most one element are those of a packed
/// tensor, whatever the call brought.
struct BoundTensor {
  void* data = nullptr;
  std::array<int64_t, TensorArg::max_rank> dims{};
  std::array<int64_t, TensorArg::max_rank> strides{};
  bool empty = false;
};

/// A call, in the order of the ABI.
struct BoundCall {
  std::span<const int32_t> dims;
  std::span<const BoundTensor> tensors;
  std::span<const uint64_t> scalars;
  int32_t grid = 0;  ///< at least 1
};

/// A kernel on a device. `launch` allocates only at the first use of a stream; threads may call it at once.
class LoadedKernel {
 public:
  virtual ~LoadedKernel() = default;
  virtual Result<void> launch(const BoundCall& call, void* stream) const = 0;
  /// Programs that run at once: the value of the `sms` op.
  virtual int programs_at_once() const = 0;
  /// Whether a graph may hold addresses of it: it was launched into a capture, and not released since.
  virtual bool captured() const { return false; }
};

/// A kernel and what was made on the way.
struct CompiledKernel {
  std::unique_ptr<LoadedKernel> kernel;  ///< null on a device that only compiles
  std::string source;  ///< what the code generator was given: CUDA C++; of the CPU LLVM IR, if it was asked for
  std::vector<char> binary;
  std::vector<char> image;  ///< what `load` makes it of again; empty unless asked for, and from `load`
  CompileReport report;
  double emit_ms = 0, compile_ms = 0, load_ms = 0;
};

/// A lowered module to compile. It outlives the kernel made of it.
struct CompileInput {
  const Module& module;
  const Abi& abi;
  bool lineinfo = false;
  bool image = false;   ///< wanted
  bool source = false;  ///< wanted of back ends to which it is extra work
  /// True once nobody waits for the kernel any more: a compiler that can be stopped is.
  const std::atomic<bool>* abandoned = nullptr;
};

/// One device. Thread safe.
class DeviceBackend {
 public:
  virtual ~DeviceBackend() = default;
  const DeviceFacts& facts() const { return facts_; }
  /// Whether this device can run modules lowered for `target`.
  virtual bool runs(std::string_view target) const { return target == facts_.target; }
  /// Whether `compile` finds what it needs, say NVRTC.
  virtual Result<void> can_compile() = 0;
  virtual Result<CompiledKernel> compile(const CompileInput& input) = 0;
  /// What code for this device may count on besides the target's name and the sources of tlxjit: the processor with all
  /// its features, and how what it calls was built.
  virtual std::string runs_on() const { return {}; }
  /// Which compiler it is: the build-ids of the libraries that make code, none of which is loaded for it. An error:
  /// that cannot be told, or there is none, so that no image may be kept.
  virtual Result<std::string> compiler() = 0;
  /// The kernel of an image that a device of equal `runs_on` gave for an equal module: no compiler is loaded or run.
  /// Sizes are checked, code is not: images are executed. ErrorCode::bad_content: the bytes are of no use to anybody;
  /// any other error: this process or device cannot load them.
  virtual Result<CompiledKernel> load(const CompileInput& input, std::span<const char> image) = 0;

  virtual Result<void*> allocate(size_t bytes) = 0;
  virtual void release(void* memory) = 0;
  /// Copies and fills wait for all earlier work of the device, and are done when they return.
  virtual Result<void> upload(void* to, const void* from, size_t bytes) = 0;
  virtual Result<void> download(void* to, const void* from, size_t bytes) = 0;
  virtual Result<void> fill(void* to, uint8_t byte, size_t bytes) = 0;

  /// Whether work on the stream is captured into a graph now.
  virtual bool capturing(void*) { return false; }
  /// Kernels that only graphs have.
  virtual size_t captured_alone() { return 0; }
  /// No graph that was captured of the device's kernels is replayed any more.
  virtual void release_captured() {}
  virtual Result<void*> create_stream() = 0;
  virtual void destroy_stream(void* stream) = 0;
  virtual Result<void> synchronize(void* stream) = 0;
  virtual Result<void> synchronize_all() = 0;

 protected:
  DeviceFacts facts_;
};

/// The error of a call of a Device that was moved from.
Error no_device(Stage stage);

/// The devices of one back end. Thread safe.
class BackendLibrary {
 public:
  virtual ~BackendLibrary() = default;
  /// Names of the devices that are present, best first. An error says why none can be had.
  virtual Result<std::vector<std::string>> list() = 0;
  /// Null when the name is none of this back end's.
  virtual Result<std::shared_ptr<DeviceBackend>> open(std::string_view name) = 0;
  /// How its device names look, for messages.
  virtual std::string_view names() const = 0;
};

}  // namespace runtime
TLXJIT_NAMESPACE_END
