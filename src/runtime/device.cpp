// src/runtime/device.cpp — handles of devices, streams and memory.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tlxjit/runtime/device.h"

#include "src/runtime/backend_p.h"
#include "src/runtime/guard_p.h"

TLXJIT_NAMESPACE_BEGIN

using runtime::error_of;
using runtime::guarded;

Device::Device(std::shared_ptr<runtime::DeviceBackend> backend) : backend_(std::move(backend)) {}

const std::string& Device::name() const { return backend_->facts().name; }
const std::string& Device::target() const { return backend_->facts().target; }
const std::string& Device::description() const { return backend_->facts().description; }
int Device::sms() const { return backend_->facts().sms; }
bool Device::can_launch() const { return backend_->facts().can_launch; }

Result<Buffer> Device::allocate(size_t bytes) const {
  return guarded(Stage::run, [&]() -> Result<Buffer> {
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
    auto handle = backend_->create_stream();
    if (!handle) return handle.error();
    Stream stream(*handle);
    if (*handle)
      stream.owner_ = {*handle, [backend = backend_](const void* s) { backend->destroy_stream(const_cast<void*>(s)); }};
    return stream;
  });
}

Result<void> Device::synchronize(const Stream& stream) const {
  return guarded(Stage::run, [&] { return backend_->synchronize(stream.handle()); });
}

Result<void> Device::synchronize() const {
  return guarded(Stage::run, [&] { return backend_->synchronize_all(); });
}

namespace {

Result<void> in_range(size_t bytes, size_t offset, size_t size) {
  if (offset <= size && bytes <= size - offset) return {};
  return error_of(ErrorKind::user, Stage::run, ErrorCode::bad_argument,
                  "a copy of " + std::to_string(bytes) + " bytes at " + std::to_string(offset) +
                      " does not fit a buffer of " + std::to_string(size) + " bytes");
}

}  // namespace

Result<void> Buffer::upload(const void* from, size_t bytes, size_t offset) const {
  return guarded(Stage::run, [&]() -> Result<void> {
    TLXJIT_TRY(in_range(bytes, offset, bytes_));
    if (bytes == 0) return {};
    return device_->upload(static_cast<char*>(data_) + offset, from, bytes);
  });
}

Result<void> Buffer::download(void* to, size_t bytes, size_t offset) const {
  return guarded(Stage::run, [&]() -> Result<void> {
    TLXJIT_TRY(in_range(bytes, offset, bytes_));
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
