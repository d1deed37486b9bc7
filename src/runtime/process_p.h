// src/runtime/process_p.h — telling a forked child from its parent without a system call.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <thread>

#include "tlxjit/core/export.h"

TLXJIT_NAMESPACE_BEGIN
namespace runtime {

/// Counts the forks between the process that loaded the library and this one: a page that the kernel wipes in a child
/// (MADV_WIPEONFORK, Linux 4.14) says that it is new. Where there is no such page, the process's id does.
class ProcessNumber {
 public:
  static int64_t get() {
    static ProcessNumber* const number = new ProcessNumber;  // outlives all that asks
    return number->now();
  }

 private:
  enum State : uint32_t { wiped = 0, counting = 1, counted = 2 };

  ProcessNumber() {
    const auto bytes = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    void* page = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED) return;
    if (madvise(page, bytes, MADV_WIPEONFORK) == 0)
      state_ = new (page) std::atomic<uint32_t>(counted);
    else
      munmap(page, bytes);
  }
  int64_t now() {
    if (!state_) return getpid();
    while (state_->load(std::memory_order_acquire) != counted) {
      uint32_t expected = wiped;
      if (state_->compare_exchange_strong(expected, counting)) {
        forks_.fetch_add(1, std::memory_order_relaxed);
        state_->store(counted, std::memory_order_release);
      } else {
        std::this_thread::yield();  // another thread counts
      }
    }
    return forks_.load(std::memory_order_relaxed);
  }

  std::atomic<uint32_t>* state_ = nullptr;
  std::atomic<int64_t> forks_{0};
};

}  // namespace runtime
TLXJIT_NAMESPACE_END
