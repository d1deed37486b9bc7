// bench/cpu/openblas.h — OpenBLAS as a peer, loaded when the benchmark runs.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <string>
#include <vector>

namespace tlxjit::bench {

/// One copy of the library, with kernels for one kind of core. All calls come from one thread.
class OpenBlas {
 public:
  /// As installed, with the kernels that it chooses itself; and where those are for a lesser core than this one (an old
  /// release does not know a new CPU), a second copy that is told to use AVX-512 or AVX2. Prints why there is none.
  static std::vector<OpenBlas> open();

  const std::string& name() const { return name_; }  ///< `OpenBLAS 0.3.21 SkylakeX`
  /// d = a · bᵀ, all n × n and row-major.
  void product(int threads, int n, const float* a, const float* b, float* d) const;

 private:
  bool load(const char* path);
  std::string core() const;

  using Sgemm = void (*)(int order, int trans_a, int trans_b, int m, int n, int k, float alpha, const float* a, int lda,
                         const float* b, int ldb, float beta, float* c, int ldc);
  void* handle_ = nullptr;  // stays loaded
  Sgemm sgemm_ = nullptr;
  void (*set_threads_)(int) = nullptr;
  std::string name_;
};

}  // namespace tlxjit::bench
