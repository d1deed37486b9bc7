// bench/gpu/loaded_kernel.h — a kernel of ours on the device, launched without the runtime: raw kernel speed.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <memory>

#include "bench/common/stages.h"
#include "bench/gpu/pack.h"

namespace tlxjit::bench {

class LoadedKernel {
 public:
  static Result<LoadedKernel> load(std::shared_ptr<const nvidia::Context> context, Generated generated,
                                   CompiledCode code);

  /// Parameters of a call, packed once. The workspace is the kernel's own.
  Result<Packed> bind(Call call) const;
  Result<void> launch(const Packed& packed, nvidia::CuStream stream) const;

  const Generated& generated() const { return generated_; }
  const CompiledCode& code() const { return code_; }

 private:
  LoadedKernel(Generated generated, CompiledCode code) : generated_(std::move(generated)), code_(std::move(code)) {}

  Generated generated_;
  CompiledCode code_;
  nvidia::Function function_;
  nvidia::DeviceBuffer workspace_;
  std::shared_ptr<const nvidia::Context> context_;
};

}  // namespace tlxjit::bench
