// backends/cpu/float_mode_p.h — the floating-point mode that kernels mean, whatever the host's threads have set.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#if defined(__x86_64__)
#include <xmmintrin.h>
#else
#include <cfenv>
#endif

#include "tlxjit/core/export.h"

TLXJIT_NAMESPACE_BEGIN
namespace cpu {

/// For its life, the thread rounds to nearest even, keeps subnormals and traps nothing. Fibers keep the mode in which
/// they were made.
class FloatMode {
 public:
  FloatMode(const FloatMode&) = delete;
  FloatMode& operator=(const FloatMode&) = delete;
#if defined(__x86_64__)
  FloatMode() : before_(_mm_getcsr()) { _mm_setcsr(0x1f80); }
  ~FloatMode() { _mm_setcsr(before_); }

 private:
  unsigned before_;
#else
  FloatMode() {
    std::fegetenv(&before_);
    std::fesetenv(FE_DFL_ENV);
  }
  ~FloatMode() { std::fesetenv(&before_); }

 private:
  std::fenv_t before_;
#endif
};

}  // namespace cpu
TLXJIT_NAMESPACE_END
