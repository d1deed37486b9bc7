// tests/unit/nvidia/stub_library.cpp — libraries with all symbols that tlxjit looks for in CUDA's, none of which works.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The linker hides one of them: see CMakeLists.txt.
#define STUB extern "C" __attribute__((visibility("default"))) int
#define TLXJIT_CU(need, name, suffix, params) \
  STUB name##suffix() { return 1; }
#define TLXJIT_NVRTC(need, name, params) \
  STUB name() { return 1; }
#include "backends/nvidia/nvrtc_symbols.def"
#include "backends/nvidia/symbols.def"
