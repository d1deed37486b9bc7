// bench/gpu/cublas.h — cuBLAS found at run time: the vendor's GEMM as a peer and as a check.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <string>

#include "tlxjit/runtime/device.h"

namespace tlxjit::bench {

class Cublas {
 public:
  /// `path`: the library or its folder; "" for TLXJIT_CUBLAS_DIR, TLXJIT_NVRTC_DIR, then the loader. The device's
  /// context must be current.
  static Result<Cublas> open(const std::string& path, const Stream& stream);

  /// d[M,N] = a[M,K] · b[N,K]ᵀ in bf16 with sums in f32, row by row without gaps.
  Result<void> gemm(const void* a, const void* b, void* d, int m, int n, int k) const;

  const std::string& name() const { return name_; }  ///< `cuBLAS 13.0.2`

 private:
  using GemmEx = int (*)(void*, int, int, int, int, int, const void*, const void*, int, int, const void*, int, int,
                         const void*, void*, int, int, int, int);
  void* handle_ = nullptr;
  GemmEx gemm_ = nullptr;
  std::string name_;
};

}  // namespace tlxjit::bench
