// src/runtime/device.cpp — handles of devices, streams and memory.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tlxjit/runtime/device.h"

#include "src/runtime/backend_p.h"
#include "src/runtime/guard_p.h"

TLXJIT_NAMESPACE_BEGIN

using runtime::error_of;
using runtime::guarded;

Error runtime::no_device(Stage stage) {
  return error_of(ErrorKind::user, stage, ErrorCode::bad_argument,
                  "the device is none: it was never opened, or it was moved from");
}

namespace {

const runtime::DeviceFacts& facts_of(const std::shared_ptr<runtime::DeviceBackend>& backend) {
  static const auto* none = new runtime::DeviceFacts{{}, {}, {}, 0, false};
  return backend ? backend->facts() : *none;
}

}  // namespace

Device::Device(std::shared_ptr<runtime::DeviceBackend> backend) : backend_(std::move(backend)) {}

const std::string& Device::name() const { return facts_of(backend_).name; }
const std::string& Device::target() const { return facts_of(backend_).target; }
const std::string& Device::description() const { return facts_of(backend_).description; }
int Device::sms() const { return facts_of(backend_).sms; }
bool Device::can_launch() const { return facts_of(backend_).can_launch; }

Result<Buffer> Device::allocate(size_t bytes) const {
  return guarded(Stage::run, [&]() -> Result<Buffer> {
    if (!backend_) return runtime::no_device(Stage::run);
    auto memory = backend_->allocate(bytes);
    if (!memory) return memory.error();
    Buffer buffer;
    buffer.device_ = backend_;
    buffer.data_ = *memory;
    buffer.bytes_ = bytes;
    buffer.memory_ = {*memory, [backend = backend_](void* m) { backend->release(m); }};
    return buffer;
  });
}

Result<Stream> Device::stream() const {
  return guarded(Stage::run, [&]() -> Result<Stream> {
    if (!backend_) return runtime::no_device(Stage::run);
    auto handle = backend_->create_stream();
    if (!handle) return handle.error();
    Stream stream(*handle);
    if (*handle)
      stream.owner_ = {*handle, [backend = backend_](const void* s) { backend->destroy_stream(const_cast<void*>(s)); }};
    return stream;
  });
}

Result<void> Device::synchronize(const Stream& stream) const {
  return guarded(Stage::run, [&]() -> Result<void> {
    return backend_ ? backend_->synchronize(stream.handle()) : runtime::no_device(Stage::run);
  });
}

Result<void> Device::synchronize() const {
  return guarded(Stage::run, [&]() -> Result<void> {
    return backend_ ? backend_->synchronize_all() : runtime::no_device(Stage::run);
  });
}

Result<void> Device::release_captured() const {
  return guarded(Stage::run, [&]() -> Result<void> {
    if (!backend_) return runtime::no_device(Stage::run);
    backend_->release_captured();
    return {};
  });
}

namespace {

Result<void> check_copy(const void* host, size_t bytes, size_t offset, size_t size) {
  if (offset <= size && bytes <= size - offset) {
    if (host || bytes == 0) return {};
    return error_of(ErrorKind::user, Stage::run, ErrorCode::bad_argument,
                    "a copy of " + std::to_string(bytes) + " bytes from or to a null pointer of the host");
  }
  return error_of(ErrorKind::user, Stage::run, ErrorCode::bad_argument,
                  "a copy of " + std::to_string(bytes) + " bytes at " + std::to_string(offset) +
                      " does not fit a buffer of " + std::to_string(size) + " bytes");
}

}  // namespace

std::array<char, 16> Buffer::device_name() const {
  return device_ ? runtime::device_mark(device_->facts().name) : std::array<char, 16>{};
}

Result<void> Buffer::upload(const void* from, size_t bytes, size_t offset) const {
  return guarded(Stage::run, [&]() -> Result<void> {
    TLXJIT_TRY(check_copy(from, bytes, offset, bytes_));
    if (bytes == 0) return {};
    return device_->upload(static_cast<char*>(data_) + offset, from, bytes);
  });
}

Result<void> Buffer::download(void* to, size_t bytes, size_t offset) const {
  return guarded(Stage::run, [&]() -> Result<void> {
    TLXJIT_TRY(check_copy(to, bytes, offset, bytes_));
    if (bytes == 0) return {};
    return device_->download(to, static_cast<char*>(data_) + offset, bytes);
  });
}

Result<void> Buffer::fill(uint8_t byte) const {
  return guarded(Stage::run, [&]() -> Result<void> {
    if (bytes_ == 0) return {};
    return device_->fill(data_, byte, bytes_);
  });
}

TLXJIT_NAMESPACE_END
