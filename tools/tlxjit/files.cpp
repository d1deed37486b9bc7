// tools/tlxjit/files.cpp — reads and writes of whole files.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tools/tlxjit/files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "src/runtime/file_io_p.h"
#include "src/runtime/guard_p.h"
#include "tools/tlxjit/report.h"

namespace tlxjit::cli {

using runtime::Descriptor;
using runtime::write_bytes;

namespace {

std::string folder_of(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
}

/// The file that a chain of links ends at; itself where it is none or leads nowhere.
std::string end_of_links(const std::string& path) {
  char* real = realpath(path.c_str(), nullptr);
  if (!real) return path;
  std::string target = real;
  std::free(real);
  return target;
}

}  // namespace

Error file_error(std::string_view what, const std::string& path, int number) {
  return runtime::error_of(ErrorKind::environment, Stage::load, ErrorCode::disk_failed,
                           fmt::format("{} {}: {}", what, path, std::strerror(number)));
}

Result<std::string> read_file(const std::string& path, uint64_t most) {
  const bool standard = path == "-";
  const std::string name = standard ? "standard input" : path;
  const Descriptor file(standard ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3) : open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat status;
  if (file.get() < 0 || fstat(file.get(), &status) != 0) return file_error("cannot open", name, errno);
  if (S_ISDIR(status.st_mode)) return file_error("cannot read", name, EISDIR);
  const auto too_long = [&] {
    return runtime::error_of(ErrorKind::user, Stage::load, ErrorCode::bad_argument,
                             fmt::format("{} has more than the {} that are read", name, bytes_text(most)));
  };
  if (S_ISREG(status.st_mode) && static_cast<uint64_t>(status.st_size) > most) return too_long();

  std::string bytes;
  constexpr size_t piece = size_t{1} << 20;
  while (true) {
    const size_t before = bytes.size();
    bytes.resize(before + piece);
    ssize_t n;
    do n = read(file.get(), bytes.data() + before, piece);
    while (n < 0 && errno == EINTR);
    if (n < 0) return file_error("cannot read", name, errno);
    bytes.resize(before + static_cast<size_t>(n));
    if (n == 0) return bytes;
    if (bytes.size() > most) return too_long();
  }
}

Result<void> write_file(const std::string& path, std::span<const char> bytes) {
  const std::string target = end_of_links(path);
  struct stat status;
  if (stat(target.c_str(), &status) == 0 && !S_ISREG(status.st_mode)) {
    Descriptor file(open(target.c_str(), O_WRONLY | O_CLOEXEC));
    if (file.get() < 0) return file_error("cannot write", path, errno);
    if (const int number = write_bytes(file.get(), bytes)) return file_error("cannot write", path, number);
    if (const int number = file.close()) return file_error("cannot write", path, number);
    return {};
  }
  // As open would make it: mkstemp gives 0600.
  const mode_t mask = umask(0);
  umask(mask);
  std::string temporary = folder_of(target) + "/.tlxjit-XXXXXX";
  Descriptor file(mkostemp(temporary.data(), O_CLOEXEC));
  if (file.get() < 0) return file_error("cannot write", path, errno);
  int number = write_bytes(file.get(), bytes);
  if (!number && fchmod(file.get(), 0666 & ~mask) != 0) number = errno;
  if (const int closed = file.close(); !number) number = closed;
  if (!number && rename(temporary.c_str(), target.c_str()) != 0) number = errno;
  if (!number) return {};
  unlink(temporary.c_str());
  return file_error("cannot write", path, number);
}

}  // namespace tlxjit::cli
