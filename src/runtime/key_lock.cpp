// src/runtime/key_lock.cpp — locks of open file descriptions, asked for again and again.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "src/runtime/key_lock_p.h"

#include <fcntl.h>

#include <algorithm>
#include <charconv>
#include <thread>

TLXJIT_NAMESPACE_BEGIN
namespace runtime {

namespace {

/// Locks of an open file description, not of the process: engines of one process stand in each other's way as well, and
/// no one's close takes them away.
int set_lock(const Descriptor& file, int64_t offset, short type) {
  struct flock lock{};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  lock.l_start = offset;
  lock.l_len = 1;
  return again([&] { return fcntl(file.get(), F_OFD_SETLK, &lock); });
}

}  // namespace

KeyLock::KeyLock(const DirectoryStore& directory, std::string_view key, const Deadline& own, const Deadline& of_call) {
  std::from_chars(key.data(), key.data() + 15, offset_, 16);
  auto folder = directory.open(true);
  if (!folder || !*folder) return;
  auto opened = open_trusted_file(**folder, "lock", Trust::user, O_RDWR | O_CREAT, directory.path() + "/lock");
  if (!opened || !*opened) return;
  auto pause = std::chrono::milliseconds(1);
  while (set_lock((*opened)->file, offset_, F_WRLCK) != 0) {
    if (errno != EAGAIN && errno != EACCES) return;
    waited_ = true;
    if (own.passed() || of_call.passed()) return;
    std::this_thread::sleep_for(pause);
    pause = std::min(pause * 2, std::chrono::milliseconds(20));
  }
  file_ = std::move((*opened)->file);
}

void KeyLock::release() {
  // By name: a child that was forked meanwhile has the description too, and would hold on to it.
  if (file_) set_lock(file_, offset_, F_UNLCK);
  file_ = {};
}

}  // namespace runtime
TLXJIT_NAMESPACE_END
