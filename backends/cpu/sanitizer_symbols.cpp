// backends/cpu/sanitizer_symbols.cpp — the functions of the sanitizers' run time that instrumented code may call.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/cpu/instrument_p.h"
#include "backends/cpu/sanitizers_p.h"

// Only their addresses matter: of whatever type they are, here they are objects. The process's run time defines them.
#if TLXJIT_ASAN
// clang-format off
#define TLXJIT_RUNTIME(X) X(__asan_load1) X(__asan_load2) X(__asan_load4) X(__asan_load8) X(__asan_load16) \
  X(__asan_loadN) X(__asan_report_load1) X(__asan_report_load2) X(__asan_report_load4) X(__asan_report_load8) \
  X(__asan_report_load16) X(__asan_report_load_n) X(__asan_store1) X(__asan_store2) X(__asan_store4) \
  X(__asan_store8) X(__asan_store16) X(__asan_storeN) X(__asan_report_store1) X(__asan_report_store2) \
  X(__asan_report_store4) X(__asan_report_store8) X(__asan_report_store16) X(__asan_report_store_n) X(__asan_memcpy) \
  X(__asan_memmove) X(__asan_memset) X(__asan_handle_no_return) X(__asan_option_detect_stack_use_after_return) \
  X(__asan_stack_malloc_0) X(__asan_stack_malloc_1) X(__asan_stack_malloc_2) X(__asan_stack_malloc_3) \
  X(__asan_stack_malloc_4) X(__asan_stack_malloc_5) X(__asan_stack_malloc_6) X(__asan_stack_malloc_7) \
  X(__asan_stack_malloc_8) X(__asan_stack_malloc_9) X(__asan_stack_malloc_10) X(__asan_stack_free_0) \
  X(__asan_stack_free_1) X(__asan_stack_free_2) X(__asan_stack_free_3) X(__asan_stack_free_4) X(__asan_stack_free_5) \
  X(__asan_stack_free_6) X(__asan_stack_free_7) X(__asan_stack_free_8) X(__asan_stack_free_9) \
  X(__asan_stack_free_10) X(__asan_set_shadow_00) X(__asan_set_shadow_01) X(__asan_set_shadow_02) \
  X(__asan_set_shadow_03) X(__asan_set_shadow_04) X(__asan_set_shadow_05) X(__asan_set_shadow_06) \
  X(__asan_set_shadow_07) X(__asan_set_shadow_f1) X(__asan_set_shadow_f2) X(__asan_set_shadow_f3) \
  X(__asan_set_shadow_f5) X(__asan_set_shadow_f8) X(__asan_poison_stack_memory) X(__asan_unpoison_stack_memory) \
  X(__asan_alloca_poison) X(__asan_allocas_unpoison)
// clang-format on
#elif TLXJIT_TSAN
// clang-format off
#define TLXJIT_RUNTIME(X) X(__tsan_func_entry) X(__tsan_func_exit) X(__tsan_memcpy) X(__tsan_memmove) \
   X(__tsan_memset) X(__tsan_read_range) X(__tsan_write_range) X(__tsan_read1) X(__tsan_write1) X(__tsan_read2) \
   X(__tsan_write2) X(__tsan_read4) X(__tsan_write4) X(__tsan_read8) X(__tsan_write8) X(__tsan_read16) \
   X(__tsan_write16) X(__tsan_unaligned_read2) X(__tsan_unaligned_write2) X(__tsan_unaligned_read4) \
   X(__tsan_unaligned_write4) X(__tsan_unaligned_read8) X(__tsan_unaligned_write8) X(__tsan_unaligned_read16) \
   X(__tsan_unaligned_write16) X(__tsan_atomic8_load) X(__tsan_atomic8_store) X(__tsan_atomic8_exchange) \
   X(__tsan_atomic8_fetch_add) X(__tsan_atomic8_fetch_sub) X(__tsan_atomic8_fetch_and) \
   X(__tsan_atomic8_fetch_or) X(__tsan_atomic8_fetch_xor) X(__tsan_atomic8_compare_exchange_val) \
   X(__tsan_atomic16_load) X(__tsan_atomic16_store) X(__tsan_atomic16_exchange) X(__tsan_atomic16_fetch_add) \
   X(__tsan_atomic16_fetch_sub) X(__tsan_atomic16_fetch_and) X(__tsan_atomic16_fetch_or) \
   X(__tsan_atomic16_fetch_xor) X(__tsan_atomic16_compare_exchange_val) X(__tsan_atomic32_load) \
   X(__tsan_atomic32_store) X(__tsan_atomic32_exchange) X(__tsan_atomic32_fetch_add) \
   X(__tsan_atomic32_fetch_sub) X(__tsan_atomic32_fetch_and) X(__tsan_atomic32_fetch_or) \
   X(__tsan_atomic32_fetch_xor) X(__tsan_atomic32_compare_exchange_val) X(__tsan_atomic64_load) \
   X(__tsan_atomic64_store) X(__tsan_atomic64_exchange) X(__tsan_atomic64_fetch_add) \
   X(__tsan_atomic64_fetch_sub) X(__tsan_atomic64_fetch_and) X(__tsan_atomic64_fetch_or) \
   X(__tsan_atomic64_fetch_xor) X(__tsan_atomic64_compare_exchange_val) X(__tsan_atomic_thread_fence) \
   X(__tsan_atomic_signal_fence)
// clang-format on
#else
#define TLXJIT_RUNTIME(X)
#endif

#define TLXJIT_SYMBOL(name) extern char tlxjit_of##name[] __asm__(#name);
extern "C" {
TLXJIT_RUNTIME(TLXJIT_SYMBOL)
}
#undef TLXJIT_SYMBOL

TLXJIT_NAMESPACE_BEGIN
namespace cpu {

std::span<const SanitizerSymbol> sanitizer_symbols() {
#if TLXJIT_ASAN || TLXJIT_TSAN
#define TLXJIT_SYMBOL(name) {#name, tlxjit_of##name},
  static const SanitizerSymbol symbols[] = {TLXJIT_RUNTIME(TLXJIT_SYMBOL)};
#undef TLXJIT_SYMBOL
  return symbols;
#else
  return {};
#endif
}

}  // namespace cpu
TLXJIT_NAMESPACE_END
