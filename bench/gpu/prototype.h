// bench/gpu/prototype.h — the hand-written kernels on the device, with their own parameter lists.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "bench/common/prototype_source.h"
#include "bench/common/stages.h"
#include "bench/gpu/parameters.h"

namespace tlxjit::bench {

/// A prototype loaded for one GPU; its grid is one block per multiprocessor.
class Prototype {
 public:
  static Result<Prototype> load(std::shared_ptr<const nvidia::Context> context, PrototypeSource source,
                                CompiledCode code);

  /// `gemm_bf16(A, B, C, M, N, K, …)`: A [M,K], B [N,K], C [M,N], without gaps.
  Result<Parameters> bind_gemm(nvidia::CuDevicePtr a, nvidia::CuDevicePtr b, nvidia::CuDevicePtr c, int m, int n,
                               int k) const;
  /// `fa_fwd(Q, K, V, O, lse, S, BH, …)`: Q, K, V, O [heads·sequence, 128], lse [heads·sequence].
  Result<Parameters> bind_attention(nvidia::CuDevicePtr q, nvidia::CuDevicePtr k, nvidia::CuDevicePtr v,
                                    nvidia::CuDevicePtr out, nvidia::CuDevicePtr lse, int sequence, int heads,
                                    float scale) const;
  Result<void> launch(const Parameters& params, nvidia::CuStream stream) const;

  const std::string& name() const { return source_.name; }
  const CompiledCode& code() const { return code_; }

 private:
  Prototype(PrototypeSource source, CompiledCode code) : source_(std::move(source)), code_(std::move(code)) {}
  Result<void> push_map(Parameters& params, nvidia::CuDevicePtr base, int64_t rows, int64_t columns,
                        int box_rows) const;

  PrototypeSource source_;
  CompiledCode code_;
  nvidia::Function function_;
  nvidia::DeviceBuffer counters_;  ///< of the dynamic schedule; the kernel resets them
  std::shared_ptr<const nvidia::Context> context_;
};

}  // namespace tlxjit::bench
