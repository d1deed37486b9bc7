// bench/gpu/prototype.h — the hand-written kernels on the device, with their own parameter lists.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "backends/nvidia/launch_p.h"
#include "bench/common/prototype_source.h"

namespace tlxjit::bench {

/// A prototype loaded for one GPU; its grid is one block per multiprocessor.
class Prototype {
 public:
  static Result<Prototype> load(std::shared_ptr<const nvidia::Context> context, PrototypeSource source,
                                std::span<const char> cubin);

  /// `gemm_bf16(A, B, C, M, N, K, …)`: A [M,K], B [N,K], C [M,N], without gaps.
  Result<nvidia::ParamBuffer> bind_gemm(const void* a, const void* b, void* c, int m, int n, int k) const;
  /// `fa_fwd(Q, K, V, O, lse, S, BH, …)`: Q, K, V, O [heads·sequence, 128], lse [heads·sequence].
  Result<nvidia::ParamBuffer> bind_attention(const void* q, const void* k, const void* v, void* out, void* lse,
                                             int sequence, int heads, float scale) const;
  Result<void> launch(const nvidia::ParamBuffer& params, nvidia::CuStream stream) const;

  const std::string& name() const { return source_.name; }

 private:
  explicit Prototype(PrototypeSource source) : source_(std::move(source)) {}
  Result<void> push_map(nvidia::ParamBuffer& params, const void* base, int64_t rows, int64_t columns,
                        int box_rows) const;

  PrototypeSource source_;
  nvidia::Function function_;
  nvidia::DeviceBuffer counters_;  ///< of the dynamic schedule; the kernel resets them
  std::shared_ptr<const nvidia::Context> context_;
};

}  // namespace tlxjit::bench
