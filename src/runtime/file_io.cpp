// src/runtime/file_io.cpp — whole reads and writes.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "src/runtime/file_io_p.h"

#include <sys/random.h>
#include <sys/resource.h>

#include "src/runtime/hex_p.h"

TLXJIT_NAMESPACE_BEGIN
namespace runtime {

Result<std::vector<char>> read_at(const Descriptor& file, uint64_t offset, uint64_t size, const std::string& path) {
  std::vector<char> bytes(size);
  size_t read = 0;
  while (read < size) {
    const ssize_t n =
        again([&] { return pread(file.get(), bytes.data() + read, size - read, static_cast<off_t>(offset + read)); });
    if (n < 0) return disk_error("read", path);
    if (n == 0) break;
    read += static_cast<size_t>(n);
  }
  bytes.resize(read);
  return bytes;
}

int write_bytes(int descriptor, std::span<const char> bytes) {
  while (!bytes.empty()) {
    const ssize_t n = again([&] { return write(descriptor, bytes.data(), bytes.size()); });
    if (n <= 0) return n < 0 ? errno : EIO;
    bytes = bytes.subspan(static_cast<size_t>(n));
  }
  return 0;
}

Result<void> write_all(const Descriptor& file, std::span<const char> bytes, const std::string& path) {
  // Past this limit the system ends the process with SIGXFSZ.
  rlimit limit{};
  if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY && bytes.size() > limit.rlim_cur) {
    errno = EFBIG;
    return disk_error("write", path);
  }
  if (const int number = write_bytes(file.get(), bytes)) {
    errno = number;
    return disk_error("write", path);
  }
  if (again([&] { return fsync(file.get()); }) != 0) return disk_error("fsync", path);
  return {};
}

Result<std::string> random_text(const std::string& path) {
  char random[16];
  if (again([&] { return getrandom(random, sizeof random, 0); }) != sizeof random) return disk_error("getrandom", path);
  return hex(random);
}

}  // namespace runtime
TLXJIT_NAMESPACE_END
