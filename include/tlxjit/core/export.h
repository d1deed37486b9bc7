// include/tlxjit/core/export.h — the export macro and the ABI namespace.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#if defined(TLXJIT_STATIC)
#define TLXJIT_API
#else
#define TLXJIT_API __attribute__((visibility("default")))
#endif

// Every public name lives in this inline namespace, so that a program built against
// another ABI fails when it links and not when it runs.
#define TLXJIT_NAMESPACE_BEGIN \
  namespace tlxjit {           \
  inline namespace v0 {
#define TLXJIT_NAMESPACE_END \
  }                          \
  }
