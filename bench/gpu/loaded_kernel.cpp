// bench/gpu/loaded_kernel.cpp — loads and launches a generated kernel.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "bench/gpu/loaded_kernel.h"

namespace tlxjit::bench {

Result<LoadedKernel> LoadedKernel::load(std::shared_ptr<const nvidia::Context> context, Generated generated,
                                        CompiledCode code) {
  LoadedKernel kernel(std::move(generated), std::move(code));
  const Abi& abi = kernel.generated_.emitted.abi;
  auto module = nvidia::Module::load(context, kernel.code_.cubin);
  if (!module) return module.error();
  auto function = (*module)->function(kernel.code_.entry, static_cast<unsigned>(abi.shared_bytes));
  if (!function) return function.error();
  kernel.function_ = std::move(*function);
  auto workspace = nvidia::DeviceBuffer::allocate(context, static_cast<size_t>(abi.workspace_words) * 4);
  if (!workspace) return workspace.error();
  kernel.workspace_ = std::move(*workspace);
  TLXJIT_TRY(kernel.workspace_.fill(0));
  TLXJIT_TRY(context->synchronize());
  kernel.context_ = std::move(context);
  return kernel;
}

Result<Packed> LoadedKernel::bind(Call call) const {
  call.workspace = workspace_.address();
  call.sms = context_->info().sm_count;
  return pack(generated_.lowered, generated_.emitted.abi, call,
              [&](const nvidia::TensorMapSpec& spec, nvidia::CuTensorMap& map) {
                return nvidia::encode_tensor_map(context_->driver(), spec, map);
              });
}

Result<void> LoadedKernel::launch(const Packed& packed, nvidia::CuStream stream) const {
  nvidia::LaunchShape shape;
  shape.grid[0] = packed.grid;
  shape.block[0] = static_cast<unsigned>(generated_.emitted.abi.threads);
  return nvidia::launch(function_, shape, stream, packed.params.bytes());
}

}  // namespace tlxjit::bench
