// tests/unit/nvidia/slow_library.cpp — a libcuda and an NVRTC that wait for the test, and then say that they fail.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <string_view>

#include "tests/support/hold.h"

#define STUB extern "C" __attribute__((visibility("default"))) int
#define TLXJIT_CU(need, name, suffix, params) \
  STUB name##suffix() { return answer(#name); }
#define TLXJIT_NVRTC(need, name, params) \
  STUB name() { return answer(#name); }

static int answer(std::string_view name) {
  if (name == "cuInit" || name == "nvrtcVersion")  // the first that is called
    tlxjit::Hold::at(std::getenv("TLXJIT_TEST_HOLD")).wait();
  return 1;
}

#include "backends/nvidia/nvrtc_symbols.def"
#include "backends/nvidia/symbols.def"
