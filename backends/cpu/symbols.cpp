// backends/cpu/symbols.cpp — the functions that compiled code may call, by name.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/cpu/symbols_p.h"

#include <cmath>
#include <cstring>
#include <string>
#include <unordered_map>

#include "backends/cpu/context_p.h"
#include "backends/cpu/instrument_p.h"

// Conversions that the compiler's run-time library has for hosts without the instructions.
extern "C" {
float __extendhfsf2(_Float16);
_Float16 __truncsfhf2(float);
_Float16 __truncdfhf2(double);
}

TLXJIT_NAMESPACE_BEGIN
namespace cpu {
namespace {

using Table = std::unordered_map<std::string_view, const void*>;

Table* make_table() {
  auto* table = new Table;
  auto add = [&](const char* name, auto* fn) { table->emplace(name, reinterpret_cast<const void*>(fn)); };
  add("tlxjit_cpu_wait", &tlxjit_cpu_wait);
  add("tlxjit_cpu_flag_wait", &tlxjit_cpu_flag_wait);
  add("tlxjit_cpu_cluster_sync", &tlxjit_cpu_cluster_sync);
  add("tlxjit_cpu_settle", &tlxjit_cpu_settle);
  add("tlxjit_cpu_meet", &tlxjit_cpu_meet);
  add("tlxjit_cpu_outside", &tlxjit_cpu_outside);
  add("tlxjit_cpu_step", &tlxjit_cpu_step);
  add("tlxjit_cpu_assert", &tlxjit_cpu_assert);
  add("tlxjit_cpu_print", &tlxjit_cpu_print);
  add("tlxjit_cpu_copy", &tlxjit_cpu_copy);
  add("memcpy", static_cast<void* (*)(void*, const void*, size_t)>(&std::memcpy));
  add("memmove", static_cast<void* (*)(void*, const void*, size_t)>(&std::memmove));
  add("memset", static_cast<void* (*)(void*, int, size_t)>(&std::memset));
#define TLX_LIBM(name)                                                    \
  add("tlxjit_libm_" #name, static_cast<double (*)(double)>(&std::name)); \
  add("tlxjit_libm_" #name "f", static_cast<float (*)(float)>(&std::name));
#define TLX_LIBM_2(name)                                                          \
  add("tlxjit_libm_" #name, static_cast<double (*)(double, double)>(&std::name)); \
  add("tlxjit_libm_" #name "f", static_cast<float (*)(float, float)>(&std::name));
#define TLX_LIBM_PLAIN(name)                            \
  add(#name, static_cast<double (*)(double)>(&::name)); \
  add(#name "f", &::name##f);
#include "backends/cpu/libm.def"
#undef TLX_LIBM_PLAIN
#undef TLX_LIBM_2
#undef TLX_LIBM
  add("fma", static_cast<double (*)(double, double, double)>(&std::fma));
  add("fmaf", static_cast<float (*)(float, float, float)>(&std::fma));
  add("__extendhfsf2", &__extendhfsf2);
  add("__truncsfhf2", &__truncsfhf2);
  add("__truncdfhf2", &__truncdfhf2);
  for (const SanitizerSymbol& symbol : sanitizer_symbols()) table->emplace(symbol.name, symbol.address);
  return table;
}

}  // namespace

const void* symbol(std::string_view name) {
  static const Table* const table = make_table();  // for ever: a process that ends may still link
  const auto found = table->find(name);
  return found == table->end() ? nullptr : found->second;
}

}  // namespace cpu
TLXJIT_NAMESPACE_END
