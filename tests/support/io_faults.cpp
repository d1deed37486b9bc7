// tests/support/io_faults.cpp — the calls, in place of the C library's in programs that are linked with this.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tests/support/io_faults.h"

#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdarg>

namespace tlxjit::io_faults {

namespace {

struct State {
  bool on = false;
  int failing = -1;
  int error = 0;    // 0: the process ends
  std::string all;  // the name of calls that all fail
  std::vector<std::string> calls;
};
thread_local State state;

/// Whether this call is to fail.
bool fails(const char* name) {
  if (!state.on) return false;
  const int number = static_cast<int>(state.calls.size());
  state.on = false;  // what the list needs is not counted
  state.calls.emplace_back(name);
  state.on = true;
  if (number != state.failing && state.all != name) return false;
  if (state.error == 0) ::kill(getpid(), SIGKILL);
  errno = state.error;
  return true;
}

template <class Function>
Function* next(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

}  // namespace

void fail(int number, int error) { state = {true, number, error, {}, {}}; }
void fail_all(const std::string& name, int error) { state = {true, -1, error, name, {}}; }
void kill(int number) { fail(number, 0); }
void count() { fail(-1, 0); }
std::vector<std::string> stop() {
  state.on = false;
  return std::move(state.calls);
}

}  // namespace tlxjit::io_faults

using tlxjit::io_faults::fails;
using tlxjit::io_faults::next;

extern "C" {

#define TLXJIT_FAULT(type, name, parameters, arguments, failure) \
  type name parameters {                                         \
    static auto* const real = next<type parameters>(#name);      \
    return fails(#name) ? failure : real arguments;              \
  }

TLXJIT_FAULT(int, fstat, (int fd, struct stat* facts), (fd, facts), -1)
TLXJIT_FAULT(int, fstatat, (int fd, const char* name, struct stat* facts, int flags), (fd, name, facts, flags), -1)
TLXJIT_FAULT(int, mkdirat, (int fd, const char* name, mode_t mode), (fd, name, mode), -1)
TLXJIT_FAULT(ssize_t, readlinkat, (int fd, const char* name, char* to, size_t size), (fd, name, to, size), -1)
TLXJIT_FAULT(ssize_t, pread, (int fd, void* to, size_t size, off_t at), (fd, to, size, at), -1)
TLXJIT_FAULT(ssize_t, write, (int fd, const void* from, size_t size), (fd, from, size), -1)
TLXJIT_FAULT(int, fsync, (int fd), (fd), -1)
TLXJIT_FAULT(int, linkat, (int a, const char* from, int b, const char* to, int flags), (a, from, b, to, flags), -1)
TLXJIT_FAULT(int, renameat, (int a, const char* from, int b, const char* to), (a, from, b, to), -1)
TLXJIT_FAULT(int, unlinkat, (int fd, const char* name, int flags), (fd, name, flags), -1)
TLXJIT_FAULT(int, futimens, (int fd, const timespec* times), (fd, times), -1)
TLXJIT_FAULT(int, flock, (int fd, int operation), (fd, operation), -1)
TLXJIT_FAULT(ssize_t, getrandom, (void* to, size_t size, unsigned flags), (to, size, flags), -1)
TLXJIT_FAULT(DIR*, fdopendir, (int fd), (fd), nullptr)
TLXJIT_FAULT(dirent*, readdir, (DIR * names), (names), nullptr)

int openat(int fd, const char* name, int flags, ...) {
  static auto* const real = next<int(int, const char*, int, ...)>("openat");
  va_list list;
  va_start(list, flags);
  const mode_t mode = flags & O_CREAT ? va_arg(list, mode_t) : 0;
  va_end(list);
  return fails("openat") ? -1 : real(fd, name, flags, mode);
}

int fcntl(int fd, int command, ...) {
  static auto* const real = next<int(int, int, ...)>("fcntl");
  va_list list;
  va_start(list, command);
  void* const argument = va_arg(list, void*);
  va_end(list);
  return fails("fcntl") ? -1 : real(fd, command, argument);
}

}  // extern "C"
