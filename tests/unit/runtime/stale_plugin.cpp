// tests/unit/runtime/stale_plugin.cpp — a CPU plug-in of other sources.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "src/runtime/cpu_plugin_p.h"

extern "C" __attribute__((visibility("default"))) const tlxjit_cpu_backend* tlxjit_backend_v1() {
  static const tlxjit_cpu_backend backend = {sizeof(tlxjit_cpu_backend),
                                             TLXJIT_CPU_PLUGIN_VERSION,
                                             "other",
                                             "none",
                                             "",
                                             "nothing",
                                             nullptr,
                                             nullptr,
                                             nullptr,
                                             nullptr,
                                             nullptr};
  return &backend;
}
