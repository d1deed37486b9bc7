// tests/unit/runtime/temporary_directory.h — a directory that goes with the test.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>

namespace tlxjit::runtime_test {

class TemporaryDirectory {
 public:
  TemporaryDirectory() : path_((std::filesystem::temp_directory_path() / "tlxjit-XXXXXX").string()) {
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
