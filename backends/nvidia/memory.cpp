// backends/nvidia/memory.cpp — device memory, streams and events.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fmt/format.h>

#include <chrono>
#include <thread>

#include "backends/nvidia/context_p.h"

TLXJIT_NAMESPACE_BEGIN
namespace nvidia {

Result<CuDevicePtr> allocate_bytes(const Context& context, size_t bytes) {
  const Driver& driver = context.driver();
  const CurrentContext current(context);
  TLXJIT_TRY(current.status());
  const BesideCaptures beside(driver);
  CuDevicePtr address = 0;
  // The driver refuses zero bytes, while an empty batch is an ordinary tensor.
  const CuResult result = driver.cuMemAlloc(&address, bytes ? bytes : 16);
  if (result != cu_success) {
    Error error = driver.failure(result, "cuMemAlloc", Stage::run);
    error.message += fmt::format(" ({} bytes wanted)", bytes);
    return error;
  }
  return address;
}

Result<DeviceBuffer> DeviceBuffer::allocate(std::shared_ptr<const Context> context, size_t bytes) {
  auto address = allocate_bytes(*context, bytes);
  if (!address) return address.error();
  DeviceBuffer buffer;
  buffer.memory_ = {std::move(context), *address};
  buffer.bytes_ = bytes;
  return buffer;
}

Result<void> DeviceBuffer::in_range(size_t offset, size_t bytes) const {
  if (offset <= bytes_ && bytes <= bytes_ - offset) return {};
  return Error{ErrorKind::user,
               Stage::run,
               ErrorCode::bad_argument,
               fmt::format("a copy of {} bytes at {} does not fit a buffer of {} bytes", bytes, offset, bytes_),
               {},
               {},
               {}};
}

Result<void> DeviceBuffer::upload(std::span<const std::byte> from, size_t offset, CuStream stream) const {
  TLXJIT_TRY(in_range(offset, from.size()));
  if (from.empty()) return {};
  const Driver& driver = memory_.context().driver();
  const CurrentContext current(memory_.context());
  TLXJIT_TRY(current.status());
  TLXJIT_TRY(driver.check(driver.cuMemcpyHtoDAsync(address() + offset, from.data(), from.size(), stream),
                          "cuMemcpyHtoDAsync"));
  return driver.check(driver.cuStreamSynchronize(stream), "cuStreamSynchronize");
}

Result<void> DeviceBuffer::download(std::span<std::byte> to, size_t offset, CuStream stream) const {
  TLXJIT_TRY(in_range(offset, to.size()));
  if (to.empty()) return {};
  const Driver& driver = memory_.context().driver();
  const CurrentContext current(memory_.context());
  TLXJIT_TRY(current.status());
  TLXJIT_TRY(
      driver.check(driver.cuMemcpyDtoHAsync(to.data(), address() + offset, to.size(), stream), "cuMemcpyDtoHAsync"));
  return driver.check(driver.cuStreamSynchronize(stream), "cuStreamSynchronize");
}

Result<void> DeviceBuffer::fill(unsigned char byte, CuStream stream) const {
  if (bytes_ == 0) return {};
  const Driver& driver = memory_.context().driver();
  const CurrentContext current(memory_.context());
  TLXJIT_TRY(current.status());
  return driver.check(driver.cuMemsetD8Async(address(), byte, bytes_, stream), "cuMemsetD8Async");
}

Result<CuStream> create_handle(const Context& context) {
  const Driver& driver = context.driver();
  const CurrentContext current(context);
  TLXJIT_TRY(current.status());
  const BesideCaptures beside(driver);
  CuStream handle = nullptr;
  TLXJIT_TRY(driver.check(driver.cuStreamCreate(&handle, cu_stream_non_blocking), "cuStreamCreate"));
  return handle;
}

Result<Stream> create_stream(std::shared_ptr<const Context> context) {
  auto handle = create_handle(*context);
  if (!handle) return handle.error();
  return Stream(std::move(context), *handle);
}

Result<Event> create_event(std::shared_ptr<const Context> context, bool timing) {
  const Driver& driver = context->driver();
  const CurrentContext current(*context);
  TLXJIT_TRY(current.status());
  CuEvent handle = nullptr;
  TLXJIT_TRY(driver.check(driver.cuEventCreate(&handle, timing ? cu_event_default : cu_event_disable_timing),
                          "cuEventCreate"));
  return Event(std::move(context), handle);
}

Result<void> record(const Event& event, CuStream stream) {
  const Driver& driver = event.context().driver();
  const CurrentContext current(event.context());
  TLXJIT_TRY(current.status());
  return driver.check(driver.cuEventRecord(event.get(), stream), "cuEventRecord");
}

Result<void> synchronize(const Context& context, CuStream stream) {
  const CurrentContext current(context);
  TLXJIT_TRY(current.status());
  return context.driver().check(context.driver().cuStreamSynchronize(stream), "cuStreamSynchronize");
}

Result<bool> synchronize_for(const Context& context, CuStream stream, double limit_ms) {
  using Clock = std::chrono::steady_clock;
  const Driver& driver = context.driver();
  const CurrentContext current(context);
  TLXJIT_TRY(current.status());
  const auto end = Clock::now() + std::chrono::duration<double, std::milli>(limit_ms);
  for (;;) {
    const CuResult result = driver.cuStreamQuery(stream);
    if (result == cu_success) return true;
    if (result != cu_not_ready) return driver.failure(result, "cuStreamQuery", Stage::run);
    if (Clock::now() >= end) return false;
    std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
}

Result<float> elapsed_ms(const Event& begin, const Event& end) {
  const Driver& driver = end.context().driver();
  const CurrentContext current(end.context());
  TLXJIT_TRY(current.status());
  TLXJIT_TRY(driver.check(driver.cuEventSynchronize(end.get()), "cuEventSynchronize"));
  float ms = 0;
  TLXJIT_TRY(driver.check(driver.cuEventElapsedTime(&ms, begin.get(), end.get()), "cuEventElapsedTime"));
  return ms;
}

Result<bool> is_capturing(const Context& context, CuStream stream) {
  const CurrentContext current(context);
  TLXJIT_TRY(current.status());
  int status = cu_capture_none;
  TLXJIT_TRY(context.driver().check(context.driver().cuStreamIsCapturing(stream, &status), "cuStreamIsCapturing",
                                    Stage::launch));
  return status != cu_capture_none;
}

}  // namespace nvidia
TLXJIT_NAMESPACE_END
