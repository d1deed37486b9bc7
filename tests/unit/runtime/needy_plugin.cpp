// tests/unit/runtime/needy_plugin.cpp — a CPU plug-in that needs a symbol which nothing has.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "src/runtime/cpu_plugin_p.h"

extern "C" const tlxjit_cpu_backend* a_symbol_that_nothing_has();

extern "C" __attribute__((visibility("default"))) const tlxjit_cpu_backend* tlxjit_backend_v1() {
  return a_symbol_that_nothing_has();
}
