// tests/unit/nvidia/fake_nvrtc.cpp — an NVRTC that tells its version, FAKE_MAJOR.77, and has no memory.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#define STUB extern "C" __attribute__((visibility("default"))) int
#define TLXJIT_NVRTC(need, name, params) \
  STUB name(int* major, int* minor) { return answer(#name, major, minor); }

static int answer(const char* name, int* major, int* minor) {
  if (name[5] != 'V') return 1;  // NVRTC_ERROR_OUT_OF_MEMORY of all but nvrtcVersion
  *major = FAKE_MAJOR;
  *minor = 77;
  return 0;
}

#include "backends/nvidia/nvrtc_symbols.def"
