// tests/unit/runtime/restrictions.h — what a system may keep from a process: executable memory, uses of a disk.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <cerrno>
#include <cstddef>
#include <iterator>

#include "tests/unit/runtime/child.h"
#include "tests/unit/runtime/temporary_directory.h"

namespace tlxjit::runtime_test {

/// From here on the process may not make memory executable.
inline bool refuse_executable_memory() {
  const auto arg2 = static_cast<uint32_t>(offsetof(seccomp_data, args) + 2 * sizeof(uint64_t));
  sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mprotect, 1, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mmap, 0, 3),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, arg2),  // protection, of both
      BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, PROT_EXEC, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EACCES),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog program{static_cast<unsigned short>(std::size(filter)), filter};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

/// Runs `fn(directory, remount)` in a child with a small file system of its own, which `remount()` gives the flags;
/// `there` is false where the system lets nobody mount one.
template <class Fn>
::testing::AssertionResult on_disk(const char* options, unsigned long flags, bool& there, Fn fn) {
  const TemporaryDirectory place;
  there = true;
  const auto mounted = [&] {
    return unshare(CLONE_NEWNS) == 0 && mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
           mount("tlxjit", place.path().c_str(), "tmpfs", 0, options) == 0;
  };
  if (!in_child(mounted)) {
    there = false;
    return ::testing::AssertionSuccess();
  }
  return in_child([&] {
    if (!mounted()) return false;
    return fn(place.path(),
              [&] { return mount("tlxjit", place.path().c_str(), "tmpfs", MS_REMOUNT | flags, options) == 0; });
  });
}

}  // namespace tlxjit::runtime_test
