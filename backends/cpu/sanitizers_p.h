// backends/cpu/sanitizers_p.h — whether this build of the plug-in has a sanitizer, and what its code tells it.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstddef>
#include <cstdint>

#include "tlxjit/core/export.h"

#ifdef __has_feature
#define TLXJIT_HAS_FEATURE(x) __has_feature(x)
#else
#define TLXJIT_HAS_FEATURE(x) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || TLXJIT_HAS_FEATURE(address_sanitizer)
#define TLXJIT_ASAN 1
#include <sanitizer/asan_interface.h>
#else
#define TLXJIT_ASAN 0
#endif
#if defined(__SANITIZE_THREAD__) || TLXJIT_HAS_FEATURE(thread_sanitizer)
#define TLXJIT_TSAN 1
#include <sanitizer/tsan_interface.h>
#include <sys/mman.h>
/// On functions that touch what fibers and their scheduler share: switches order nothing for ThreadSanitizer, so that
/// it sees the races that the kernel's own barriers leave.
#define TLXJIT_UNSEEN_BY_TSAN __attribute__((no_sanitize("thread")))
#else
#define TLXJIT_TSAN 0
#define TLXJIT_UNSEEN_BY_TSAN
#endif
TLXJIT_NAMESPACE_BEGIN
namespace cpu {

inline constexpr bool asan = TLXJIT_ASAN, tsan = TLXJIT_TSAN;
/// Bytes that AddressSanitizer watches behind every buffer and tile of generated code.
inline constexpr int64_t red_zone = asan ? 128 : 0;
/// Fibers that a launch may have at once. ThreadSanitizer keeps the state of a thread for each.
inline constexpr size_t most_fibers = tsan ? 512 : 4096;

/// What the present thread or fiber did so far comes before what follows an `acquired` of the same object, which is
/// no mutex.
inline void released([[maybe_unused]] const void* object) {
#if TLXJIT_TSAN
  __tsan_release(const_cast<void*>(object));
#endif
}
inline void acquired([[maybe_unused]] const void* object) {
#if TLXJIT_TSAN
  __tsan_acquire(const_cast<void*>(object));
#endif
}
/// What was released to the object is no longer there to be acquired.
inline void forget_releases([[maybe_unused]] const void* object) {
#if TLXJIT_TSAN
  __tsan_mutex_destroy(const_cast<void*>(object), 0);
#endif
}
inline void poison([[maybe_unused]] const void* at, [[maybe_unused]] size_t bytes) {
#if TLXJIT_ASAN
  __asan_poison_memory_region(at, bytes);
#endif
}
inline void unpoison([[maybe_unused]] const void* at, [[maybe_unused]] size_t bytes) {
#if TLXJIT_ASAN
  __asan_unpoison_memory_region(at, bytes);
#endif
}

/// What happened to these whole pages is no race with what will. They lie in memory of mmap and lose their content.
inline void forget_accesses([[maybe_unused]] void* at, [[maybe_unused]] size_t bytes) {
#if TLXJIT_TSAN
  // ThreadSanitizer takes a fresh mapping for a write of the present thread.
  if (bytes) mmap(at, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
#endif
}

}  // namespace cpu
TLXJIT_NAMESPACE_END
