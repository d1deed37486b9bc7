// tests/unit/runtime/temporary_directory.h — a directory that goes with the test.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <sys/statvfs.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string>

namespace tlxjit::runtime_test {

/// A disk in memory, if there is one with room: where a test makes thousands of files.
inline std::string memory_disk() {
  struct statvfs facts;
  const bool fits = access("/dev/shm", W_OK) == 0 && statvfs("/dev/shm", &facts) == 0 &&
                    uint64_t{facts.f_bavail} * facts.f_frsize > uint64_t{1} << 30;
  return fits ? "/dev/shm" : std::filesystem::temp_directory_path().string();
}

class TemporaryDirectory {
 public:
  explicit TemporaryDirectory(const std::string& where = std::filesystem::temp_directory_path())
      : path_(where + "/tlxjit-XXXXXX") {
    if (!mkdtemp(path_.data())) std::abort();
  }
  ~TemporaryDirectory() {
    if (maker_ != getpid()) return;  // a forked child
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;

  const std::string& path() const { return path_; }
  std::string operator/(const std::string& below) const { return path_ + "/" + below; }

 private:
  std::string path_;
  pid_t maker_ = getpid();
};

}  // namespace tlxjit::runtime_test
