// backends/cpu/llvm_guard.cpp — keeps LLVM from ending the process: its fatal errors jump back to the entry.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/cpu/llvm_guard_p.h"

#include <llvm/Support/ErrorHandling.h>

#include <csetjmp>
#include <cstring>
#include <mutex>
#include <new>

TLXJIT_NAMESPACE_BEGIN
namespace cpu {
namespace {

struct Entry {
  jmp_buf back;
  bool no_memory = false;
  char message[384];
};
thread_local Entry* entry = nullptr;

void fatal(void*, const char* reason, bool) {
  if (!entry) return;  // not ours: LLVM goes on to its own end
  std::strncpy(entry->message, reason ? reason : "", sizeof entry->message - 1);
  std::longjmp(entry->back, 1);
}

void no_memory(void* none, const char* reason, bool diagnose) {
  if (entry) entry->no_memory = true;
  fatal(none, reason, diagnose);
}

// No object with a destructor lives in this frame, which the jump crosses.
bool call(void (*fn)(void*), void* data, Entry& here) {
  if (setjmp(here.back) != 0) return false;
  fn(data);
  return true;
}

}  // namespace

bool guarded(void (*fn)(void*), void* data, std::string& message) {
  static std::once_flag once;
  std::call_once(once, [] {
    llvm::install_fatal_error_handler(fatal, nullptr);
    llvm::install_bad_alloc_error_handler(no_memory, nullptr);
  });
  Entry here;
  here.message[0] = here.message[sizeof here.message - 1] = '\0';
  // Restored also when fn throws: a later fatal error would jump into a frame that is gone.
  struct Restore {
    Entry* outer;
    ~Restore() { entry = outer; }
  } restore{entry};
  entry = &here;
  const bool whole = call(fn, data, here);
  if (here.no_memory) throw std::bad_alloc();
  if (!whole) message = here.message;
  return whole;
}

}  // namespace cpu
TLXJIT_NAMESPACE_END
