// include/tlxjit/runtime/device.h — devices, their streams and their memory.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "tlxjit/core/result.h"
#include "tlxjit/runtime/argument.h"

TLXJIT_NAMESPACE_BEGIN

namespace runtime {
class DeviceBackend;
class JitState;
}  // namespace runtime

/// A queue of launches on a device. The default one is the device's default stream. A stream of the caller,
/// say a cudaStream_t of PyTorch, is used as it is: `Stream(handle)`. On the CPU a launch is over when it returns.
/// One that was moved from is the default one.
class TLXJIT_API Stream {
 public:
  Stream() = default;
  explicit Stream(void* handle) : handle_(handle) {}
  Stream(const Stream&) = default;
  Stream& operator=(const Stream&) = default;
  Stream(Stream&& other) noexcept
      : handle_(std::exchange(other.handle_, nullptr)), owner_(std::exchange(other.owner_, nullptr)) {}
  Stream& operator=(Stream&& other) noexcept {
    Stream moved(std::move(other));
    std::swap(handle_, moved.handle_);
    std::swap(owner_, moved.owner_);
    return *this;
  }
  ~Stream() = default;
  void* handle() const { return handle_; }

 private:
  friend class Device;
  void* handle_ = nullptr;
  std::shared_ptr<const void> owner_;
};

/// Memory of a device, freed with the last copy of the handle. Copies to and from it wait for all work of the
/// device: meant for tests, samples and set-up. One that was made without a device, or moved from, has 0 bytes.
class TLXJIT_API Buffer {
 public:
  Buffer() = default;
  Buffer(const Buffer&) = default;
  Buffer& operator=(const Buffer&) = default;
  Buffer(Buffer&& other) noexcept
      : device_(std::move(other.device_)),
        memory_(std::move(other.memory_)),
        data_(std::exchange(other.data_, nullptr)),
        bytes_(std::exchange(other.bytes_, 0)) {}
  Buffer& operator=(Buffer&& other) noexcept {
    Buffer moved(std::move(other));
    std::swap(device_, moved.device_);
    std::swap(memory_, moved.memory_);
    std::swap(data_, moved.data_);
    std::swap(bytes_, moved.bytes_);
    return *this;
  }
  ~Buffer() = default;

  /// Its address on the device: of the host's memory on the CPU.
  void* data() const { return data_; }
  size_t size() const { return bytes_; }  ///< in bytes

  /// Copies host memory to `offset` bytes from the start; what does not fit is an error, as is a null pointer with
  /// bytes to copy.
  Result<void> upload(const void* from, size_t bytes, size_t offset = 0) const;
  Result<void> download(void* to, size_t bytes, size_t offset = 0) const;
  /// Sets every byte.
  Result<void> fill(uint8_t byte) const;
  template <class T>
  Result<void> upload(const std::vector<T>& from) const {
    static_assert(std::is_trivially_copyable_v<T>);
    return upload(from.data(), from.size() * sizeof(T));
  }
  template <class T>
  Result<void> download(std::vector<T>& to) const {
    static_assert(std::is_trivially_copyable_v<T>);
    return download(to.data(), to.size() * sizeof(T));
  }

  /// The buffer from `offset` bytes on as a packed tensor; launch refuses one that is larger than the buffer, and one
  /// of another device's buffer. Behind its end there is room for nothing.
  template <class T>
  TensorArg tensor(std::initializer_list<int64_t> dims, size_t offset = 0) const {
    const size_t begin = offset < bytes_ ? offset : bytes_;
    TensorArg t = tlxjit::tensor<T>(static_cast<const char*>(data_) + begin, dims);
    t.capacity = static_cast<int64_t>(bytes_ - begin);
    t.device = device_name();
    return t;
  }

 private:
  friend class Device;
  std::array<char, 16> device_name() const;
  std::shared_ptr<runtime::DeviceBackend> device_;
  std::shared_ptr<void> memory_;
  void* data_ = nullptr;
  size_t bytes_ = 0;
};

/// Something that runs kernels, or compiles for it. A handle; it stays valid when the engine ends. One that was moved
/// from is none: it has no name, and its calls give errors.
class TLXJIT_API Device {
 public:
  static constexpr const char* cpu = "cpu";  ///< name of the device that is always meant to be there

  Device() = default;  ///< none, as one that was moved from

  const std::string& name() const;         ///< `cpu`, `cuda:0`; `sm_90a` for one that only compiles
  const std::string& target() const;       ///< `cpu`, `sm_90a`: what kernels are lowered to
  const std::string& description() const;  ///< for people
  int sms() const;                         ///< multiprocessors, or threads of the CPU
  bool can_launch() const;                 ///< false: compiles only

  /// Memory that holds anything, at a multiple of 256 bytes; 0 bytes are a buffer that holds nothing. Out of memory is
  /// ErrorCode::out_of_resources.
  Result<Buffer> allocate(size_t bytes) const;
  /// A buffer with a copy of `from`.
  template <class T>
  Result<Buffer> upload(const std::vector<T>& from) const {
    auto buffer = allocate(from.size() * sizeof(T));
    if (buffer) TLXJIT_TRY(buffer->upload(from));
    return buffer;
  }
  /// A stream of its own, which ends with the last copy of the handle.
  Result<Stream> stream() const;
  /// Waits for the stream, or for all work of the device, and gives the error of what failed there.
  Result<void> synchronize(const Stream& stream) const;
  Result<void> synchronize() const;
  /// Says that no graph with launches of this engine on this device is replayed any more. Code and workspaces that
  /// stayed loaded for graphs (Executable::launch) are unloaded, once nobody else has them: this waits for the device.
  Result<void> release_captured() const;

 private:
  friend class Engine;
  friend class Executable;
  friend class JitFunction;
  friend class runtime::JitState;
  explicit Device(std::shared_ptr<runtime::DeviceBackend> backend);
  std::shared_ptr<runtime::DeviceBackend> backend_;
};

TLXJIT_NAMESPACE_END
