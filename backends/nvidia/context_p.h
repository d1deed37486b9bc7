// backends/nvidia/context_p.h — an open device: its primary context, facts, memory, streams, events.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <memory>
#include <span>
#include <string>
#include <utility>

#include "backends/nvidia/driver_p.h"

TLXJIT_NAMESPACE_BEGIN
namespace nvidia {

struct DeviceInfo {
  int ordinal = 0;
  std::string name;
  std::string pci;  ///< 0000:1b:00.0
  int major = 0, minor = 0;
  int sm_count = 0;
  int shared_per_block = 0;  ///< bytes of dynamic shared memory that a block may ask for
  int shared_per_sm = 0;
  int l2_bytes = 0;
  size_t memory_bytes = 0;
  int driver_version = 0;
  bool clusters = false, tensor_maps = false;

  /// `sm_90a`, the target whose code this device runs; "" if tlxjit has none for it.
  std::string target() const;
};

/// An open device. It shares the primary context with the CUDA runtime, so pointers and streams of
/// PyTorch and others are valid in it. Keep it alive as long as anything made from it.
class Context {
 public:
  static Result<std::shared_ptr<Context>> open(std::shared_ptr<Driver> driver, int ordinal = 0);
  static Result<int> device_count(const Driver& driver);
  ~Context();
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  const Driver& driver() const { return *driver_; }
  const DeviceInfo& info() const { return info_; }
  CuContext handle() const { return handle_; }

  Result<void> synchronize() const;
  /// Free and total bytes of device memory now.
  Result<std::pair<size_t, size_t>> memory() const;

 private:
  Context() = default;

  std::shared_ptr<Driver> driver_;
  DeviceInfo info_;
  CuDevice device_ = 0;
  CuContext handle_ = nullptr;
};

/// Makes a context current for a scope. The caller's own comes back at the end, and where ours is
/// current already, as in a thread of PyTorch, nothing is pushed.
class CurrentContext {
 public:
  explicit CurrentContext(const Context& context, Stage stage = Stage::run);
  ~CurrentContext();
  CurrentContext(const CurrentContext&) = delete;
  CurrentContext& operator=(const CurrentContext&) = delete;
  /// Whether the context is current.
  Result<void> status() const {
    if (!usable_) return Driver::forked(stage_);
    return driver_.check(result_, "cuCtxPushCurrent", stage_);
  }
  /// false in a forked child, where the driver must not be called: what it holds there is the parent's.
  bool usable() const { return usable_; }

 private:
  const Driver& driver_;
  Stage stage_;
  bool usable_;
  CuResult result_ = cu_success;
  bool pushed_ = false;
};

/// While it lives, this thread's calls leave captures alone that other threads have begun: by default loading,
/// unloading, allocating, freeing and waiting for the device would spoil them.
class BesideCaptures {
 public:
  explicit BesideCaptures(const Driver& driver) : driver_(driver) { exchange(); }
  ~BesideCaptures() { exchange(); }
  BesideCaptures(const BesideCaptures&) = delete;
  BesideCaptures& operator=(const BesideCaptures&) = delete;

 private:
  void exchange() {
    if (driver_.cuThreadExchangeStreamCaptureMode && driver_.of_this_process())
      driver_.cuThreadExchangeStreamCaptureMode(&mode_);
  }
  const Driver& driver_;
  int mode_ = cu_capture_mode_relaxed;
};

/// Owns one driver handle; the deleter runs with the device's context current.
template <class Handle, CuResult (*Driver::*destroy)(Handle)>
class Owned {
 public:
  Owned() = default;
  Owned(std::shared_ptr<const Context> context, Handle handle) : context_(std::move(context)), handle_(handle) {}
  Owned(Owned&& other) noexcept
      : context_(std::move(other.context_)), handle_(std::exchange(other.handle_, Handle{})) {}
  Owned& operator=(Owned&& other) noexcept {
    std::swap(context_, other.context_);
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Owned() {
    if (!handle_) return;
    const CurrentContext current(*context_);
    if (!current.usable()) return;
    const BesideCaptures beside(context_->driver());
    (context_->driver().*destroy)(handle_);
  }
  Handle get() const { return handle_; }
  explicit operator bool() const { return handle_ != Handle{}; }
  const Context& context() const { return *context_; }

 private:
  std::shared_ptr<const Context> context_;
  Handle handle_{};
};

using Stream = Owned<CuStream, &Driver::cuStreamDestroy>;
using Event = Owned<CuEvent, &Driver::cuEventDestroy>;

/// Device memory of a fixed size.
class DeviceBuffer {
 public:
  static Result<DeviceBuffer> allocate(std::shared_ptr<const Context> context, size_t bytes);
  CuDevicePtr address() const { return memory_.get(); }
  size_t size() const { return bytes_; }

  Result<void> upload(std::span<const std::byte> from, size_t offset = 0, CuStream stream = nullptr) const;
  Result<void> download(std::span<std::byte> to, size_t offset = 0, CuStream stream = nullptr) const;
  Result<void> fill(unsigned char byte, CuStream stream = nullptr) const;

 private:
  Result<void> in_range(size_t offset, size_t bytes) const;
  Owned<CuDevicePtr, &Driver::cuMemFree> memory_;
  size_t bytes_ = 0;
};

/// What DeviceBuffer and Stream own; for those whose handles go elsewhere.
Result<CuDevicePtr> allocate_bytes(const Context& context, size_t bytes);
Result<CuStream> create_handle(const Context& context);
Result<Stream> create_stream(std::shared_ptr<const Context> context);
Result<Event> create_event(std::shared_ptr<const Context> context, bool timing = true);
Result<void> record(const Event& event, CuStream stream);
Result<void> synchronize(const Context& context, CuStream stream);
/// Waits at most `limit_ms`, so that a test ends when a kernel hangs. False: still running.
Result<bool> synchronize_for(const Context& context, CuStream stream, double limit_ms);
/// Milliseconds between two recorded events; waits for the second.
Result<float> elapsed_ms(const Event& begin, const Event& end);
/// Whether the stream is being captured into a graph, when loading a module is not allowed.
Result<bool> is_capturing(const Context& context, CuStream stream);

}  // namespace nvidia
TLXJIT_NAMESPACE_END
