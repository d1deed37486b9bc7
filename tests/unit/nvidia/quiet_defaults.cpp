// tests/unit/nvidia/quiet_defaults.cpp — calls of a libcuda that succeed and do nothing; quiet_libcuda.cpp has others.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#define TLXJIT_CU(need, name, suffix, params) \
  extern "C" __attribute__((visibility("default"), weak)) int name##suffix() { return 0; }
#include "backends/nvidia/symbols.def"
