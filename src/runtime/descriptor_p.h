// src/runtime/descriptor_p.h — a file descriptor that is closed at the end, and what a failed call becomes.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <unistd.h>

#include <cerrno>
#include <string>
#include <system_error>
#include <utility>

#include "src/runtime/guard_p.h"

TLXJIT_NAMESPACE_BEGIN
namespace runtime {

class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() { reset(); }
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    if (this != &other) {
      reset();
      fd_ = std::exchange(other.fd_, -1);
    }
    return *this;
  }

  explicit operator bool() const { return fd_ >= 0; }
  int get() const { return fd_; }
  /// The errno of closing it, which may be that of an earlier write, or 0.
  int close() { return ::close(std::exchange(fd_, -1)) == 0 ? 0 : errno; }

 private:
  void reset() {
    const int kept = errno;
    if (fd_ >= 0) ::close(fd_);
    errno = kept;
  }
  int fd_ = -1;
};

/// Calls again what a signal broke off.
template <class Call>
auto again(Call call) {
  auto result = call();
  while (result < 0 && errno == EINTR) result = call();
  return result;
}

/// The Error of a call that has just set errno: `openat /a/b: Permission denied`.
inline Error disk_error(const char* call, const std::string& path) {
  const int number = errno;
  return error_of(ErrorKind::environment, Stage::cache, ErrorCode::disk_failed,
                  std::string(call) + " " + path + ": " + std::generic_category().message(number));
}

}  // namespace runtime
TLXJIT_NAMESPACE_END
